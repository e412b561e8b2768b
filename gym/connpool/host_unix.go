//go:build unix

package connpool

import "syscall"

// fdLimit returns the soft limit, 0 where there is none. Go raises the soft limit to the hard one at start-up, and
// this is the raised one.
func fdLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	// "Infinity" is the largest signed or unsigned number, depending on the system.
	if cur := uint64(r.Cur); cur < 1<<62 { // the field is signed on some systems
		return cur
	}
	return 0
}
