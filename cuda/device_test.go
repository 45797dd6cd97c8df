package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func init() {
	children["unavailable"] = func() error {
		err := cuda.Available()
		if !errors.Is(err, cuda.ErrUnavailable) || !errors.Is(err, tvmffi.ErrRuntime) {
			return fmt.Errorf("the error %v is of another kind", err)
		}
		var e *cuda.Error
		if !errors.As(err, &e) {
			return fmt.Errorf("%T is not a *cuda.Error", err)
		}
		for name, f := range map[string]func() error{
			"Alloc":      func() error { _, err := cuda.Device(0).Alloc(1); return err },
			"Properties": func() error { _, err := cuda.Device(0).Properties(); return err },
			"WithDevice": func() error { return cuda.WithDevice(0, func() error { return errors.New("it ran") }) },
			"LoadModule": func() error { _, err := cuda.Device(0).LoadModule([]byte(ptx)); return err },
			"NewStream":  func() error { _, err := cuda.Device(0).NewStream(cuda.Blocking()); return err },
		} {
			if got := f(); got != err {
				return fmt.Errorf("%s returns %v, want %v", name, got, err)
			}
		}
		if l := cuda.Device(0).Live(); l != (cuda.Live{}) {
			return fmt.Errorf("live without a driver: %+v", l)
		}
		fmt.Println(e.Number, e.Name, err)
		return nil
	}
	children["first use"] = func() error {
		var wg sync.WaitGroup
		failed := make(chan error, 8)
		for range 8 {
			wg.Go(func() {
				m, err := cuda.Device(1).Alloc(64)
				if err == nil {
					err = m.Free()
				}
				if err != nil {
					failed <- err
				}
			})
		}
		wg.Wait()
		select {
		case err := <-failed:
			return err
		default:
		}
		d, err := fakecuda.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
		if err != nil {
			return err
		}
		calls := (&fake{Driver: d}).calls()
		for _, name := range []string{"cuInit", "cuDeviceGetCount", "cuDevicePrimaryCtxRetain"} {
			if n := len(only(slices.Clone(calls), name)); n != 1 {
				return fmt.Errorf("%s was called %d times", name, n)
			}
		}
		d.Fail("cuDeviceGetAttribute", int(cuda.ErrInvalidValue), 0)
		if a, err := cuda.Device(0).Arch(); err == nil {
			return fmt.Errorf("the architecture is %s without attributes", a)
		}
		return nil
	}
	children["old driver"] = func() error {
		v := need(cuda.DriverVersion())
		m := need(cuda.Device(0).LoadModule([]byte(ptx)))
		k := need(m.Kernel("saxpy"))
		if n := k.Info().Parameters; n != -1 {
			return fmt.Errorf("%d parameters without cuFuncGetParamInfo", n)
		}
		c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
		needs(k.Launch(c, uint32(0), float32(1), tvmffi.Pointer{}, tvmffi.Pointer{}))
		untold := k.Launch(c, 0, float32(1), tvmffi.Pointer{}, tvmffi.Pointer{})
		c.Cooperative = true
		missing := k.Launch(c, uint32(0), float32(1), tvmffi.Pointer{}, tvmffi.Pointer{})
		var e *cuda.Error
		if !errors.As(missing, &e) || e.Number != -1 {
			return fmt.Errorf("no typed error: %v", missing)
		}
		fmt.Println(v, untold, missing)
		return nil
	}
}

