package rpc

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// A Config describes a [Server]. The zero value serves on a free port of the loopback interface.
type Config struct {
	// Addr is the address to listen on, "host:port". Without a host it is the loopback interface;
	// port 0, the default, is a free one. Anyone who can connect runs code on this machine, so
	// other interfaces must be named: "0.0.0.0:9090".
	Addr string
	// Listener accepts the clients instead, if it is set: a listener of crypto/tls, or one on a Unix socket, for example.
	// The server closes it.
	Listener net.Listener
	// TLS, if it is set, is what clients must speak. With ClientCAs and ClientAuth it also decides who they are.
	TLS *tls.Config
	// Relay puts a relay between clients on the loopback interface and their sessions, which reads the length of each
	// message: it limits them, counts their bytes and ends a client that has no work. All other clients have one. It
	// costs some microseconds for each message.
	Relay bool
	// MaxMessage is how many bytes a message may have, such as an upload or a tensor; 0 is 1 GiB. It needs a relay.
	MaxMessage int64
	// Key is the key that clients must send, "" for none. It keeps wrong clients away, not
	// hostile ones: it is sent in clear text.
	Key string
	// MaxSessions is how many sessions may run at once; further clients wait. 0 is one for each
	// processor.
	MaxSessions int
	// MaxWaiting is how many further clients may wait, or be about to send their key; the server
	// closes the connections of others at once. 0 is 1024.
	MaxWaiting int
	// HandshakeTimeout is how long a client may take to send its key; 0 is 10 seconds.
	HandshakeTimeout time.Duration
	// PeerTimeout is how long a client may read nothing, or be silent in the middle of a message, and its machine
	// between messages, until its session ends; 0 is 30 seconds. Without a relay, the system checks whether the machine
	// lives, and whether the client reads: the end may take three times as long. Half a message then ends the session
	// if /proc is mounted, unless eight bytes of it are missing.
	PeerTimeout time.Duration
	// IdleTimeout is how long a client may send no message while the session waits for one, until the session ends.
	// 0 is PeerTimeout, and a negative duration means no limit. It needs a relay.
	IdleTimeout time.Duration
	// SessionTimeout is how long a session may last, 0 for no limit. A client can ask for less.
	SessionTimeout time.Duration
	// MaxMemory limits the memory of a session's process that it may write to, in bytes, 0 for no limit. The
	// process itself takes some 100 MB of it. It needs Linux.
	MaxMemory int64
	// Dir is the parent of the sessions' folders, by default the folder for temporary files. It must exist. A
	// session's folder is removed when it ends, even if the server is killed; if both are killed, the next server with
	// this Dir does it.
	Dir string
	// Output receives the output of session processes, by default os.Stderr.
	Output io.Writer
	// Logger logs sessions and errors, by default slog.Default.
	Logger *slog.Logger
	// Tracker is the address of a tracker at which the server registers under its Key, which must
	// then be set. A client then needs the key that the tracker gives for each session.
	Tracker string
	// Advertise is the host that the tracker gives to clients, by default the one that it sees.
	// The port is the listener's.
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
	c.MaxSessions = positive(c.MaxSessions, runtime.NumCPU())
	c.MaxWaiting = positive(c.MaxWaiting, 1024)
	c.MaxMessage = positive(c.MaxMessage, 1<<30)
	c.HandshakeTimeout = positive(c.HandshakeTimeout, 10*time.Second)
	c.PeerTimeout = positive(c.PeerTimeout, 30*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, c.PeerTimeout)
	c.Output = cmp.Or[io.Writer](c.Output, os.Stderr)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if err := checkKey(c.Key, maxKey/2); err != nil {
		return c, err
	}
	if c.Tracker != "" && c.Key == "" {
		return c, fmt.Errorf("rpc: a server that registers at the tracker %s needs a Key, by which clients ask for it", c.Tracker)
	}
	return c, nil
}

// checkKey returns an error for a key that would arrive as another one: options follow it behind a space, and a tracker reads JSON,
// which has U+FFFD in place of bytes that are not UTF-8.
func checkKey(key string, most int) error {
	if strings.ContainsFunc(key, unicode.IsSpace) || !utf8.ValidString(key) || len(key) > most {
		return fmt.Errorf("rpc: the key %.50q has spaces, bytes that are not UTF-8, or more than %d bytes", key, most)
	}
	return nil
}

// tryDir makes Dir absolute, makes and removes a folder there, as sessions do, and removes what sessions of the past have left.
func (c *Config) tryDir() error {
	dir, remove, err := whole.Folder(c.Dir)
	if err == nil {
		c.Dir, err = filepath.Abs(filepath.Dir(dir))
		err = errors.Join(err, remove())
	}
	if err != nil {
		return fmt.Errorf("rpc: the Dir of the Config cannot have the folders of sessions: %w", err)
	}
	sweep(c.Dir)
	return nil
}

// positive returns n if it is positive, and otherwise its default.
func positive[T int | int64 | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
