package cuda_test

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestFreeAsyncLost frees memory of a device that is lost: the memory ends with the device, so it does not count any more.
func TestFreeAsyncLost(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	st := newStream(t, d)
	m := must[*cuda.Memory](t)(d.AllocAsync(8, st))
	address := m.Pointer().Address
	f.failing("cuMemFreeAsync", int(cuda.ErrIllegalAddress), 0)
	wantError(t, m.FreeAsync(st), cuda.ErrIllegalAddress, "memory of 8 bytes on cuda:0")
	if n := d.Live().Allocations; n != 0 {
		t.Errorf("%d allocations are live, want none", n)
	}
	if p := m.Pointer(); p.Address != 0 {
		t.Errorf("the address is %#x", p.Address)
	}
	ok(t, cuda.WithDevice(d, func() error { // which is not lost in truth
		if rc := driver.Call(driver.MemFree, address); rc != 0 {
			t.Errorf("cuMemFree: %d", rc)
		}
		return nil
	}))
}

// TestImageCloseFails closes an image where a module cannot be unloaded: the next use loads another one, and a later
// Close unloads both.
func TestImageCloseFails(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	retain(t, f)
	st := closes[*cuda.Stream](t)(d.NewStream(cuda.Blocking()))
	im := cuda.NewImage([]byte(ptx))
	k := must[*cuda.Kernel](t)(im.Kernel(d, "nothing"))
	graph, err := st.Capture(func() error {
		wantError(t, im.Close(), tvmffi.ErrValue, "Close of a module inside Capture")
		return nil
	})
	ok(t, errors.Join(err, graph.Close()))
	if again := must[*cuda.Kernel](t)(im.Kernel(d, "nothing")); again == k || d.Live().Modules != 2 {
		t.Errorf("the image is loaded %d times, want 2", d.Live().Modules)
	}
	f.failing("cuCtxSynchronize", int(cuda.ErrUnknown), 0)
	wantError(t, im.Close(), cuda.ErrUnknown)
	ok(t, im.Close())
	if n := d.Live().Modules; n != 0 {
		t.Errorf("%d modules are left", n)
	}
}

// TestKeepInCapture keeps a value for a stream beside the one that is captured. The driver refuses to ask for the event
// in a capture, which would fail.
func TestKeepInCapture(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	st := closes[*cuda.Stream](t)(d.NewStream())
	other := closes[*cuda.Stream](t)(d.NewStream())
	graph, err := st.Capture(func() error { return other.Keep(new(int)) })
	ok(t, errors.Join(err, graph.Close(), other.Synchronize()))
}

// TestCopyAbandons lets the wait of a copy fail: the device may still write to the slice, which stays in memory.
func TestCopyAbandons(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	m := frees[*cuda.Memory](t)(cuda.AllocOf(d, make([]byte, 1<<16)))
	ended := make(chan bool, 1)
	func() {
		s := make([]byte, 1<<16)
		runtime.AddCleanup(&s[0], func(int) { ended <- true }, 0)
		f.failing("cuStreamSynchronize", int(cuda.ErrUnknown), 0)
		wantError(t, cuda.CopyOut(s, m), cuda.ErrUnknown)
	}()
	if collected(ended) {
		t.Error("the slice was collected")
	}
}

// collected reports whether the cleanup of a value runs.
func collected(ended chan bool) bool {
	for range 5 {
		runtime.GC()
		select {
		case <-ended:
			return true
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

// TestPinnedSliceEnds pins a slice of Go: it is kept until Free and not longer.
func TestPinnedSliceEnds(t *testing.T) {
	load(t)
	ended := make(chan bool, 1)
	pin := func() *cuda.Host[byte] {
		s := make([]byte, 1<<16)
		runtime.AddCleanup(&s[0], func(int) { ended <- true }, 0)
		return must[*cuda.Host[byte]](t)(cuda.PinHost(0, s))
	}
	h := pin()
	if collected(ended) {
		t.Error("the slice was collected before Free")
	}
	ok(t, h.Free())
	if !collected(ended) {
		t.Error("the slice is there after Free")
	}
}

func init() { children["forgotten pin"] = forgottenPin }

// forgottenPin pins a slice and forgets the Host. The runtime ends a program that loses a pinner without Unpin.
func forgottenPin() error {
	if _, err := cuda.PinHost(0, make([]byte, 1<<16)); err != nil {
		return err
	}
	for range 5 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func TestForgottenPin(t *testing.T) {
	load(t)
	child(t, "forgotten pin", "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"))
}

// TestFailedCallEnds lets the driver refuse a function for a stream: the package forgets it.
func TestFailedCallEnds(t *testing.T) {
	f := load(t)
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	ended := make(chan bool, 1)
	func() {
		held := new([64]byte)
		runtime.AddCleanup(held, func(int) { ended <- true }, 0)
		f.failing("cuLaunchHostFunc", int(cuda.ErrUnknown), 0)
		_, err := st.Call(func() error { held[0]++; return nil })
		wantError(t, err, cuda.ErrUnknown)
	}()
	if !collected(ended) {
		t.Error("what the function uses is kept")
	}
}

// TestWithDeviceAfterOthers lets a library inside WithDevice leave another context current, where WithDevice itself had
// nothing to change: the former one is current again.
func TestWithDeviceAfterOthers(t *testing.T) {
	load(t)
	ok(t, cuda.WithDevice(0, func() error {
		ok(t, cuda.WithDevice(0, func() error {
			if rc := driver.Call(driver.CtxSetCurrent, 0); rc != 0 {
				t.Errorf("cuCtxSetCurrent: %d", rc)
			}
			return nil
		}))
		if d, set, err := cuda.CurrentDevice(); err != nil || !set || d != 0 {
			t.Errorf("%s is current: %v %v", d, set, err)
		}
		return nil
	}))
}
