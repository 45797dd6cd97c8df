package rpc

import (
	"context"
	"net"
	"time"
)

// pollPeriod is how often a server asks its tracker for the keys that are left, and how long it waits before it connects to
// a tracker again.
const pollPeriod = 2 * time.Second

// register offers the server at its tracker until the context ends. If the tracker ends and
// returns, it registers again with the same keys.
func (s *Server) register(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.offer(ctx); ctx.Err() == nil {
			s.config.Logger.Warn("rpc: no connection to the tracker", "tracker", s.config.Tracker, "err", err, "retry", pollPeriod)
			_ = pause(ctx, pollPeriod)
		}
	}
}

// offer keeps the tracker supplied with keys until the connection ends.
func (s *Server) offer(ctx context.Context) error {
	conn, err := dialTracker(ctx, s.config.Tracker)
	if err != nil {
		return err
	}
	defer conn.Close()
	var host any // nil: the one that the tracker sees
	if s.config.Advertise != "" {
		host = s.config.Advertise
	}
	port := s.Addr().(*net.TCPAddr).Port // listen has checked it
	info := map[string]any{"key": "server:" + s.config.Key, "addr": []any{host, port}}
	if err := conn.do(trackerUpdateInfo, info); err != nil {
		return err
	}
	s.config.Logger.Info("rpc: registered at the tracker", "tracker", s.config.Tracker, "key", s.config.Key)
	keys := s.keys.all() // those of an earlier connection
	poll := time.NewTicker(pollPeriod)
	defer poll.Stop()
	for {
		for _, key := range append(keys, s.keys.make(s.config.Key)...) {
			if err := conn.do(trackerPut, s.config.Key, []any{port, key}, host); err != nil {
				return err
			}
		}
		keys = nil
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.keys.changed:
		case <-poll.C:
			var pending []string
			if err := conn.ask(&pending, trackerPending); err != nil {
				return err
			}
			s.keys.check(pending)
		}
	}
}
