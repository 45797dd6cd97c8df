package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

// A TrackerConfig describes a [Tracker]. The zero value serves on a free port of the loopback
// interface.
type TrackerConfig struct {
	// Addr is the address to listen on, as in [Config].
	Addr string
	// MaxConnections is how many servers and clients may be connected; the tracker closes the
	// connections of others at once. 0 is 4096.
	MaxConnections int
	// Logger logs connections and errors, by default slog.Default.
	Logger *slog.Logger
}

// A Tracker knows which servers are free and gives them to clients. It works like the tracker of
// TVM's Python package, and serves Python's servers and clients too.
type Tracker struct {
	listener net.Listener
	logger   *slog.Logger
	ended    context.Context
	end      context.CancelFunc
	work     tasks
	most     int           // connections
	part     time.Duration // that a peer has for the rest of a message
	market   market
	open     atomic.Int64 // connections
}

// ListenTracker opens the port of a tracker; [Tracker.Serve] then serves it. The caller closes
// the tracker.
func ListenTracker(config TrackerConfig) (*Tracker, error) {
	c, err := Config{Addr: config.Addr, Logger: config.Logger}.complete()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, err
	}
	t := &Tracker{listener: l, logger: c.Logger, most: positive(config.MaxConnections, 4096), part: trackerTimeout}
	t.market.init()
	t.ended, t.end = context.WithCancel(context.Background())
	return t, nil
}

// Addr returns the address of the tracker, with its port.
func (t *Tracker) Addr() net.Addr { return t.listener.Addr() }

// TrackerStats counts what a tracker has done and does.
type TrackerStats struct {
	// Summary has the servers and the queues.
	Summary Summary
	// Connections is how many servers and clients are connected.
	Connections int
	// Places is how many places of servers the tracker has given to clients.
	Places int64
}

// Stats returns what the tracker has done and does. Any goroutine may call it.
func (t *Tracker) Stats() TrackerStats {
	s := TrackerStats{Summary: t.market.summary(), Connections: int(t.open.Load())}
	t.market.mu.Lock()
	defer t.market.mu.Unlock()
	s.Places = t.market.given
	return s
}

// Serve serves until ctx ends, which closes the tracker, or until [Tracker.Close]. It returns
// the cause of ctx, or [ErrClosed].
func (t *Tracker) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { t.Close() })()
	err := acceptAll(t.ended, t.listener, &t.work, t.logger, t.most, t.client)
	t.work.group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Close ends the tracker and its connections. Sessions go on.
func (t *Tracker) Close() error {
	t.work.close()
	t.listener.Close()
	t.end()
	t.work.group.Wait()
	return nil
}

// client serves one connection.
func (t *Tracker) client(conn net.Conn) {
	defer context.AfterFunc(t.ended, func() { conn.Close() })()
	t.open.Add(1)
	defer t.open.Add(-1)
	p := &peer{conn: conn, host: conn.RemoteAddr().(*net.TCPAddr).IP.String(), answers: make(chan []byte, maxAnswers), offers: map[string]bool{}}
	sent := make(chan struct{})
	go func() { defer close(sent); p.send() }()
	err := t.serve(p)
	t.market.leave(p)
	close(p.answers)
	conn.Close()
	<-sent
	if t.ended.Err() == nil && !errors.Is(err, errGone) {
		t.logger.Warn("rpc: the tracker ended a connection", "peer", conn.RemoteAddr().String(), "err", err)
	}
}

// errGone says that a peer closed its connection between two messages.
var errGone = errors.New("the peer closed the connection")

// serve serves a peer until its connection ends, and returns why.
func (t *Tracker) serve(p *peer) error {
	if err := silence.Limit(p.conn, 3*trackerTimeout); err != nil {
		return err
	}
	p.conn.SetReadDeadline(time.Now().Add(trackerTimeout))
	switch code, err := readInt32(p.conn); {
	case err != nil:
		return err
	case code != trackerMagic:
		return fmt.Errorf("%w: it began with %#x, where %#x begins", ErrProtocol, code, trackerMagic)
	}
	if err := writeCode(p.conn, trackerMagic); err != nil {
		return err
	}
	for {
		p.conn.SetReadDeadline(time.Time{})
		first := make([]byte, 1)
		if _, err := io.ReadFull(p.conn, first); err != nil {
			if errors.Is(err, io.EOF) {
				return errGone
			}
			return err
		}
		p.conn.SetReadDeadline(time.Now().Add(t.part)) // half a message holds no place
		var request []json.RawMessage
		if err := readMessage(io.MultiReader(bytes.NewReader(first), p.conn), &request); err != nil {
			return err
		}
		t.market.heard(p)
		if err := t.handle(p, request); err != nil {
			return err
		}
	}
}

// handle answers a request, whose first item is its code.
func (t *Tracker) handle(p *peer, request []json.RawMessage) error {
	var code int
	if err := items(request, &code); err != nil {
		return err
	}
	switch code {
	case trackerPing:
		return p.answer(trackerSuccess)
	case trackerPut:
		return t.put(p, request)
	case trackerRequest:
		var key string
		var priority int
		if err := items(request, nil, &key, nil, &priority); err != nil {
			return err
		}
		if len(key) > maxKey {
			return fmt.Errorf("%w: a request for a key of %d bytes, where %d is the limit", ErrProtocol, len(key), maxKey)
		}
		return t.market.request(p, key, priority)
	case trackerUpdateInfo:
		var info ServerInfo
		if err := items(request, nil, &info); err != nil {
			return err
		}
		if info.Addr[0] == nil {
			info.Addr[0] = p.host
		}
		t.market.describe(p, info)
		return p.answer(trackerSuccess)
	case trackerSummary:
		return p.answer([]any{trackerSuccess, t.market.summary()})
	case trackerPending:
		return p.answer(t.market.pending(p))
	default:
		return fmt.Errorf("%w: request %d", ErrProtocol, code)
	}
}

func (t *Tracker) put(p *peer, request []json.RawMessage) error {
	var key, matchKey string
	var place []json.RawMessage
	var port int
	host := &p.host // unless the server names one
	err := items(request, nil, &key, &place)
	if err == nil {
		err = items(place, &port, &matchKey)
	}
	if err == nil && len(request) > 3 && string(request[3]) != "null" {
		host = new(string)
		err = json.Unmarshal(request[3], host)
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(matchKey, key+":") || len(matchKey) > maxKey || port <= 0 || port > 0xffff {
		return fmt.Errorf("%w: an offer of port %d and the key %.100q, which must begin with %.50q and a colon", ErrProtocol, port, matchKey, key)
	}
	if err := t.market.offer(offer{p, key, *host, port, matchKey}); err != nil {
		return err
	}
	return p.answer(trackerSuccess)
}
