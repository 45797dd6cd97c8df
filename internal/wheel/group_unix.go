//go:build unix

package wheel

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command stop together with the processes that it has started: pip may be a
// script that runs another one.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
