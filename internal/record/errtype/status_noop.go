//go:build lens_noop

package errtype

// statusCanceled spares a build that records nothing the linking of gRPC.
func statusCanceled(error) bool { return false }
