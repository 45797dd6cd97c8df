package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A TrackerClient asks a tracker for servers. Any goroutine may use it. It holds no connection
// between calls.
type TrackerClient struct {
	// Addr is the address of the tracker, "host:port".
	Addr string
	// Options apply to the sessions. The tracker gives the key.
	Options DialOptions
	// Attempts is how often Request and Do try before they return the error; 0 is five times.
	Attempts int
}

// Summary lists the servers and clients of a tracker.
type Summary struct {
	// Queues are the keys of servers and waiting clients.
	Queues map[string]Queue `json:"queue_info"`
	// Servers are the registered servers.
	Servers []ServerInfo `json:"server_info"`
}

// String describes the servers and queues, one in each line.
func (s Summary) String() string {
	var b strings.Builder
	for _, server := range s.Servers {
		fmt.Fprintf(&b, "%s at %v:%v\n", server.Key, server.Addr[0], server.Addr[1])
	}
	for _, key := range slices.Sorted(maps.Keys(s.Queues)) {
		fmt.Fprintf(&b, "%s: %d free, %d wait\n", key, s.Queues[key].Free, s.Queues[key].Pending)
	}
	return b.String()
}

// A Queue counts the free sessions of a key and the clients that wait for one.
type Queue struct {
	Free    int `json:"free"`
	Pending int `json:"pending"`
}

// ServerInfo names a server.
type ServerInfo struct {
	// Key is the key of the server after the word "server:".
	Key string `json:"key"`
	// Addr is the host and the port of the server.
	Addr [2]any `json:"addr"`
}

// Request waits for a free server with the key and begins a session. The waiting client with the
// highest priority is first. If the tracker or the server does not answer, Request tries again,
// Attempts times in all, unless the error is [ErrSessions]. The caller closes the session, which
// frees the server. The error is a [*ConnectionError], whose text names the server too if one was asked.
func (c *TrackerClient) Request(ctx context.Context, key string, priority int) (*Session, error) {
	var s *Session
	err := c.try(ctx, key, func() (err error) {
		s, err = c.begin(ctx, key, priority)
		return err
	})
	if err != nil {
		return nil, c.failed(ctx, "request of "+strconv.Quote(key)+" from", err)
	}
	return s, nil
}

// Do requests a session, runs f with it and closes it. If the connection is lost meanwhile, Do begins again with
// another session, Attempts times in all, so f must be able to run again. Other errors of f end Do, which returns them.
func (c *TrackerClient) Do(ctx context.Context, key string, priority int, f func(*Session) error) error {
	var ended error
	err := c.try(ctx, key, func() error {
		s, err := c.begin(ctx, key, priority)
		if err != nil {
			return err
		}
		defer s.Close()
		if err = f(s); err != nil && !errors.Is(err, ErrLost) {
			ended, err = err, nil
		}
		return err
	})
	if err != nil {
		return c.failed(ctx, "job of "+strconv.Quote(key)+" from", err)
	}
	return ended
}

// try calls f until it succeeds, for a key that the tracker can have.
func (c *TrackerClient) try(ctx context.Context, key string, f func() error) (err error) {
	if err := checkKey(key, maxKey/2); err != nil {
		return err
	}
	for i := range max(1, cmp.Or(c.Attempts, 5)) {
		if i > 0 && pause(ctx, time.Duration(i)*200*time.Millisecond) != nil {
			break
		}
		if err = f(); err == nil || errors.Is(err, ErrSessions) { // each further place would be taken in vain
			break
		}
	}
	return err
}

// begin tries once to get a server and to begin a session.
func (c *TrackerClient) begin(ctx context.Context, key string, priority int) (*Session, error) {
	addr, place, err := c.request(ctx, key, priority)
	if err != nil {
		return nil, err
	}
	options := c.Options
	options.Key = place
	options.HandshakeTimeout = cmp.Or(options.HandshakeTimeout, 10*time.Second)
	return Dial(ctx, addr, options)
}

// Summary asks the tracker for its servers and waiting clients.
func (c *TrackerClient) Summary(ctx context.Context) (Summary, error) {
	var s Summary
	err := c.ask(ctx, &s, trackerSummary)
	if err != nil {
		return Summary{}, c.failed(ctx, "summary of", err)
	}
	return s, nil
}

func (c *TrackerClient) failed(ctx context.Context, op string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w; the last error was: %w", cause, err)
	}
	return &ConnectionError{Op: op, Addr: c.Addr, Err: err}
}

// request waits for a place: a server, and the key with which it takes one session, within seconds.
func (c *TrackerClient) request(ctx context.Context, key string, priority int) (addr, place string, err error) {
	var list []json.RawMessage
	if err := c.ask(ctx, &list, trackerRequest, key, "", priority); err != nil {
		return "", "", err
	}
	var host string
	var port uint16
	err = items(list, &host, &port, &place)
	return net.JoinHostPort(host, strconv.Itoa(int(port))), place, err
}

// ask makes a request whose answer is a list: the code and the value.
func (c *TrackerClient) ask(ctx context.Context, value any, message ...any) error {
	conn, err := dialTracker(ctx, c.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	var answer []json.RawMessage
	if err := conn.ask(&answer, message...); err != nil {
		return err
	}
	if len(answer) != 2 || string(answer[0]) != "0" {
		return fmt.Errorf("%w: the tracker answered %s", ErrProtocol, answer)
	}
	return json.Unmarshal(answer[1], value)
}

// pause waits for d, or returns the cause of the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
