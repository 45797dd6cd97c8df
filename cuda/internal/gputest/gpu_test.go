package gputest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The fake driver does what the names of the kernels say; a GPU runs their code.
const program = `extern "C" __global__ void add_one(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + 1;
}
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void crash() { *(volatile int*)8 = 1; }`

const childName = "TVMFFI_GPUTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childName) != "" {
		if err := crash(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// prepare finds a driver, NVRTC and libtvm_ffi, and returns the kernels on each device.
func prepare(t *testing.T) []*cuda.Module {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheel of NVRTC is pinned for linux/amd64 only, and the fake driver is built for Linux")
	}
	ok(t, tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))))
	if os.Getenv("TVMFFI_NVRTC_LIBRARY") == "" {
		t.Setenv("TVMFFI_NVRTC_LIBRARY", nativetest.Pinned(t, "nvidia-cuda-nvrtc").Path("nvidia/cu13/lib/libnvrtc.so.13"))
	}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && os.Getenv("TVMFFI_CUDA_LIBRARY") == "" {
		// Not for this test alone: a process has one driver.
		ok(t, os.Setenv("TVMFFI_CUDA_LIBRARY", nativetest.FakeCUDA(t)))
	}
	n, err := cuda.DeviceCount()
	ok(t, err)
	var modules []*cuda.Module
	for d := range cuda.Device(n) {
		m, err := load(d)
		ok(t, err)
		modules = append(modules, m)
		properties, err := d.Properties()
		ok(t, err)
		t.Logf("%s: %s", d, properties.Name)
	}
	t.Cleanup(func() {
		for d, m := range modules {
			ok(t, m.Close())
			if left := cuda.Device(d).Live(); left != (cuda.Live{}) {
				t.Errorf("left on %s: %+v", cuda.Device(d), left)
			}
		}
	})
	return modules
}

func load(d cuda.Device) (*cuda.Module, error) {
	arch, err := d.Arch()
	if err != nil {
		return nil, err
	}
	// Not PTX: an older driver refuses that of a newer NVRTC.
	code, err := nvrtc.Compile(nvrtc.Program{Source: program, Arch: arch.String()})
	if err != nil {
		return nil, err
	}
	return d.LoadModule(code.Image)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func kernel(t *testing.T, m *cuda.Module, name string) *cuda.Kernel {
	t.Helper()
	k, err := m.Kernel(name)
	ok(t, err)
	return k
}

func ramp(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(i % 1000)
	}
	return s
}

// TestMemory copies through each kind of memory.
func TestMemory(t *testing.T) {
	for d := range prepare(t) {
		device, data := cuda.Device(d), ramp(1<<16)
		bytes := int64(4 * len(data))
		stream, err := device.NewStream(cuda.NonBlocking())
		ok(t, err)
		pool, err := device.NewPool()
		ok(t, err)
		for name, alloc := range map[string]func() (*cuda.Memory, error){
			"plain":   func() (*cuda.Memory, error) { return device.Alloc(bytes) },
			"managed": func() (*cuda.Memory, error) { return device.AllocManaged(bytes) },
			"async":   func() (*cuda.Memory, error) { return device.AllocAsync(bytes, stream) },
			"pool":    func() (*cuda.Memory, error) { return pool.Alloc(bytes, stream) },
		} {
			m, err := alloc()
			ok(t, err)
			ok(t, stream.Synchronize())
			ok(t, cuda.CopyIn(m, data))
			got := make([]float32, len(data))
			ok(t, cuda.CopyOut(got, m))
			if !slices.Equal(got, data) {
				t.Errorf("%s, %s memory: other data came back", device, name)
			}
			ok(t, m.Free())
		}
		host, err := cuda.AllocHost[float32](device, len(data))
		ok(t, err)
		m, err := device.Alloc(bytes)
		ok(t, err)
		copy(host.Slice(), data)
		ok(t, cuda.CopyInAsync(m, host, stream))
		ok(t, stream.Synchronize())
		clear(host.Slice())
		ok(t, cuda.CopyOutAsync(host, m, stream))
		ok(t, stream.Synchronize())
		if !slices.Equal(host.Slice(), data) {
			t.Errorf("%s, pinned memory: other data came back", device)
		}
		ok(t, cuda.Fill(m, float32(2.5), stream))
		ok(t, stream.Synchronize())
		got := make([]float32, len(data))
		ok(t, cuda.CopyOut(got, m))
		if got[0] != 2.5 || got[len(got)-1] != 2.5 {
			t.Errorf("%s: filled with %v and %v, want 2.5", device, got[0], got[len(got)-1])
		}
		ok(t, errors.Join(m.Free(), host.Free(), pool.Close(), stream.Close()))
	}
}

// TestStreams launches from many goroutines, each with a stream and vectors of its own,
// on all devices at once.
func TestStreams(t *testing.T) {
	modules := prepare(t)
	var wait sync.WaitGroup
	errs := make(chan error, 8*len(modules))
	for d, m := range modules {
		k := kernel(t, m, "saxpy")
		for range 8 {
			wait.Go(func() { errs <- launches(cuda.Device(d), k) })
		}
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

func launches(d cuda.Device, k *cuda.Kernel) (err error) {
	const n, rounds = 10_000, 50
	data := ramp(n)
	stream, err := d.NewStream(cuda.NonBlocking())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	x, err := cuda.AllocOf(d, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Free()) }()
	y, err := cuda.AllocOf(d, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.Free()) }()
	for range rounds {
		if err := k.Launch(cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256), Stream: stream}, n, float32(2), x, y); err != nil {
			return err
		}
	}
	if err := stream.Synchronize(); err != nil {
		return err
	}
	got := make([]float32, n)
	if err := cuda.CopyOut(got, y); err != nil {
		return err
	}
	for i, v := range got {
		if want := (2*rounds + 1) * data[i]; v != want {
			return fmt.Errorf("%s: element %d is %v, want %v", d, i, v, want)
		}
	}
	return nil
}

