//go:build !tvmffi_portable

package disco

import (
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tvmffi-go/tvmffi/internal/child"
)

const supported = true

// threadID returns the number of the thread that runs the caller. A worker runs on one thread,
// and a callback stays on the thread that has called it.
func threadID() int { return syscall.Gettid() }

// widen lets a pipe hold a megabyte, if the system allows it. TVM writes a message at once, and
// takes it for granted that no signal interrupts it, which can happen only to a write that waits.
func widen(pipe uintptr) {
	const setPipeSize = 1031
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, pipe, setPipeSize, 1<<20)
}

// acknowledgeAtOnce makes the kernel acknowledge what comes next without delay. Disco sends many
// small messages, and its kernel keeps the second one back, for 40 ms, until the first one is
// acknowledged. The kernel forgets the setting, so it is made before each read.
func acknowledgeAtOnce(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return // the read will fail
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	})
}

// listensAt returns the place with the port of the socket of this process that listens there, the zero value if none does.
func listensAt(place [4]byte) (at netip.AddrPort) {
	child.FindSocket(func(fd int) bool {
		a, _ := unix.Getsockname(fd)
		inet, ok := a.(*unix.SockaddrInet4)
		if !ok || inet.Addr != place {
			return false
		}
		if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
			return false
		}
		at = netip.AddrPortFrom(netip.AddrFrom4(place), uint16(inet.Port))
		return true
	})
	return at
}
