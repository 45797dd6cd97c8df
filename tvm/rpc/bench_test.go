//go:build tvm

package rpc_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// BenchmarkCall is a remote call, with an int and with a megabyte.
func BenchmarkCall(b *testing.B) {
	for name, c := range map[string]rpc.Config{"direct": {}, "relay": {Relay: true}} {
		server, _ := serve(b, c)
		m := module(b, dial(b, server.Addr().String(), rpc.DialOptions{}))
		for call, arg := range map[string]any{"echo": 7, "length": make([]byte, 1<<20), "repeat": 1 << 20} {
			f := function(b, m, call)
			b.Run(name+"/"+call, func(b *testing.B) {
				ctx := limited(b, 5*time.Minute)
				for b.Loop() {
					if _, err := f.Call(ctx, arg); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkDial begins and ends a session.
func BenchmarkDial(b *testing.B) {
	server, _ := serve(b, rpc.Config{})
	ctx := limited(b, 5*time.Minute)
	for b.Loop() {
		s, err := rpc.Dial(ctx, server.Addr().String(), rpc.DialOptions{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkRequest asks a tracker for a session, begins and ends it.
func BenchmarkRequest(b *testing.B) {
	tracker := track(b, "").Addr().String()
	client := rpc.TrackerClient{Addr: tracker}
	serve(b, rpc.Config{Tracker: tracker, Key: "board", MaxSessions: 8})
	ctx := limited(b, 5*time.Minute)
	b.Run("summary", func(b *testing.B) {
		for b.Loop() {
			if _, err := client.Summary(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			s, err := client.Request(ctx, "board", 1)
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}

// BenchmarkBytes counts the bytes of a call of a function without arguments in both directions, and
// of a copy of 16 bytes to a tensor of the server.
func BenchmarkBytes(b *testing.B) {
	server, _ := serve(b, rpc.Config{})
	p := newProxy(b, server.Addr().String())
	s := dial(b, p.addr(), rpc.DialOptions{})
	ctx := limited(b, time.Minute)
	f, err := s.Function(ctx, "runtime.NumThreads")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Release()
	x, err := s.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 4)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Release()
	for name, do := range map[string]func() error{
		"call": func() error { _, err := f.Call(ctx); return err },
		"copy": func() error { return rpc.CopyFrom(ctx, s, x, []float32{1, 2, 3, 4}) },
	} {
		b.Run(name, func(b *testing.B) {
			sent, received := p.sent.Load(), p.received.Load()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(p.sent.Load()-sent)/float64(b.N), "sent-B/op")
			b.ReportMetric(float64(p.received.Load()-received)/float64(b.N), "received-B/op")
		})
	}
}

// BenchmarkSessions makes calls in several sessions of one server at once.
func BenchmarkSessions(b *testing.B) {
	server, _ := serve(b, rpc.Config{MaxSessions: 32})
	for _, n := range []int{1, 2, 4, 8, 16, 28} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := limited(b, time.Minute)
			start := time.Now()
			functions := make([]*rpc.Function, n)
			for i := range functions {
				s := dial(b, server.Addr().String(), rpc.DialOptions{})
				f, err := s.Function(ctx, "runtime.NumThreads")
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				defer f.Release()
				functions[i] = f
			}
			begun := time.Since(start)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var calls sync.WaitGroup
			for _, f := range functions {
				calls.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := f.Call(ctx); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			calls.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(begun.Milliseconds())/float64(n), "begin-ms/session")
		})
	}
}
