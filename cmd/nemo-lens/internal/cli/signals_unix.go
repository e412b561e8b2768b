//go:build unix

package cli

import (
	"os"
	"syscall"
)

// passedOn are the signals that run passes on to its child. At a terminal the kernel
// gives those of the keyboard to the child itself.
func passedOn(atTerminal bool) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT, syscall.SIGWINCH}
	if atTerminal {
		return signals
	}
	return append(signals, syscall.SIGINT, syscall.SIGQUIT)
}

func killedBy(state *os.ProcessState) (number int, name string, ok bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, "", false
	}
	return int(status.Signal()), status.Signal().String(), true
}
