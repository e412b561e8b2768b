//go:build !linux

package detect

import (
	"errors"
	"fmt"
	"time"
)

// ProcessStartTime is known on Linux only; here it returns an error that wraps
// errors.ErrUnsupported.
func ProcessStartTime() (time.Time, error) {
	return time.Time{}, fmt.Errorf("lens: the creation time of this process is unknown: %w", errors.ErrUnsupported)
}
