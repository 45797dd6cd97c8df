package silence

import (
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// TCP returns the TCP connection that c is or that carries it, nil if there is none.
func TCP(c net.Conn) *net.TCPConn {
	if inner, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = inner.NetConn()
	}
	tcp, _ := c.(*net.TCPConn)
	return tcp
}

// Limit makes the system end a TCP connection if the peer vanishes, or reads nothing, for d: sent bytes wait that long
// to be acknowledged. The send limit is for C++, and more exact: a session of RPC with a limit of 1 s that stopped reading
// ended after 3 s with it, and after 4 to 6 s without it.
func Limit(c net.Conn, d time.Duration) error {
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
