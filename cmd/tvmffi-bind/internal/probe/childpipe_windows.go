package probe

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// passPipe lets cmd inherit w and returns its handle there.
func passPipe(cmd *exec.Cmd, w *os.File) string {
	h := syscall.Handle(w.Fd())
	_ = syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT)
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{h}}
	return strconv.FormatUint(uint64(h), 10)
}
