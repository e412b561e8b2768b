//go:build !linux

package processstart

import (
	"errors"
	"fmt"
	"time"
)

// Time is known on Linux only; here it returns an error that wraps
// errors.ErrUnsupported.
func Time() (time.Time, error) {
	return time.Time{}, fmt.Errorf("lens: the creation time of this process is unknown: %w", errors.ErrUnsupported)
}
