package rpc

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"time"
)

// Isolation says where a session runs.
type Isolation int

const (
	// Process runs each session in a child process, which is this program again: main must
	// call [ServeChild] first. A kernel that crashes ends its session only, and the end of a
	// session frees everything that its client did not release.
	Process Isolation = iota
	// InProcess runs each session on a thread of this process. It begins faster, and the
	// functions of the session share the state of this program. A kernel that crashes ends
	// the program, and the objects that a lost client did not release stay until it ends. On
	// systems other than Linux it permits one session at a time.
	InProcess
)

// A Config describes a [Server]. The zero value serves at a free port of the loopback interface.
type Config struct {
	// Addr is the address to listen at, "host:port". Without a host it is the loopback
	// interface; port 0, the default, is a free one. Whoever reaches the address runs code on
	// this machine, so another host than the loopback one must be named: "0.0.0.0:9090".
	Addr string
	// Key is what clients must show, "" for none. It keeps wrong clients away, not hostile ones:
	// it travels in clear text.
	Key string
	// Isolation is where sessions run, by default in processes of their own.
	Isolation Isolation
	// MaxSessions is how many sessions may run at once; further clients wait. 0 is one for each
	// processor. With [InProcess] the limit is 32, together with the sessions that this process
	// dials.
	MaxSessions int
	// MaxWaiting is how many further clients may wait, or be about to show their key; the server
	// closes the connections of others at once. 0 is 1024.
	MaxWaiting int
	// MaxArchive is how many bytes the files in an archive may have together that a client
	// uploads and the server links. 0 is 1 GiB. An archive has at most 10,000 files.
	MaxArchive int64
	// HandshakeTimeout is how long a client may take to show its key; 0 is 10 seconds.
	HandshakeTimeout time.Duration
	// PeerTimeout is how long the machine of a client may be silent, or a client may read
	// nothing, until its session ends; 0 is 30 seconds. The end may take three times as long,
	// because the system looks at it in steps.
	PeerTimeout time.Duration
	// SessionTimeout is how long a session may last, 0 for any time. A client can ask for less.
	SessionTimeout time.Duration
	// MaxMemory limits the address space of the process of a session, in bytes, 0 for no limit.
	// It needs [Process] and Linux.
	MaxMemory int64
	// Dir is where the folders of the sessions are made, by default the folder for temporary
	// files. The folder of a session is removed at its end.
	Dir string
	// Output receives what the processes of sessions print, by default os.Stderr.
	Output io.Writer
	// Logger receives what happens, by default slog.Default.
	Logger *slog.Logger
	// Tracker is the address of a tracker where the server offers itself under its Key, which
	// must then be set. A client then needs the key that the tracker gives for each session.
	Tracker string
	// Advertise is the host that the tracker gives to clients, by default the one that the
	// tracker sees. The port is the server's.
	Advertise string
}

// complete returns the config with its defaults.
func (c Config) complete() (Config, error) {
	host, port, err := net.SplitHostPort(c.Addr)
	switch {
	case c.Addr == "":
		host, port = "127.0.0.1", "0"
	case err != nil:
		return c, err
	case host == "":
		host = "127.0.0.1"
	}
	c.Addr = net.JoinHostPort(host, port)
	if c.MaxSessions <= 0 {
		c.MaxSessions = runtime.NumCPU()
	}
	if c.MaxWaiting <= 0 {
		c.MaxWaiting = 1024
	}
	if c.MaxArchive <= 0 {
		c.MaxArchive = 1 << 30
	}
	if c.HandshakeTimeout <= 0 {
		c.HandshakeTimeout = 10 * time.Second
	}
	if c.PeerTimeout <= 0 {
		c.PeerTimeout = 30 * time.Second
	}
	if c.Output == nil {
		c.Output = os.Stderr
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if strings.ContainsAny(c.Key, " \t\r\n") || len(c.Key) > maxKey/2 {
		return c, fmt.Errorf("rpc: the key %.50q has spaces or more than %d bytes", c.Key, maxKey/2)
	}
	if c.Tracker != "" && c.Key == "" {
		return c, fmt.Errorf("rpc: a server that registers at the tracker %s needs a Key, by which clients ask for it", c.Tracker)
	}
	if c.Isolation == InProcess && c.MaxSessions > maxClientSessions {
		return c, fmt.Errorf("rpc: MaxSessions is %d; a process can hold %d sessions: use rpc.Process", c.MaxSessions, maxClientSessions)
	}
	if c.MaxMemory > 0 && c.Isolation == InProcess {
		return c, fmt.Errorf("rpc: MaxMemory limits the process of a session: use rpc.Process")
	}
	if _, ok := threadID(); !ok && c.Isolation == InProcess {
		c.MaxSessions = 1
	}
	return c, nil
}