func TestNoDriver(t *testing.T) {
	fakePath := buildFake(t)
	for name, c := range map[string]struct {
		env  []string
		says []string
	}{
		"no such file": {[]string{"TVMFFI_CUDA_LIBRARY=/nowhere/libcuda.so.1"}, []string{"0 ", "CUDA is not available", "/nowhere/libcuda.so.1", "unset TVMFFI_CUDA_LIBRARY"}},
		"no folder":    {[]string{"TVMFFI_CUDA_LIBRARY=libnowhere.so.1"}, []string{"0 ", "unset TVMFFI_CUDA_LIBRARY: a name without a folder", "write ./ before"}},
		"no driver":    {[]string{"TVMFFI_CUDA_LIBRARY=libm.so.6"}, []string{"libm.so.6 is not a CUDA driver", "cuInit"}},
		"no device":    {[]string{"TVMFFI_CUDA_LIBRARY=" + fakePath, "FAKECUDA_INIT=100"}, []string{"100 CUDA_ERROR_NO_DEVICE", "cuInit", "no GPU"}},
		"zero devices": {[]string{"TVMFFI_CUDA_LIBRARY=" + fakePath, "FAKECUDA_DEVICES=0"}, []string{"100 CUDA_ERROR_NO_DEVICE", "cuDeviceGetCount"}},
		"mismatch":     {[]string{"TVMFFI_CUDA_LIBRARY=" + fakePath, "FAKECUDA_INIT=803"}, []string{"803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "restart the machine"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := child(t, "unavailable", c.env...)
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("%q does not say %q", out, s)
				}
			}
		})
	}
}

func TestOldDriver(t *testing.T) {
	out := child(t, "old driver", oldDriver(t)...)
	for _, s := range []string{"11020", "pass an int32 or an int64", "CUDA 11.2", "came with CUDA 11.6", "cuLaunchKernelEx", "update the NVIDIA driver"} {
		if !strings.Contains(out, s) {
			t.Errorf("%q does not say %q", out, s)
		}
	}
}

func TestFirstUse(t *testing.T) {
	if out := child(t, "first use", "TVMFFI_CUDA_LIBRARY="+buildFake(t)); out != "" {
		t.Errorf("the first use prints %q, want nothing", out)
	}
}

func TestDriver(t *testing.T) {
	load(t)
	if n := must[int](t)(cuda.DeviceCount()); n != 2 {
		t.Errorf("DeviceCount is %d, want 2", n)
	}
	if v := must[int](t)(cuda.DriverVersion()); v != 13000 {
		t.Errorf("DriverVersion is %d, want 13000", v)
	}
	if p := must[string](t)(cuda.DriverPath()); !strings.HasSuffix(p, "libfakecuda.so") {
		t.Errorf("DriverPath is %q, want .../libfakecuda.so", p)
	}
}

func TestProperties(t *testing.T) {
	f := load(t)
	p := must[cuda.Properties](t)(cuda.Device(1).Properties())
	want := cuda.Properties{
		Name: "Fake 1", UUID: "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", PCIBusID: "0000:02:00.0", TotalMemory: 1 << 30, Major: 7, Minor: 5,
		Multiprocessors: 40, WarpSize: 32, MaxThreadsPerBlock: 512, MaxThreadsPerSM: 1024, MaxBlock: cuda.Dim3{X: 1024, Y: 1024, Z: 64},
		MaxGrid: cuda.Dim3{X: 2147483647, Y: 65535, Z: 65535}, SharedMemoryPerBlock: 49152, SharedMemoryPerBlockOptIn: 65536,
		SharedMemoryPerSM: 65536, RegistersPerBlock: 65536, L2Cache: 4194304, ClockRate: 1590000, MemoryPools: true,
	}
	if p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	if p := must[cuda.Properties](t)(cuda.Device(0).Properties()); !p.Clusters || !p.CooperativeLaunch || p.Major != 9 {
		t.Errorf("properties of cuda:0 are %+v, want clusters, cooperative launches and major 9", p)
	}
	if n := must[int](t)(cuda.Device(0).Attribute(cuda.Attribute(1))); n != 1024 {
		t.Errorf("MaxThreadsPerBlock is %d, want 1024", n)
	}
	f.failing("cuDeviceGetName", 1, 0)
	_, err := cuda.Device(0).Properties()
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuDeviceGetName")
	_, err = cuda.Device(0).Attribute(9999)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuDeviceGetAttribute")
	for _, d := range []cuda.Device{-1, 2, 99} {
		_, err := d.Properties()
		wantError(t, err, tvmffi.ErrValue, d.String(), "the program sees 2")
	}
	free, total, err := cuda.Device(0).MemoryInfo()
	if err != nil || free != total || total != 1<<30 {
		t.Errorf("%d of %d bytes are free (%v), want all of 1<<30", free, total, err)
	}
	if yes := must[bool](t)(cuda.Device(0).CanAccessPeer(1)); !yes {
		t.Error("no peer access")
	}
	ok(t, cuda.Device(0).EnablePeerAccess(1))
	ok(t, cuda.Device(0).EnablePeerAccess(1))
	if d := cuda.Device(1).TVMFFI(); d != tvmffi.CUDA(1) || d.String() != cuda.Device(1).String() {
		t.Errorf("TVMFFI of cuda:1 is %s", d)
	}
}

