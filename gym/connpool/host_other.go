//go:build !unix

package connpool

func fdLimit() uint64 { return 0 }
