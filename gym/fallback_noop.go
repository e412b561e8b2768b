//go:build lens_noop

package gym

import "github.com/nemo-lens/lens"

var installLogBridge = func(*lens.TelemetryHandle) (remove func(), err error) { return nil, nil }

// sendsTrace is true: a process that records nothing does not cut the traces of others.
func sendsTrace() bool { return true }
