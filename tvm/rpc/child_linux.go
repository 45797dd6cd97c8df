package rpc

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// endGroup waits until a process of ownGroup has ended, and kills the rest of its group: processes that a
// kernel has started. The process is not reaped yet, so its ID, which is the group's, cannot be reused.
func endGroup(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // the process itself has ended; mostly nothing is left
}
