//go:build unix && !linux

package rpc

import (
	"time"

	"golang.org/x/sys/unix"
)

func dup3(from, to int) error {
	if err := unix.Dup2(from, to); err != nil {
		return err
	}
	unix.CloseOnExec(to)
	return nil
}

// setUserTimeout does nothing: keep-alive packets alone find out that a peer has vanished.
func setUserTimeout(int, time.Duration) error { return nil }

// hungUp reports false: these systems do not show it while there is something to read.
func (s *socket) hungUp() bool { return false }

func cork(uintptr) {} // the peer may read a last message before it sees the end
