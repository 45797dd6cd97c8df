// Package ending is a Go library for tests of what remains after a call: until the host
// ends, and in its memory.
package ending

//go:generate go tool tvmffi-bind export

import (
	"runtime"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Typed calls f.
//
//tvmffi:export
func Typed(f func(int64) (int64, error)) (int64, error) { return f(1) }

// Raw calls f.
//
//tvmffi:export
func Raw(f *tvmffi.Function) (any, error) { return f.Call(1) }

// Any takes anything.
//
//tvmffi:export
func Any(any) {}

// Handlers has a func.
type Handlers struct {
	Done func(int64) (int64, error) `ffi:"done"`
}

// Nested calls funcs in containers.
//
//tvmffi:export
func Nested(list []func(int64) (int64, error), byName map[string]func(int64) (int64, error), h Handlers, s func(string) string) (sum int64, err error) {
	for _, f := range append(list, byName["f"], h.Done) {
		n, err := f(1)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum + int64(len(s("text"))), nil
}

// Each calls f for each word.
//
//tvmffi:export
func Each(words []string, f func(string) (string, error)) ([]string, error) {
	out := make([]string, len(words))
	for i, w := range words {
		var err error
		if out[i], err = f(w); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Par calls f from n goroutines.
//
//tvmffi:export
func Par(n int64, f func(int64) (int64, error)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { _, _ = f(i) })
	}
	all.Wait()
}

// Collect runs the collector all the time.
//
//tvmffi:export
func Collect() {
	go func() {
		for {
			runtime.GC()
		}
	}()
}

var (
	kept    func(int64) (int64, error)
	objects []any
)

// Keep keeps f.
//
//tvmffi:export
func Keep(f func(int64) (int64, error)) { kept = tvmffi.RetainFunc(f) }

// Forget keeps f in the wrong way.
//
//tvmffi:export
func Forget(f func(int64) (int64, error)) { kept = f }

// KeepTensor keeps t until the next call of it.
//
//tvmffi:export
func KeepTensor(t *tvmffi.Tensor) { objects = []any{tvmffi.Retain(t)} }

// Kept calls the func that is kept.
//
//tvmffi:export
func Kept() (int64, error) { return kept(1) }

// Later calls the func that is kept after some time, on n goroutines.
//
//tvmffi:export
func Later(milliseconds, n int64) {
	f := kept
	for range n {
		go func() {
			time.Sleep(time.Duration(milliseconds) * time.Millisecond)
			_, _ = f(1)
		}()
	}
}

// Beyond calls f on n goroutines for longer than its own call.
//
//tvmffi:export
func Beyond(n int64, f func(int64) (int64, error)) {
	for range n {
		go func() {
			for {
				if _, err := f(1); err != nil {
					return
				}
			}
		}()
	}
	time.Sleep(time.Millisecond)
}

var (
	stop = make(chan struct{})
	all  sync.WaitGroup
)

// Start calls the func that is kept on n goroutines until Stop.
//
//tvmffi:export
func Start(n int64) {
	f := kept
	for range n {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = f(1)
				}
			}
		})
	}
}

// Stop waits for the goroutines of Start.
//
//tvmffi:export
func Stop() {
	close(stop)
	all.Wait()
}
