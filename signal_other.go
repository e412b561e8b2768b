//go:build !unix

package lens

import (
	"os"
	"syscall"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// raise ends the process, because there is no signal to send to oneself here.
func raise(sig os.Signal) { os.Exit(128 + signalNumber(sig)) }

func signalNumber(sig os.Signal) int {
	s, _ := sig.(syscall.Signal)
	return int(s)
}
