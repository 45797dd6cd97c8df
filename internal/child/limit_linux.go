package child

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// LimitMemory limits what this process may write to, unless n is 0: not the address space, of which Go reserves much more
// than it uses.
func LimitMemory(n int64) error {
	if n <= 0 {
		return nil
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)})
}

// memory returns what LimitMemory counts.
func memory() (pages int64) {
	text, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscanf(string(text), "%d %d %d %d %d %d", new(int64), new(int64), new(int64), new(int64), new(int64), &pages) // 0 if it is not known
	return pages * int64(os.Getpagesize())
}

// narrow starts this child once more, with three quarters of the stack. The C library chooses the size of the stacks of
// threads when a program starts.
func narrow(role, task string) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	const unlimited = 2 << 20 // what a thread gets then
	if limit.Cur > 1<<30 {
		limit.Cur = unlimited
	}
	limit.Cur = limit.Cur / 4 * 3
	if err := unix.Setrlimit(unix.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	program, err := Program()
	if err != nil {
		return err
	}
	return unix.Exec(program, os.Args, append(os.Environ(), narrowed+"=1", order(program, role, task)))
}

// FindSocket returns the first descriptor of this process for which is reports true, -1 if there is none.
func FindSocket(is func(fd int) bool) int {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && is(fd) {
			return fd
		}
	}
	return -1
}

// TCP returns the TCP connection that c is or that carries it, nil if there is none.
func TCP(c net.Conn) *net.TCPConn {
	if inner, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = inner.NetConn()
	}
	tcp, _ := c.(*net.TCPConn)
	return tcp
}

// LimitPeer makes the system end a TCP connection if the peer vanishes, or reads nothing, for d: sent bytes wait that long
// to be acknowledged. The send limit is for C++, and more exact: a session of RPC with a limit of 1 s that stopped reading
// ended after 3 s with it, and after 4 to 6 s without it.
func LimitPeer(c net.Conn, d time.Duration) error {
	conn := TCP(c)
	if conn == nil {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	err = conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: max(d/2, time.Second), Interval: max(d/6, time.Second), Count: 3})
	var failed error
	return errors.Join(err, raw.Control(func(fd uintptr) {
		t := unix.NsecToTimeval(d.Nanoseconds())
		failed = errors.Join(unix.SetsockoptTimeval(int(fd), unix.SOL_SOCKET, unix.SO_SNDTIMEO, &t), unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds())))
	}), failed)
}
