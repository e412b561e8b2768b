//go:build unix

package nvidia

import (
	"os/exec"
	"syscall"
)

// killGroup makes the end of the context kill whatever cmd started, too.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
