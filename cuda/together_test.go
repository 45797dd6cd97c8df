package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestTogether lets goroutines call functions of Go on streams, capture, copy, free, keep and close at the
// same time on one device, with short queues, ten times. None waits for another forever, and the
// work uses nothing that has ended.
func TestTogether(t *testing.T) {
	f := load(t)
	defer f.Queue(0)
	const d = cuda.Device(0)
	var own [6]ones
	for i := range own {
		own[i] = newOnes(t, d)
	}
	for seed := range 10 {
		f.Queue(2 + seed%7)
		f.t = t
		results := make(chan error)
		list := []func() error{
			func() error { return callsTogether(own[0], seed) },
			func() error { return callsTogether(own[1], seed+1) },
			func() error { return capturesTogether(own[2]) },
			func() error { return capturesTogether(own[3]) },
			func() error { return freesTogether(own[4]) },
			func() error { return closesTogether(own[5]) },
			func() error { return waitsTogether(d) },
		}
		for i, g := range list {
			go func() {
				err := g()
				if err != nil {
					err = fmt.Errorf("goroutine %d: %w", i, err)
				}
				results <- err
			}()
		}
		limit := time.After(time.Minute)
		for range list {
			select {
			case err := <-results:
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			case <-limit:
				stack := make([]byte, 1<<20)
				t.Fatalf("seed %d: the goroutines wait for each other:\n%s", seed, stack[:runtime.Stack(stack, true)])
			}
		}
		ok(t, d.Synchronize())
		if bad := f.violated(); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
	}
}

// callsTogether lets a stream call functions that lock, allocate and collect.
func callsTogether(o ones, n int) error {
	st, err := cuda.Device(0).NewStream(options(n)...)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var seen []int
	var calls []*cuda.HostCall
	for i := range 6 {
		c, err := st.Call(func() error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(slices.Clone(seen), i)
			if i == 3 && n%10 == 0 {
				runtime.GC()
			}
			return nil
		})
		if err != nil {
			return err
		}
		calls = append(calls, c)
		if err := errors.Join(o.on(st), st.Keep(c)); err != nil {
			return err
		}
	}
	<-calls[5].Done() // without waiting for the stream
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5}) {
		return fmt.Errorf("the calls came as %v", seen)
	}
	return errors.Join(calls[5].Err(), st.Close())
}

// options makes every second stream one that the default stream waits for.
func options(n int) []cuda.StreamOption {
	if n%2 == 0 {
		return []cuda.StreamOption{cuda.Blocking()}
	}
	return nil
}

func capturesTogether(o ones) error {
	const d = cuda.Device(0)
	st, err := d.NewStream()
	if err != nil {
		return err
	}
	joined, err := d.NewStream()
	if err != nil {
		return err
	}
	event, err := d.NewEvent()
	if err != nil {
		return err
	}
	for range 3 {
		graph, err := st.Capture(func() error {
			return errors.Join(o.on(st), event.Record(st), joined.Wait(event), o.on(joined), event.Record(joined), st.Wait(event))
		})
		if err != nil {
			return err
		}
		call, err := st.Call(func() error { return nil })
		if err != nil {
			return err
		}
		if err := errors.Join(graph.Launch(st), graph.Close(), event.Record(st), joined.Wait(event), o.on(joined), event.Record(joined), st.Wait(event)); err != nil {
			return err
		}
		<-call.Done()
	}
	return errors.Join(joined.Close(), st.Close(), event.Close())
}

func freesTogether(o ones) error {
	const d = cuda.Device(0)
	st, err := d.NewStream(cuda.Blocking())
	if err != nil {
		return err
	}
	for range 3 {
		m, err := cuda.AllocOf(d, []float32{0, 0, 0, 0})
		if err != nil {
			return err
		}
		n, err := d.AllocAsync(16, st)
		if err != nil {
			return err
		}
		got := make([]float32, 4)
		err = errors.Join(ones{o.k, o.a, m}.on(st), ones{o.k, o.a, n}.on(st), n.FreeAsync(st), cuda.CopyOut(got, m), m.Free())
		if err != nil {
			return err
		}
		if !slices.Equal(got, []float32{2, 3, 4, 5}) {
			return fmt.Errorf("copied %v", got)
		}
	}
	return st.Close()
}

// closesTogether closes streams, modules and images whose work runs.
func closesTogether(o ones) error {
	const d = cuda.Device(0)
	im := cuda.NewImage([]byte(ptx))
	for n := range 4 {
		st, err := d.NewStream(options(n)...)
		if err != nil {
			return err
		}
		k, err := im.Kernel(d, "add_one")
		if err != nil {
			return err
		}
		if _, err := st.Call(func() error { return nil }); err != nil {
			return err
		}
		m, err := d.AllocAsync(16, st)
		if err != nil {
			return err
		}
		if err := errors.Join(ones{k, o.a, m}.on(st), m.FreeAsync(st), st.Close()); err != nil {
			return err
		}
		if n%2 == 1 {
			if err := im.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitsTogether waits for the device, which is refused while somebody captures.
func waitsTogether(d cuda.Device) error {
	for range 4 {
		err := d.Synchronize()
		if err != nil && !(errors.Is(err, tvmffi.ErrValue) && strings.Contains(err.Error(), "a stream of cuda:0 is captured, so the program cannot wait")) {
			return err
		}
		runtime.Gosched()
	}
	return nil
}
