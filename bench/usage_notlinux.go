//go:build !linux

package main

import "time"

// threadTime is what this thread has used, which only Linux says.
func threadTime() (used time.Duration, ok bool) { return 0, false }
