//go:build unix

package sampler

import (
	"fmt"
	"syscall"
	"time"
)

var cpuUnsupported error

// cpuTime returns the processor time of the process, user and system.
func cpuTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("lens: read the processor time: %w", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
