//go:build unix

package ossignal

import (
	"os"
	"syscall"
)

// Raise sends the signal to this process again, now that nobody handles it.
// When the application does handle it, the application decides.
func Raise(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), s)
	}
}
