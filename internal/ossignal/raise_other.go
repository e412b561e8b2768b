//go:build !unix

package ossignal

import "os"

// Raise ends the process, because there is no signal to send to oneself here.
func Raise(sig os.Signal) { os.Exit(Status(sig)) }
