package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A TrackerClient asks a tracker for servers. Any goroutine may use it. It holds no connection
// between calls.
type TrackerClient struct {
	// Addr is the address of the tracker, "host:port".
	Addr string
	// Options apply to the sessions. The tracker gives the key.
	Options DialOptions
}

// A Place is a server that a tracker has assigned to one client, for one session.
type Place struct {
	// Addr is the address of the server, "host:port".
	Addr string
	// Key is the key to send to the server. It becomes void if it is not used within seconds.
	Key string
}

// Summary lists the servers and clients of a tracker.
type Summary struct {
	// Queues are the keys of servers and waiting clients.
	Queues map[string]Queue `json:"queue_info"`
	// Servers are the registered servers.
	Servers []ServerInfo `json:"server_info"`
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

// attempts is how often Request tries before it returns the error.
const attempts = 5

// Request waits for a free server with the key and begins a session. The waiting client with the
// highest priority is first. If the tracker or the server does not answer, Request tries again,
// five times in all, unless the error is [ErrSessions]. The caller closes the session, which
// frees the server. The error is a [*ConnectionError].
func (c *TrackerClient) Request(ctx context.Context, key string, priority int) (*Session, error) {
	var err error
	for i := range attempts {
		if i > 0 && pause(ctx, time.Duration(i)*200*time.Millisecond) != nil {
			break
		}
		var place Place
		if place, err = c.request(ctx, key, priority); err != nil {
			continue
		}
		options := c.Options
		options.Key = place.Key
		var s *Session
		if s, err = Dial(ctx, place.Addr, options); err == nil {
			return s, nil
		}
		if errors.Is(err, ErrSessions) {
			break // each further place would be taken in vain
		}
	}
	return nil, c.failed(ctx, "request of "+strconv.Quote(key)+" from", err)
}

// Place waits for a free server like [TrackerClient.Request], but tries once and starts no
// session.
func (c *TrackerClient) Place(ctx context.Context, key string, priority int) (Place, error) {
	place, err := c.request(ctx, key, priority)
	if err != nil {
		return Place{}, c.failed(ctx, "request of "+strconv.Quote(key)+" from", err)
	}
	return place, nil
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
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &ConnectionError{Op: op, Addr: c.Addr, Err: err}
}

func (c *TrackerClient) request(ctx context.Context, key string, priority int) (Place, error) {
	var place json.RawMessage
	if err := c.ask(ctx, &place, trackerRequest, key, "", priority); err != nil {
		return Place{}, err
	}
	var host, matchKey string
	var port uint16
	if err := decodeList(place, &host, &port, &matchKey); err != nil {
		return Place{}, err
	}
	return Place{net.JoinHostPort(host, strconv.Itoa(int(port))), matchKey}, nil
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
