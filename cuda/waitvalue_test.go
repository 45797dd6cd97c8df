package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestWaitValue lets one stream wait for a word that another writes, in many orders: what the first does afterwards
// comes after what the second did before.
func TestWaitValue(t *testing.T) {
	f := load(t)
	defer f.unseed()
	const d = cuda.Device(0)
	k := kernel(t, module(t, d), "add_one")
	writer, waiter := must[*cuda.Stream](t)(d.NewStream(cuda.NonBlocking())), must[*cuda.Stream](t)(d.NewStream(cuda.NonBlocking()))
	defer writer.Close()
	defer waiter.Close()
	words := must[*cuda.Memory](t)(d.Alloc(16))
	defer words.Free()
	x, y, z := must[*cuda.Memory](t)(d.Alloc(4)), must[*cuda.Memory](t)(d.Alloc(4)), must[*cuda.Memory](t)(d.Alloc(4))
	defer x.Free()
	defer y.Free()
	defer z.Free()
	launch := func(st *cuda.Stream, from, to *cuda.Memory) error {
		return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: st}, from, to, uint32(1))
	}
	for seed := range seeds {
		f.seed(seed)
		for _, m := range []*cuda.Memory{words, x, y, z} {
			ok(t, cuda.Fill(m, uint32(0), nil))
		}
		ok(t, d.Synchronize())
		at := int64(seed%2) * 8
		if seed%2 == 0 {
			ok(t, cuda.WaitValue(words, at, uint32(7), cuda.WaitEqual, waiter))
		} else {
			ok(t, cuda.WaitValue(words, at, int64(-3), cuda.WaitEqual, waiter))
		}
		ok(t, launch(waiter, y, z))
		ok(t, launch(writer, x, y))
		if seed%2 == 0 {
			ok(t, cuda.WriteValue(words, at, uint32(7), writer))
		} else {
			ok(t, cuda.WriteValue(words, at, int64(-3), writer))
		}
		ok(t, waiter.Synchronize())
		ok(t, writer.Synchronize())
		got := make([]float32, 1)
		ok(t, cuda.CopyOut(got, z))
		if got[0] != 2 {
			t.Fatalf("seed %d: the sum is %v, want 2", seed, got[0])
		}
	}
}

// TestWaitBesideCall queues a function of the host behind a wait: the fake runs both of its own accord, and the word
// that another stream writes later too.
func TestWaitBesideCall(t *testing.T) {
	f := load(t)
	defer f.unseed()
	const d = cuda.Device(0)
	waiter, writer := must[*cuda.Stream](t)(d.NewStream()), must[*cuda.Stream](t)(d.NewStream(cuda.NonBlocking()))
	defer waiter.Close()
	defer writer.Close()
	h := must[*cuda.Host[uint32]](t)(cuda.AllocHost[uint32](d, 1))
	defer h.Free()
	for seed := range seeds {
		f.seed(seed)
		clear(h.Slice())
		var called atomic.Bool
		ok(t, cuda.WaitValue(h, 0, uint32(5), cuda.WaitEqual, waiter))
		must[*cuda.HostCall](t)(waiter.Call(func() error { called.Store(true); return nil }))
		ok(t, cuda.WriteValue(h, 0, uint32(5), writer))
		if err := waiter.Synchronize(); err != nil || !called.Load() {
			t.Fatalf("seed %d: called %t, %v", seed, called.Load(), err)
		}
		ok(t, writer.Synchronize())
	}
}

// TestWaitHost has words in memory of the host: the program ends a wait, and sees what a stream writes.
func TestWaitHost(t *testing.T) {
	load(t)
	const d = cuda.Device(1)
	st := must[*cuda.Stream](t)(d.NewStream())
	defer st.Close()
	h := must[*cuda.Host[uint32]](t)(cuda.AllocHost[uint32](d, 4))
	defer h.Free()
	clear(h.Slice())
	ok(t, cuda.WaitValue(h, 4, uint32(5), cuda.WaitGreaterOrEqual, st))
	ok(t, cuda.WriteValue(h, 8, uint32(9), st))
	if done := must[bool](t)(st.Done()); done {
		t.Error("the stream does not wait")
	}
	atomic.StoreUint32(&h.Slice()[1], 6)
	ok(t, st.Synchronize())
	if v := atomic.LoadUint32(&h.Slice()[2]); v != 9 {
		t.Errorf("the word is %d, want 9", v)
	}
}

