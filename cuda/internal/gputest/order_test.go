package gputest

import (
	"errors"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// TestTwoStreams hands vectors from one stream to another and back by events, many times: a missing order shows as
// another sum.
func TestTwoStreams(t *testing.T) {
	const n, rounds = 1 << 16, 100
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "add_one")
		var streams [2]*cuda.Stream
		var done [2]*cuda.Event
		var err error
		for i := range streams {
			streams[i], err = device.NewStream()
			ok(t, err)
			done[i], err = device.NewEvent()
			ok(t, err)
		}
		x, err := cuda.AllocOf(device, ramp(n))
		ok(t, err)
		config := cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256)}
		for round := range rounds {
			from := round % 2
			config.Stream = streams[from]
			ok(t, k.Launch(config, x, x, int32(n)))
			ok(t, done[from].Record(streams[from]))
			ok(t, streams[1-from].Wait(done[from]))
		}
		ok(t, streams[0].Synchronize())
		ok(t, streams[1].Synchronize())
		got := make([]float32, n)
		ok(t, cuda.CopyOut(got, x))
		want := ramp(n)
		for i := range want {
			want[i] += rounds
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the first elements are %v, want %v", device, got[:4], want[:4])
		}
		ok(t, errors.Join(x.Free(), done[0].Close(), done[1].Close(), streams[0].Close(), streams[1].Close()))
	}
}

// TestCopiesComeAfter copies beside long work of a stream that the default stream waits for, as a stream of another library
// is, without waiting for it: cuMemcpyDtoH would. It shows what an event on the default stream waits for.
func TestCopiesComeAfter(t *testing.T) {
	const rounds, launches = 3, 20
	n := many()
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "add_one")
		own := streamOn(t, device, cuda.Blocking())
		foreign, err := cuda.StreamFromPointer(device, own.Pointer())
		ok(t, err)
		def, err := device.DefaultStream()
		ok(t, err)
		x, err := device.Alloc(int64(4 * n))
		ok(t, err)
		host, err := cuda.AllocHost[float32](device, n)
		ok(t, err)
		for range rounds {
			ok(t, cuda.CopyIn(x, ramp(n)))
			for range launches {
				ok(t, adds(k, foreign, x, x))
			}
			wantNumbers(t, x, plus(n, launches))
			for range launches {
				ok(t, adds(k, foreign, x, x))
			}
			ok(t, cuda.CopyOutAsync(host, x, foreign))
			ok(t, cuda.CopyIn(x, ramp(n))) // which the kernels must not see
			if !slices.Equal(host.Slice(), plus(n, 2*launches)) {
				t.Errorf("%s: CopyIn came before work of a stream that it waits for", device)
			}
			for range launches {
				ok(t, adds(k, foreign, x, x))
			}
			ok(t, cuda.CopyOutAsync(host, x, foreign))
			ok(t, def.Synchronize())
			if !slices.Equal(host.Slice(), plus(n, launches)) {
				t.Errorf("%s: Synchronize of the default stream does not wait for a stream that it waits for", device)
			}
		}
		ok(t, errors.Join(x.Free(), host.Free()))
	}
}

// TestTwoDevices copies between two devices, and adds on one of them what the other has where it can reach that.
func TestTwoDevices(t *testing.T) {
	modules := prepare(t)
	if len(modules) < 2 {
		unsupported(t, "this machine has one device")
	}
	const n = 1 << 16
	for _, pair := range [][2]cuda.Device{{0, 1}, {1, 0}} {
		a, b := pair[0], pair[1]
		x, err := cuda.AllocOf(a, ramp(n))
		ok(t, err)
		y, err := b.Alloc(4 * n)
		ok(t, err)
		ok(t, cuda.Copy(y, x, nil))
		ok(t, a.Synchronize())
		ok(t, b.Synchronize())
		got := make([]float32, n)
		ok(t, cuda.CopyOut(got, y))
		if !slices.Equal(got, ramp(n)) {
			t.Errorf("%s to %s: other data came", a, b)
		}
		can, err := b.CanAccessPeer(a)
		ok(t, err)
		t.Logf("%s reaches the memory of %s: %t", b, a, can)
		if can {
			ok(t, b.EnablePeerAccess(a))
			k := kernel(t, modules[b], "add_one")
			ok(t, k.Launch(cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256)}, x.Pointer(), y, int32(n)))
			ok(t, b.Synchronize())
			ok(t, cuda.CopyOut(got, y))
			if got[0] != 1 || got[999] != 1000 {
				t.Errorf("%s reads memory of %s: %v and %v, want 1 and 1000", b, a, got[0], got[999])
			}
		}
		ok(t, errors.Join(x.Free(), y.Free()))
	}
}
