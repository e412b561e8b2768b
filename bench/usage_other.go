//go:build !unix

package main

import (
	"runtime"
	"time"
)

// cpuTime is what this process has used; zero, as it is not asked for here.
func cpuTime() time.Duration { return 0 }

// resident is what the Go runtime holds, in MB.
func resident() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / 1e6
}
