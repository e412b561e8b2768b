//go:build !unix

package main

import (
	"runtime"
	"time"
)

var began = time.Now()

// cpuTime stands in for what this process has used, which is not asked for here: it
// is the time by the clock.
func cpuTime() time.Duration { return time.Since(began) }

// resident is what the Go runtime holds, in MB.
func resident() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / 1e6
}