// TestWaitConditions gives the driver each condition; all hold already.
func TestWaitConditions(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	m := must[*cuda.Memory](t)(d.Alloc(16))
	defer m.Free()
	ok(t, cuda.CopyIn(m, []uint64{0x10, 0x10}))
	ok(t, d.Synchronize())
	f.reset()
	ok(t, cuda.WaitValue(m, 0, uint32(0x10), cuda.WaitGreaterOrEqual, nil))
	ok(t, cuda.WaitValue(m, 0, int32(-1), cuda.WaitGreaterOrEqual, nil))
	ok(t, cuda.WaitValue(m, 4, uint32(0), cuda.WaitEqual|cuda.WaitFlush, nil))
	ok(t, cuda.WaitValue(m, 0, uint32(0x30), cuda.WaitAnd, nil))
	ok(t, cuda.WaitValue(m, 0, uint32(0xf), cuda.WaitNor, nil))
	ok(t, cuda.WaitValue(m, 8, uint64(0x10), cuda.WaitEqual, nil))
	ok(t, cuda.WriteValue(m, 8, int64(-2), nil))
	ok(t, cuda.WriteValue(m, 0, int32(-2), nil))
	at := m.Pointer().Address
	calls := f.calls()
	want := []string{fmt.Sprintf("cuStreamWaitValue32_v2 0 %x 16 0", at), fmt.Sprintf("cuStreamWaitValue32_v2 0 %x %d 0", at, uint32(math.MaxUint32)),
		fmt.Sprintf("cuStreamWaitValue32_v2 0 %x 0 %d", at+4, 1<<30|1), fmt.Sprintf("cuStreamWaitValue32_v2 0 %x 48 2", at), fmt.Sprintf("cuStreamWaitValue32_v2 0 %x 15 3", at),
		fmt.Sprintf("cuStreamWaitValue64_v2 0 %x 16 1", at+8), fmt.Sprintf("cuStreamWriteValue64_v2 0 %x %d 0", at+8, uint64(math.MaxUint64-1)),
		fmt.Sprintf("cuStreamWriteValue32_v2 0 %x %d 0", at, uint32(math.MaxUint32-1))}
	for _, c := range calls {
		if len(want) > 0 && c.String() == want[0] {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("calls %q lack %q", calls, want)
	}
	ok(t, d.Synchronize())
	got := make([]int64, 2)
	ok(t, cuda.CopyOut(got, m))
	if got[0] != 0xfffffffe || got[1] != -2 {
		t.Errorf("the words are %x", got)
	}
}

func TestWaitRefused(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	m := must[*cuda.Memory](t)(d.Alloc(16))
	managed, far := must[*cuda.Memory](t)(d.AllocManaged(16)), must[*cuda.Memory](t)(cuda.Device(1).Alloc(16))
	st := must[*cuda.Stream](t)(d.NewStream())
	host := must[*cuda.Host[byte]](t)(cuda.AllocHost[byte](d, 6))
	defer m.Free()
	defer managed.Free()
	defer far.Free()
	defer host.Free()
	closed := must[*cuda.Stream](t)(d.NewStream())
	ok(t, closed.Close())
	for text, err := range map[string]error{
		"the memory of the word is nil": cuda.WriteValue(nil, 0, uint32(0), st),
		"the memory is nil":             cuda.WriteValue((*cuda.Memory)(nil), 0, uint32(0), st),
		"pinned host memory is nil":     cuda.WriteValue((*cuda.Host[byte])(nil), 0, uint32(0), st),
		"zero Host":                     cuda.WriteValue(&cuda.Host[byte]{}, 0, uint32(0), st),
		"the word of 4 bytes at 3 is not inside the memory of 6":               cuda.WriteValue(host, 3, uint32(0), st),
		"the word of 4 bytes at 16 is not inside the memory of 16":             cuda.WriteValue(m, 16, uint32(0), st),
		"the word of 8 bytes at 12 is not inside":                              cuda.WriteValue(m, 12, uint64(0), st),
		"the word of 4 bytes at -4":                                            cuda.WaitValue(m, -4, uint32(0), cuda.WaitEqual, st),
		"the address must be a multiple of 4":                                  cuda.WaitValue(m, 2, uint32(0), cuda.WaitEqual, st),
		"the address must be a multiple of 8":                                  cuda.WaitValue(m, 4, uint64(0), cuda.WaitEqual, st),
		"the condition is 0x4":                                                 cuda.WaitValue(m, 0, uint32(0), 4, st),
		"the memory is managed":                                                cuda.WaitValue(managed, 0, uint32(0), cuda.WaitEqual, st),
		"the memory is on cuda:1":                                              cuda.WaitValue(far, 0, uint32(0), cuda.WaitEqual, st),
		"is closed":                                                            cuda.WaitValue(m, 0, uint32(0), cuda.WaitEqual, closed),
		"a zero Stream stands for nothing, in the call of WaitValue: make one": cuda.WaitValue(m, 0, uint32(0), cuda.WaitEqual, new(cuda.Stream)),
		"streams of cuda:1 do not support words of 8 bytes":                    cuda.WaitValue(far, 0, uint64(0), cuda.WaitEqual, nil),
		"streams of cuda:1 do not support the condition WaitNor":               cuda.WaitValue(far, 0, uint32(0), cuda.WaitNor, nil),
		"streams of cuda:1 do not support WaitFlush: leave it out if no ot":    cuda.WaitValue(far, 0, uint32(0), cuda.WaitEqual|cuda.WaitFlush, nil),
	} {
		wantError(t, err, tvmffi.ErrValue, text)
	}
	for _, name := range []string{"cuStreamWaitValue32_v2", "cuStreamWriteValue64_v2"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
	}
	wantDriverError(t, cuda.WaitValue(m, 0, uint32(0), cuda.WaitEqual, st), cuda.ErrUnknown, "cuStreamWaitValue32")
	err := cuda.WriteValue(m, 8, uint64(0), st)
	wantDriverError(t, err, cuda.ErrUnknown, "cuStreamWriteValue64")
	wantError(t, err, nil, fmt.Sprintf("the word of 8 bytes at %#x on cuda:0", m.Pointer().Address+8))
	f.failing("cuDeviceGetAttribute", int(cuda.ErrUnknown), 0)
	wantDriverError(t, cuda.WriteValue(m, 8, uint64(0), st), cuda.ErrUnknown, "cuDeviceGetAttribute")
	ok(t, st.Close())
}

// TestWaitCaptured replays a graph that waits for a word and writes another.
func TestWaitCaptured(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	st := must[*cuda.Stream](t)(d.NewStream())
	defer st.Close()
	h := must[*cuda.Host[uint32]](t)(cuda.AllocHost[uint32](d, 2))
	defer h.Free()
	clear(h.Slice())
	g := must[*cuda.Graph](t)(st.Capture(func() error {
		if err := cuda.WaitValue(h, 0, uint32(1), cuda.WaitGreaterOrEqual, st); err != nil {
			return err
		}
		return cuda.WriteValue(h, 4, uint32(5), st)
	}))
	defer g.Close()
	for range 2 {
		ok(t, g.Launch(st))
		atomic.StoreUint32(&h.Slice()[0], 1)
		ok(t, st.Synchronize())
		if v := h.Slice()[1]; v != 5 {
			t.Errorf("the word is %d, want 5", v)
		}
		clear(h.Slice())
	}
}

// TestWaitBesideCapture uses the default stream while a stream that it waits for is captured: the driver would end the capture.
func TestWaitBesideCapture(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	st := must[*cuda.Stream](t)(d.NewStream())
	defer st.Close()
	m := must[*cuda.Memory](t)(d.Alloc(16))
	defer m.Free()
	g := must[*cuda.Graph](t)(st.Capture(func() error {
		wantError(t, cuda.WriteValue(m, 0, uint32(1), must[*cuda.Stream](t)(d.DefaultStream())), tvmffi.ErrValue, "the default stream of cuda:0 cannot be used while a stream that it waits for is captured")
		return cuda.WriteValue(m, 4, uint32(1), st)
	}))
	ok(t, g.Launch(st))
	ok(t, st.Synchronize())
	ok(t, g.Close())
}

func init() { children["words of a peer"] = peerWords }

// peerWords lets streams of two devices meet at a word of one of them.
func peerWords() error {
	if err := cuda.Device(0).EnablePeerAccess(1); err != nil {
		return err
	}
	far, err := cuda.Device(1).Alloc(4)
	if err != nil {
		return err
	}
	here, err := cuda.Device(0).NewStream()
	if err != nil {
		return err
	}
	there, err := cuda.Device(1).NewStream()
	if err != nil {
		return err
	}
	return errors.Join(cuda.Fill(far, uint32(0), nil), cuda.Device(1).Synchronize(), cuda.WaitValue(far, 0, uint32(2), cuda.WaitEqual, there), cuda.WriteValue(far, 0, uint32(2), here),
		there.Synchronize(), here.Synchronize(), here.Close(), there.Close(), far.Free())
}

func TestWaitPeer(t *testing.T) {
	load(t)
	for _, seed := range []int{0, 1, 2, 3, 4, 5} {
		child(t, "words of a peer", "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"), "FAKECUDA_ABORT=1", fmt.Sprintf("FAKECUDA_SEED=%d", seed))
	}
}

func TestWaitAllocatesNothing(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	st := must[*cuda.Stream](t)(d.NewStream())
	defer st.Close()
	m := must[*cuda.Memory](t)(d.Alloc(16))
	defer m.Free()
	n := testing.AllocsPerRun(100, func() {
		if err := cuda.WriteValue(m, 4, uint32(1), st); err != nil {
			t.Error(err)
		}
		if err := cuda.WaitValue(m, 4, uint32(1), cuda.WaitEqual, st); err != nil {
			t.Error(err)
		}
	})
	if n > 0 && !raceEnabled {
		t.Errorf("%v allocations, want 0", n)
	}
	ok(t, st.Synchronize())
}
