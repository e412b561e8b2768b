//go:build !unix

package observer

import (
	"errors"
	"time"
)

// cpuTimes returns the user and system time of the process.
func cpuTimes() (user, system time.Duration, err error) {
	return 0, 0, errors.New("lens: the processor time is read on Unix only")
}
