//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuTime is what this process has used, on all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the memory of this process that is in RAM, in MB. Where the system
// does not say so in a file, it is what the Go runtime holds.
func resident() float64 {
	var size, pages int
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(statm), &size, &pages); err == nil {
			return float64(pages) * float64(os.Getpagesize()) / 1e6
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / 1e6
}
