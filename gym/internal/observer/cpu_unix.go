//go:build unix

package observer

import (
	"fmt"
	"syscall"
	"time"
)

// cpuTimes returns the user and system time of the process.
func cpuTimes() (user, system time.Duration, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0, fmt.Errorf("lens: read the processor time: %w", err)
	}
	return time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano()), nil
}
