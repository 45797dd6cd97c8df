package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
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
		list := []func(){
			func() { callsTogether(own[0], seed) },
			func() { callsTogether(own[1], seed+1) },
			func() { capturesTogether(own[2]) },
			func() { capturesTogether(own[3]) },
			func() { freesTogether(own[4]) },
			func() { closesTogether(own[5]) },
			func() {
				for range 4 {
					needs(d.Synchronize())
					runtime.Gosched()
				}
			},
		}
		for i, g := range list {
			go func() {
				err := caught(g)
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
func callsTogether(o ones, n int) {
	st := need(cuda.Device(0).NewStream(options(n)...))
	var mu sync.Mutex
	var seen []int
	var calls []*cuda.HostCall
	for i := range 6 {
		calls = append(calls, need(st.Call(func() error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(slices.Clone(seen), i)
			if i == 3 && n%10 == 0 {
				runtime.GC()
			}
			return nil
		})))
		needs(errors.Join(o.on(st), st.Keep(calls[i])))
	}
	<-calls[5].Done() // without waiting for the stream
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5}) {
		needs(fmt.Errorf("the calls came as %v", seen))
	}
	needs(errors.Join(calls[5].Err(), st.Close()))
}

// options makes every second stream one that the default stream waits for.
func options(n int) []cuda.StreamOption {
	if n%2 == 0 {
		return []cuda.StreamOption{cuda.Blocking()}
	}
	return nil
}

func capturesTogether(o ones) {
	const d = cuda.Device(0)
	st := need(d.NewStream())
	joined := need(d.NewStream())
	event := need(d.NewEvent())
	for range 3 {
		graph := need(st.Capture(func() error {
			return errors.Join(o.on(st), event.Record(st), joined.Wait(event), o.on(joined), event.Record(joined), st.Wait(event))
		}))
		call := need(st.Call(func() error { return nil }))
		needs(errors.Join(graph.Launch(st), graph.Close(), event.Record(st), joined.Wait(event), o.on(joined), event.Record(joined), st.Wait(event)))
		<-call.Done()
	}
	needs(errors.Join(joined.Close(), st.Close(), event.Close()))
}

func freesTogether(o ones) {
	const d = cuda.Device(0)
	st := need(d.NewStream(cuda.Blocking()))
	for range 3 {
		m := need(cuda.AllocOf(d, []float32{0, 0, 0, 0}))
		n := need(d.AllocAsync(16, st))
		got := make([]float32, 4)
		needs(errors.Join(ones{o.k, o.a, m}.on(st), ones{o.k, o.a, n}.on(st), n.FreeAsync(st), cuda.CopyOut(got, m), m.Free()))
		if !slices.Equal(got, []float32{2, 3, 4, 5}) {
			needs(fmt.Errorf("copied %v", got))
		}
	}
	needs(st.Close())
}

// closesTogether closes streams, modules and images whose work runs.
func closesTogether(o ones) {
	const d = cuda.Device(0)
	im := cuda.NewImage([]byte(ptx))
	for n := range 4 {
		st := need(d.NewStream(options(n)...))
		k := need(im.Kernel(d, "add_one"))
		need(st.Call(func() error { return nil }))
		m := need(d.AllocAsync(16, st))
		needs(errors.Join(ones{k, o.a, m}.on(st), m.FreeAsync(st), st.Close()))
		if n%2 == 1 {
			needs(im.Close())
		}
	}
}