// pinThread keeps a test on one OS thread on which no device is current.
func pinThread(t *testing.T, f *fake) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if _, set, err := cuda.CurrentDevice(); err != nil || set {
		t.Fatalf("a device is current on a thread of the pool: %v", err)
	}
	f.reset()
}

// retain makes sure that the contexts exist, so that logs do not depend on the
// tests before.
func retain(t *testing.T, f *fake) {
	t.Helper()
	ok(t, cuda.Device(0).Synchronize())
	ok(t, cuda.Device(1).Synchronize())
	f.reset()
}

func TestWithDevice(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	current := func(want cuda.Device) {
		t.Helper()
		if d, set, err := cuda.CurrentDevice(); err != nil || !set || d != want {
			t.Errorf("current is %s, %v, %v, want %s", d, set, err, want)
		}
	}
	ok(t, cuda.WithDevice(1, func() error {
		current(1)
		ok(t, cuda.WithDevice(0, func() error { current(0); return nil }))
		current(1)
		ok(t, cuda.WithDevice(1, func() error { current(1); return nil }))
		return nil
	}))
	f.expect(
		"cuCtxGetCurrent", "cuCtxSetCurrent 1", "cuCtxGetCurrent", // in, test
		"cuCtxGetCurrent", "cuCtxSetCurrent 0", "cuCtxGetCurrent", "cuCtxGetCurrent", "cuCtxSetCurrent 1", // other device and back
		"cuCtxGetCurrent",                                       // test
		"cuCtxGetCurrent", "cuCtxGetCurrent", "cuCtxGetCurrent", // the same device: no switch
		"cuCtxGetCurrent", "cuCtxSetCurrent -1", // out
	)
	sentinel := errors.New("of f")
	if err := cuda.WithDevice(1, func() error { return sentinel }); err != sentinel {
		t.Error(err)
	}
	func() {
		defer func() {
			if p := recover(); p != "of f" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = cuda.WithDevice(0, func() error { panic("of f") })
	}()
	if _, set, _ := cuda.CurrentDevice(); set {
		t.Error("a device is left current")
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = cuda.WithDevice(0, func() error { runtime.Goexit(); return nil })
	}()
	<-done
	calls := f.calls()
	if last := calls[len(calls)-1]; last.String() != "cuCtxSetCurrent -1" {
		t.Errorf("after Goexit the last call is %s", last)
	}
}

func TestDeviceRestored(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	ok(t, cuda.WithDevice(1, func() error {
		f.reset()
		m := must[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
		f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 0", "cuMemAlloc_v2 64", "cuCtxSetCurrent 1")
		at := m.Pointer()
		f.failing("cuMemFree_v2", 700, 0)
		wantDriverError(t, m.Free(), cuda.ErrIllegalAddress, "cuMemFree")
		f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 0", "cuCtxSynchronize", "cuMemFree_v2", "cuCtxSetCurrent 1")
		// The failure came instead of the call: the memory is still there.
		p := must[*cuda.Memory](t)(cuda.FromPointer(0, at, 64, nil))
		ok(t, p.Free())
		free(t, f, at.Address)
		f.failing("cuCtxSetCurrent", 201, 0)
		_, err := cuda.Device(0).Alloc(64)
		wantDriverError(t, err, cuda.ErrInvalidContext, "cuCtxSetCurrent")
		f.failing("cuCtxGetCurrent", 3, 0)
		_, err = cuda.Device(0).Alloc(64)
		wantDriverError(t, err, cuda.ErrNotInitialized, "cuCtxGetCurrent")
		f.calls()
		return nil
	}))
	f.failing("cuCtxSetCurrent", 201, 1)
	err := cuda.WithDevice(0, func() error { return tvmffi.NewError("KeyError", "of f") })
	wantError(t, err, tvmffi.ErrKey, "of f")
	wantError(t, err, cuda.ErrInvalidContext, "current before")
	// The failure has locked the thread once more, so that it ends with this
	// goroutine: no other goroutine gets it with device 0. Until then it works.
	ok(t, cuda.WithDevice(1, func() error { return nil }))
}

func TestRelease(t *testing.T) {
	f := load(t)
	retain(t, f)
	all := f.contexts() // a test in which the driver refuses to release one leaves more than 2
	m := must[*cuda.Memory](t)(cuda.Device(1).Alloc(16))
	wantError(t, cuda.Device(1).Release(), tvmffi.ErrValue, "0 operations run, and these were not freed: allocations: 1 of 16 bytes: free or close them first")
	ok(t, m.Free())
	wantError(t, cuda.WithDevice(1, func() error { return cuda.Device(1).Release() }), tvmffi.ErrValue, "1 operations")
	ok(t, cuda.Device(1).Release())
	ok(t, cuda.Device(1).Release())
	if n := f.contexts(); n != all-1 {
		t.Errorf("%d contexts are retained after Release, want %d", n, all-1)
	}
	f.failing("cuDevicePrimaryCtxRetain", 2, 0)
	_, err := cuda.Device(1).Alloc(16)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuDevicePrimaryCtxRetain")
	ok(t, cuda.Device(1).Synchronize())
	if n := f.contexts(); n != all {
		t.Errorf("%d contexts are retained after the next use, want %d", n, all)
	}
}

func TestManyGoroutines(t *testing.T) {
	f := load(t)
	const goroutines, rounds = 16, 30
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			d := cuda.Device(i % 2)
			for n := range rounds {
				err := cuda.WithDevice(d, func() error {
					if got, _, err := cuda.CurrentDevice(); err != nil || got != d {
						return fmt.Errorf("current is %s, want %s (%w)", got, d, err)
					}
					m, err := cuda.AllocOf(1-d, []int32{int32(i), int32(n)})
					if err != nil {
						return err
					}
					defer m.Free()
					runtime.Gosched()
					var got [2]int32
					if err := cuda.CopyOut(got[:], m); err != nil || got != [2]int32{int32(i), int32(n)} {
						return fmt.Errorf("read %v: %w", got, err)
					}
					if got, _, err := cuda.CurrentDevice(); err != nil || got != d {
						return fmt.Errorf("current is %s afterwards, want %s (%w)", got, d, err)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	threads := map[string]string{} // what is current
	for _, c := range f.calls() {
		switch c.name {
		case "cuCtxSetCurrent":
			threads[c.thread] = c.args
		case "cuMemAlloc_v2", "cuMemFree_v2":
			if threads[c.thread] == "" || threads[c.thread] == "-1" {
				t.Fatalf("%s on %s without a device", c, c.thread)
			}
		}
	}
	for thread, device := range threads {
		if device != "-1" {
			t.Errorf("thread %s is left on device %s", thread, device)
		}
	}
}

// none makes no device current on the thread, as functions of the program may.
func none() error {
	if rc := driver.Call(driver.CtxSetCurrent, 0); rc != 0 {
		return fmt.Errorf("cuCtxSetCurrent: %d", rc)
	}
	return nil
}

// TestFunctionChangesDevice calls functions of the program that change the current device: the operation goes on with its
// own device, and the former one is current after it.
func TestFunctionChangesDevice(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	retain(t, f)
	st := newStream(t, d)
	a := must[*cuda.Memory](t)(d.Alloc(8))
	lent := func() *cuda.Memory { return must[*cuda.Memory](t)(cuda.FromPointer(d, a.Pointer(), 8, none)) }
	current := func(what string) {
		t.Helper()
		if now, found, err := cuda.CurrentDevice(); !found || now != d || err != nil {
			t.Errorf("%s: the current device is %s, %t, %v, want %s", what, now, found, err, d)
		}
	}
	ok(t, cuda.WithDevice(d, func() error {
		err := lent().Free()
		current("Free")
		f.failing("cuCtxSetCurrent", int(cuda.ErrInvalidContext), 1)
		wantDriverError(t, lent().Free(), cuda.ErrInvalidContext, "cuCtxSetCurrent")
		current("a Free that fails")
		graph, failed := st.Capture(func() error { return errors.Join(cuda.Fill(a, uint8(1), st), none()) })
		current("Capture")
		return errors.Join(err, failed, graph.Close())
	}))
	ok(t, a.Free())
}

// TestRestoreFailsLate lets the former device fail to become current after a wait is done, when what Keep has kept is
// dropped.
func TestRestoreFailsLate(t *testing.T) {
	f := load(t)
	retain(t, f)
	s := newStuck(t, 0, cuda.Blocking())
	ok(t, s.st.Keep(1))
	s.goOn()
	ok(t, cuda.WithDevice(1, func() error {
		f.failing("cuCtxSetCurrent", int(cuda.ErrInvalidValue), 3)
		wantError(t, s.st.Synchronize(), cuda.ErrInvalidValue, "the device that was current before")
		return nil
	}))
}

func init() { children["uuid"] = printUUIDs }

func printUUIDs() error {
	for d := range cuda.Device(2) {
		p, err := d.Properties()
		if err != nil {
			return err
		}
		fmt.Println(p.UUID)
	}
	return nil
}

const uuid0, uuid1 = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f\n", "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f\n"

// TestUUID has device 1 as an instance of a device that MIG splits, which has an identifier of its own for
// drivers since CUDA 11.4.
func TestUUID(t *testing.T) {
	f := load(t)
	library := "TVMFFI_CUDA_LIBRARY=" + os.Getenv("TVMFFI_CUDA_LIBRARY")
	file := filepath.Join(t.TempDir(), "log")
	log := "FAKECUDA_LOG=" + file
	for _, c := range []struct{ env, want string }{
		{"FAKECUDA_MIG=", uuid0 + uuid1},
		{"FAKECUDA_VERSION=12000", uuid0 + uuid1},
		{"FAKECUDA_MIG=1", uuid0 + "MIG-90919293-9495-9697-9899-9a9b9c9d9e9f\n"},
	} {
		env := []string{library, c.env}
		if strings.HasSuffix(c.env, "=") {
			env = env[:1]
		}
		if got := child(t, "uuid", append(env, log)...); got != c.want {
			t.Errorf("%s: %q, want %q", c.env, got, c.want)
		}
		if text, err := os.ReadFile(file); !strings.Contains(string(text), "cuGetProcAddress_v2 cuDeviceGetUuid 11040") {
			t.Errorf("%s: the driver was not asked for its functions: %v\n%s", c.env, err, text)
		}
	}
	for _, old := range [][]string{append(oldDriver(t), "FAKECUDA_MIG=1"), {library, "FAKECUDA_VERSION=11090"}} {
		if got := child(t, "uuid", append(old, log)...); got != uuid0+uuid1 {
			t.Errorf("%s: %q, want %q", old[1], got, uuid0+uuid1)
		}
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "cuGetProcAddress") {
			t.Errorf("%s: the driver was asked for its functions: %v\n%s", old[1], err, text)
		}
	}
	for _, name := range []string{"cuDeviceGetUuid", "cuDeviceGetUuid_v2"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
		_, err := cuda.Device(0).Properties()
		wantDriverError(t, err, cuda.ErrUnknown, "cuDeviceGetUuid")
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

// TestRefusedRelease asks for the release of a device again and again while others use it. It is refused, and they see nothing
// of it.
func TestRefusedRelease(t *testing.T) {
	load(t)
	x, y := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2})), must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{3, 4}))
	defer x.Free()
	defer y.Free()
	ok(t, cuda.WithDevice(0, func() error {
		stop := make(chan struct{})
		var g sync.WaitGroup
		for d := range cuda.Device(2) {
			g.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						wantError(t, d.Release(), tvmffi.ErrValue, "is in use")
					}
				}
			})
		}
		defer g.Wait()
		defer close(stop)
		for range 300 {
			if d, found, err := cuda.CurrentDevice(); d != 0 || !found || err != nil {
				t.Errorf("the current device is %s, %t, %v", d, found, err)
			}
			if err := cuda.Copy(y, x, nil); err != nil {
				return err
			}
		}
		return cuda.Device(1).Synchronize()
	}))
	ok(t, cuda.Device(0).Synchronize())
}
