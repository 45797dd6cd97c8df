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

// hungUp reports whether the peer has closed its side of the connection.
func (s *socket) hungUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return true
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return n > 0 && err == nil
}

func cork(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1) }