// TestEventsAndGraphs measures work between events, and replays a graph.
func TestEventsAndGraphs(t *testing.T) {
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "add_one")
		stream, err := device.NewStream(cuda.NonBlocking())
		ok(t, err)
		x, err := cuda.AllocOf(device, ramp(1000))
		ok(t, err)
		config := cuda.LaunchConfig{Grid: cuda.GridFor(1000, 128), Block: cuda.Dim(128), Stream: stream}
		launch := func() error { return k.Launch(config, x, x, 1000) }
		var events [2]*cuda.Event
		for i := range events {
			events[i], err = device.NewEvent(cuda.Timing())
			ok(t, err)
		}
		ok(t, events[0].Record(stream))
		ok(t, launch())
		ok(t, events[1].Record(stream))
		ok(t, events[1].Synchronize())
		if took, err := cuda.Elapsed(events[0], events[1]); err != nil || took <= 0 {
			t.Errorf("%s: a launch took %v, %v", device, took, err)
		}
		graph, err := stream.Capture(func() error { return errors.Join(launch(), launch()) })
		ok(t, err)
		for range 3 {
			ok(t, graph.Launch(stream))
		}
		ok(t, stream.Synchronize())
		got := make([]float32, 1000)
		ok(t, cuda.CopyOut(got, x))
		if got[0] != 7 || got[999] != 1006 {
			t.Errorf("%s: %v and %v after a launch and three graphs of two, want 7 and 1006", device, got[0], got[999])
		}
		ok(t, errors.Join(graph.Close(), events[0].Close(), events[1].Close(), x.Free(), stream.Close()))
	}
}

// TestWrong makes mistakes that the driver or the package refuses, and checks that the
// device still works after each.
func TestWrong(t *testing.T) {
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "add_one")
		x, err := cuda.AllocOf(device, ramp(64))
		ok(t, err)
		good := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(64)}
		for name, c := range map[string]struct {
			f    func() error
			want error
		}{
			"out of memory":  {func() error { _, err := device.Alloc(1 << 50); return err }, cuda.ErrOutOfMemory},
			"missing kernel": {func() error { _, err := m.Kernel("absent"); return err }, cuda.ErrNotFound},
			"broken image":   {func() error { _, err := device.LoadModule([]byte("\x7fELF")); return err }, cuda.ErrInvalidImage},
			"no device":      {func() error { _, err := cuda.Device(99).Alloc(1); return err }, tvmffi.ErrValue},
			"empty grid":     {func() error { return k.Launch(cuda.LaunchConfig{Block: cuda.Dim(1)}, x, x, 1) }, tvmffi.ErrValue},
			"big block":      {func() error { return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(2048)}, x, x, 1) }, tvmffi.ErrValue},
			"shared memory": {func() error {
				return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Shared: 1 << 22}, x, x, 1)
			}, tvmffi.ErrValue},
			"argument missing": {func() error { return k.Launch(good, x, x) }, tvmffi.ErrType},
		} {
			if err := c.f(); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v, want %v", device, name, err, c.want)
			}
			ok(t, k.Launch(good, x, x, 64))
			ok(t, device.Synchronize())
		}
		ok(t, x.Free())
	}
}

// TestCrash needs a process of its own: an illegal address makes the device useless.
func TestCrash(t *testing.T) {
	prepare(t)
	exe, err := os.Executable()
	ok(t, err)
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Env = append(os.Environ(), childName+"=crash")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNoLogWithoutGPU: the command that logs what a GPU did refuses where there is none.
func TestNoLogWithoutGPU(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a GPU")
	}
	if runtime.GOOS != "linux" {
		t.Skip("bench/gpu is for Linux")
	}
	root, err := nativetest.Root()
	ok(t, err)
	results := func() int {
		list, err := filepath.Glob(filepath.Join(root, "bench", "results", "*-gpu.md"))
		ok(t, err)
		return len(list)
	}
	before := results()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bench", "gpu")).CombinedOutput()
	var e *exec.ExitError
	if !errors.As(err, &e) || e.ExitCode() != 2 || !strings.Contains(string(out), "there is no NVIDIA driver here") || !strings.Contains(string(out), "--gpus all") {
		t.Errorf("%v\n%s", err, out)
	}
	if n := results(); n != before {
		t.Errorf("%d logs were written", n-before)
	}
}

func crash() error {
	m, err := load(0)
	if err != nil {
		return err
	}
	k, err := m.Kernel("crash")
	if err != nil {
		return err
	}
	if err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}); err != nil {
		return err
	}
	for _, f := range []func() error{
		cuda.Device(0).Synchronize,
		func() error { _, err := cuda.Device(0).Alloc(1); return err },
	} {
		if err := f(); !errors.Is(err, cuda.ErrIllegalAddress) {
			return fmt.Errorf("after the crash: %v, want %v", err, cuda.ErrIllegalAddress)
		}
	}
	return nil
}
