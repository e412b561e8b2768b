//go:build unix

package lens

import (
	"os"
	"syscall"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// raise sends the signal to this process again, now that nobody handles it.
// When the application does handle it, the application decides.
func raise(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), s)
	}
}

func signalNumber(sig os.Signal) int {
	s, _ := sig.(syscall.Signal)
	return int(s)
}
