package rpc

import (
	"time"

	"golang.org/x/sys/unix"
)

func dup3(from, to int) error { return unix.Dup3(from, to, unix.O_CLOEXEC) }

// setUserTimeout limits how long sent bytes may wait for the peer to acknowledge them.
func setUserTimeout(fd int, d time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}

// threadID identifies the thread of the system that runs the caller.
func threadID() (int, bool) { return unix.Gettid(), true }
