package gputest

import (
	"errors"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// adds launches add_one for all numbers of a on a stream.
func adds(k *cuda.Kernel, st *cuda.Stream, a, b *cuda.Memory) error {
	n := int(a.Size() / 4)
	return k.Launch(cuda.LaunchConfig{Grid: cuda.GridFor(int64(n), 256), Block: cuda.Dim(256), Stream: st}, a, b, int32(n))
}

// plus is ramp plus a number.
func plus(n int, v float32) []float32 {
	s := ramp(n)
	for i := range s {
		s[i] += v
	}
	return s
}

func wantNumbers(t *testing.T, m *cuda.Memory, want []float32) {
	t.Helper()
	got := make([]float32, len(want))
	ok(t, cuda.CopyOut(got, m))
	if !slices.Equal(got, want) {
		t.Errorf("%s: the memory of %d numbers is not as it must be", m.Device(), len(want))
	}
}

// TestFreeInUse frees memory that a kernel on another stream still uses, and takes memory
// at once that the driver may put at the same place.
func TestFreeInUse(t *testing.T) {
	n := many()
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "add_one")
		owner, user := streamOn(t, device), streamOn(t, device)
		out, err := cuda.AllocOf(device, make([]float32, n))
		ok(t, err)
		for range 20 {
			a, err := device.AllocAsync(int64(4*n), owner)
			ok(t, err)
			ok(t, owner.Synchronize())
			ok(t, cuda.CopyIn(a, ramp(n)))
			for range 20 {
				ok(t, adds(k, user, a, a))
			}
			ok(t, adds(k, user, a, out))
			ok(t, a.Free())
			b, err := device.AllocAsync(int64(4*n), owner)
			ok(t, err)
			ok(t, cuda.Fill(b, float32(-1), owner))
			ok(t, b.FreeAsync(owner))
			ok(t, user.Synchronize())
			wantNumbers(t, out, plus(n, 21))
		}
		ok(t, out.Free())
	}
}

// TestBesideCapture uses a device from another goroutine while one captures, and loads code
// inside Capture for the first time.
func TestBesideCapture(t *testing.T) {
	const n = 1000
	for d := range prepare(t) {
		device := cuda.Device(d)
		captured, other := streamOn(t, device), streamOn(t, device, cuda.Blocking())
		x, err := cuda.AllocOf(device, ramp(n))
		ok(t, err)
		late, err := device.AllocAsync(4*n, other)
		ok(t, err)
		var own *cuda.Module
		graph, err := captured.Capture(func() (err error) {
			if own, err = load(device); err != nil {
				return err
			}
			k, err := own.Kernel("add_one")
			if err != nil {
				return err
			}
			refused := []error{device.Synchronize(), captured.Synchronize(), x.Free(), cuda.CopyIn(x, ramp(n))}
			for i, err := range refused {
				if err == nil {
					t.Errorf("%s: call %d works inside Capture", device, i)
				}
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				beside(t, device, k, other, late)
			}()
			<-done
			return adds(k, captured, x, x)
		})
		ok(t, err)
		ok(t, graph.Launch(captured))
		ok(t, captured.Synchronize())
		wantNumbers(t, x, plus(n, 1))
		ok(t, errors.Join(graph.Close(), own.Close(), x.Free(), device.Synchronize()))
	}
}

func beside(t *testing.T, device cuda.Device, k *cuda.Kernel, other *cuda.Stream, late *cuda.Memory) {
	y, err := cuda.AllocOf(device, ramp(1000))
	if err != nil {
		t.Error(err)
		return
	}
	err = errors.Join(adds(k, other, y, y), adds(k, other, y, late), late.FreeAsync(other))
	got := make([]float32, 1000)
	if err := errors.Join(err, cuda.CopyOut(got, y), y.FreeAsync(other), other.Synchronize()); err != nil {
		t.Error(err)
	}
	if !slices.Equal(got, plus(1000, 1)) {
		t.Errorf("%s: a goroutine beside a capture has wrong numbers", device)
	}
}

// TestPeerMemory runs a kernel on one device with memory of another one.
func TestPeerMemory(t *testing.T) {
	modules := prepare(t)
	if len(modules) < 2 {
		unsupported(t, "this machine has one device")
	}
	can, err := cuda.Device(1).CanAccessPeer(0)
	ok(t, err)
	if !can {
		unsupported(t, "cuda:1 cannot use memory of cuda:0")
	}
	k := kernel(t, modules[1], "add_one")
	st := streamOn(t, 1)
	pool, err := cuda.Device(0).NewPool()
	ok(t, err)
	there := streamOn(t, 0, cuda.Blocking())
	pooled, err := pool.Alloc(4000, there)
	ok(t, err)
	plain, err := cuda.AllocOf(0, ramp(1000))
	ok(t, err)
	ok(t, cuda.CopyIn(pooled, ramp(1000)))
	ok(t, errors.Join(cuda.Device(1).EnablePeerAccess(0), pool.AllowAccess(1)))
	for _, m := range []*cuda.Memory{plain, pooled} {
		ok(t, adds(k, st, m, m))
		ok(t, st.Synchronize())
		wantNumbers(t, m, plus(1000, 1))
	}
	ok(t, errors.Join(plain.Free(), pooled.Free(), pool.Close()))
}

func streamOn(t *testing.T, d cuda.Device, options ...cuda.StreamOption) *cuda.Stream {
	t.Helper()
	st, err := d.NewStream(options...)
	ok(t, err)
	t.Cleanup(func() { ok(t, st.Close()) })
	return st
}
