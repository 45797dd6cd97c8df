//go:build tvm

package disco_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// BenchmarkSession measures calls with a Sync after each, and collective operations.
//
//	go test -tags=tvm -run=^$ -bench=. ./tvm/disco
func BenchmarkSession(b *testing.B) {
	need(b)
	for _, n := range []int{1, 2, 3, 4, 8} {
		start := time.Now()
		s := must[*disco.Session](b)(disco.Processes(context.Background(), n, disco.Options{}))
		b.Logf("%d workers began in %v", n, time.Since(start))
		shape, text := s.Function("ffi.Shape"), bytes.Repeat([]byte("x"), 1<<20)
		host := must[*tvmffi.Tensor](b)(tvmffi.FromSlice(make([]float32, 1<<18)))
		all := must[*disco.DRef](b)(s.Broadcast(host))
		for name, do := range map[string]func() error{
			"int":       func() error { return release(s.Call(shape, 1)) },
			"bytes":     func() error { return release(s.Call(s.Function("disco.test.len"), text)) },
			"broadcast": func() error { return release(s.Broadcast(host)) },
			"allreduce": func() error { return s.Allreduce(all, all, disco.Max, false) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
					if err := s.Sync(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("queued/%d", n), func(b *testing.B) { // one Sync for all
			for b.Loop() {
				if err := release(s.Call(shape, 1)); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Sync(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}

func release(d *disco.DRef, err error) error {
	d.Release()
	return err
}
