package main

import (
	"syscall"
	"time"
)

// threadTime is what this thread has used.
func threadTime() (used time.Duration, ok bool) {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	must(syscall.Getrusage(thisThread, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
