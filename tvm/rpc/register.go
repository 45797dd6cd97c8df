package rpc

import (
	"context"
	"net"
	"time"
)

// How often a server asks its tracker for the keys that are left, and how long it waits
// before it connects to a tracker again.
const (
	pollPeriod = 2 * time.Second
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// register offers the server at its tracker until the context ends. If the tracker ends and
// returns, it registers again with the same keys.
func (s *Server) register(ctx context.Context) {
	wait := firstPause
	for ctx.Err() == nil {
		offered, err := s.offer(ctx)
		if ctx.Err() != nil {
			return
		}
		if offered {
			wait = firstPause
		}
		s.config.Logger.Warn("rpc: no connection to the tracker", "tracker", s.config.Tracker, "err", err, "retry", wait)
		if pause(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, lastPause)
	}
}

// offer keeps the tracker supplied with keys until the connection ends. It reports whether the
// tracker took any.
func (s *Server) offer(ctx context.Context) (offered bool, err error) {
	conn, err := dialTracker(ctx, s.config.Tracker)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var host any // nil: the one that the tracker sees
	if s.config.Advertise != "" {
		host = s.config.Advertise
	}
	port := s.Addr().(*net.TCPAddr).Port // listen has checked it
	info := map[string]any{"key": "server:" + s.config.Key, "addr": []any{host, port}}
	if err := conn.do(trackerUpdateInfo, info); err != nil {
		return false, err
	}
	keys := s.keys.all() // those of an earlier connection
	poll := time.NewTicker(pollPeriod)
	defer poll.Stop()
	for {
		for _, key := range append(keys, s.keys.make(s.config.Key)...) {
			if err := conn.do(trackerPut, s.config.Key, []any{port, key}, host); err != nil {
				return offered, err
			}
		}
		if !offered {
			s.config.Logger.Info("rpc: registered at the tracker", "tracker", s.config.Tracker, "key", s.config.Key)
		}
		keys, offered = nil, true
		select {
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-s.keys.changed:
		case <-poll.C:
			var pending []string
			if err := conn.ask(&pending, trackerPending); err != nil {
				return true, err
			}
			s.keys.check(pending)
		}
	}
}
