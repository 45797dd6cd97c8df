package rpc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

// A socket is a descriptor of a connection that C++ also uses, through its own descriptor. Go does not read or write it,
// but ends the connection and checks whether it has ended.
type socket struct {
	mu   sync.Mutex
	fd   int      // -1 after close
	peer net.Conn // the connection itself
}

// ofChild returns the socket of this process, which serves a session.
func ofChild() *socket { return &socket{fd: childSocket} }

// newPair returns a socket and the other end of it.
func newPair() (*socket, net.Conn, error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fds[1]), "session")
	local, err := net.FileConn(f) // another descriptor
	if err = errors.Join(err, f.Close()); err != nil {
		unix.Close(fds[0])
		return nil, nil, err
	}
	return &socket{fd: fds[0]}, local, nil
}

// hold keeps what is sent from now on, for up to 200 milliseconds, until the connection ends. So a last message arrives
// together with the end.
func (s *socket) hold() {
	if tcp := silence.TCP(s.peer); tcp != nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			_ = raw.Control(cork)
		}
		return
	}
	if fd, err := s.duplicate(); err == nil {
		cork(uintptr(fd))
		unix.Close(fd)
	}
}

// takeSocket takes the connection from the net package: the result blocks, as C++ needs it.
// The conn is closed in any case.
func takeSocket(conn *net.TCPConn) (*socket, error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{fd: -1}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if s.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3); failed == nil {
			failed = unix.SetNonblock(s.fd, false)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// duplicate returns another descriptor of the connection, which the caller owns.
func (s *socket) duplicate() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return -1, ErrClosed
	}
	return unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 3)
}

// file returns another descriptor of the connection as a file for a child process.
func (s *socket) file() (*os.File, error) {
	fd, err := s.duplicate()
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "session"), nil
}

// replace makes fd, a descriptor that nobody uses at the moment, one of the connection.
func (s *socket) replace(fd int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return ErrClosed
	}
	return unix.Dup3(s.fd, fd, unix.O_CLOEXEC)
}

// abort ends the connection for all its descriptors: calls that wait for it return.
func (s *socket) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd >= 0 {
		unix.Shutdown(s.fd, unix.SHUT_RDWR)
	}
}

// broken reports whether the connection failed: the peer reset it, or read nothing for too long.
func (s *socket) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fd < 0 || isBroken(s.fd)
}

// isBroken asks for the name of the peer, which a connection that has an error does not have. The error itself is
// reported once, and C++ may have read it.
func isBroken(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err != nil
}

// lost reports whether the connection has ended and everything that came before was read.
func (s *socket) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 || isBroken(s.fd) {
		return true
	}
	var b [1]byte
	n, _, err := unix.Recvfrom(s.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR
}

func (s *socket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}

// findSocket returns the descriptor of this process that connects the two addresses.
func findSocket(local, peer *net.TCPAddr) (int, error) {
	fd := child.FindSocket(func(fd int) bool {
		a, err1 := unix.Getsockname(fd)
		b, err2 := unix.Getpeername(fd)
		return err1 == nil && err2 == nil && sameAddr(a, local) && sameAddr(b, peer)
	})
	if fd < 0 {
		return -1, fmt.Errorf("no descriptor of this process connects %v with %v", local, peer)
	}
	return fd, nil
}

func sameAddr(a unix.Sockaddr, b *net.TCPAddr) bool {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return a.Port == b.Port && b.IP.Equal(a.Addr[:])
	case *unix.SockaddrInet6:
		return a.Port == b.Port && b.IP.Equal(a.Addr[:])
	}
	return false
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

// endGroup waits until a process of ownGroup has ended, and kills the rest of its group: processes that a
// kernel has started. The process is not reaped yet, so its ID, which is the group's, cannot be reused.
func endGroup(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // the process itself has ended; mostly nothing is left
}

// ownGroup puts a process into its own group. endGroup ends the group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

// makeFolder makes the folder of a session. This process keeps it locked, so that sweep leaves it alone: the lock ends with
// the process, however that ends. A file system without locks is never swept.
func makeFolder(dir string) error {
	for {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Flock(fd, unix.LOCK_SH)
		}
		if _, err := os.Stat(dir); err == nil { // not swept before it was locked
			return nil
		}
		_ = unix.Close(fd)
	}
}

func threadID() int { return unix.Gettid() }

// silent reports whether the thread waits for the rest of a message, of which nothing came for the limit. TVM asks for eight
// bytes when it waits for the next message, and for the last eight of one, which cannot be told apart. Without /proc
// it reports false.
func silent(thread int, limit time.Duration) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", thread))
	if err != nil {
		return false
	}
	var call, fd, buffer, size int64
	if _, err := fmt.Sscanf(string(text), "%d 0x%x 0x%x 0x%x", &call, &fd, &buffer, &size); err != nil || call != unix.SYS_RECVFROM || fd != childSocket || size == 8 {
		return false
	}
	info, err := unix.GetsockoptTCPInfo(childSocket, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && time.Duration(info.Last_data_recv)*time.Millisecond >= limit
}

// ignoreFileLimit makes the limit of the size of files an error of who writes, not the end of the process.
func ignoreFileLimit() { signal.Ignore(unix.SIGXFSZ) }

// sweep removes this user's folders of sessions whose processes have ended.
func sweep(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // another user's, or gone
		}
		var s unix.Stat_t
		if unix.Fstat(fd, &s) == nil && int(s.Uid) == os.Getuid() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = unix.Close(fd)
	}
}
