//go:build !unix

package sampler

import (
	"fmt"
	"runtime"
	"time"
)

var cpuUnsupported = fmt.Errorf("lens: sampling the processor use needs a Unix, and this is %s", runtime.GOOS)

func cpuTime() (time.Duration, error) { return 0, cpuUnsupported }
