package gputest

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// sources have the kernels. NVRTC compiles them, or bench/gpu -pack has compiled them before.
//
//go:embed *.cu
var sources embed.FS

const childName = "TVMFFI_GPUTEST_CHILD"

func TestMain(m *testing.M) {
	name := os.Getenv(childName)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := faults[name](); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(childDone)
	os.Exit(0)
}

// childDone is the last line of a process that did what it was started for and saw what it expects.
const childDone = "the process saw what it expects"

// child runs one of the functions that TestMain knows in a process of its own.
func child(t *testing.T, name string) {
	t.Helper()
	cmd := nativetest.Command(t.Context(), nativetest.Self())
	cmd.Env = append(os.Environ(), childName+"="+name)
	cmd.Stdin = strings.NewReader("") // there may be no /dev/null
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), childDone+"\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// supported ends a test, or its part, where the driver or the device lacks what it is about. bench/gpu lists that apart
// from what passed. What was made before must end by Cleanup.
func supported(t *testing.T, what string, err error) {
	t.Helper()
	var e *cuda.Error
	if errors.As(err, &e) && (e.Number == -1 || e.Number == 800 || errors.Is(err, cuda.ErrNotSupported)) { // 800: not permitted
		unsupported(t, "%s: %v", what, err)
	}
	ok(t, err)
}

// unsupported ends a test, or its part, with the words that bench/gpu looks for.
func unsupported(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Skipf("not supported by this device: "+format, args...)
}

// onFake returns the driver without a GPU, nil with that of a GPU.
func onFake() *fakecuda.Driver {
	d, _ := fakecuda.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	return d
}

// many is how many numbers keep a GPU at work for a while. The driver without a GPU finds wrong orders at any size.
func many() int {
	if onFake() != nil {
		return 1 << 12
	}
	return 1 << 20
}

// prepare finds a driver, NVRTC and libtvm_ffi, and returns the kernels on each device.
func prepare(t *testing.T) []*cuda.Module {
	t.Helper()
	ok(t, tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))))
	nativetest.CUDA(t)
	if nativetest.Images(t) == "" {
		driver, err := cuda.DriverVersion()
		ok(t, err)
		nativetest.NVRTC(t, driver)
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
	fake := onFake()
	t.Cleanup(func() {
		if fake != nil {
			if bad := fake.Violations(); bad != "" {
				t.Errorf("the work of the test did what a device does not forgive:\n%s", bad)
			}
		}
		for d, m := range modules {
			ok(t, m.Close())
			if left := cuda.Device(d).Live(); left != (cuda.Live{}) {
				t.Errorf("left on %s: %+v", cuda.Device(d), left)
			}
		}
	})
	return modules
}

// load loads the kernels of gpu.cu.
func load(d cuda.Device) (*cuda.Module, error) { return loadFile(d, "gpu") }

// loadFile loads the kernels of a file.
func loadFile(d cuda.Device, name string) (*cuda.Module, error) {
	if dir := os.Getenv("TVMFFI_TEST_IMAGES"); dir != "" {
		image, err := cuda.ImageFS(os.DirFS(dir), name+".*")
		if err != nil {
			return nil, err
		}
		return image.Module(d)
	}
	arch, err := d.Arch()
	if err != nil {
		return nil, err
	}
	// Not PTX: an older driver refuses that of a newer NVRTC.
	code, err := compiled(name, arch.String())
	if err != nil {
		return nil, err
	}
	return d.LoadModule(code)
}

// compiled compiles a file by NVRTC.
func compiled(name, arch string, options ...string) ([]byte, error) {
	source, err := sources.ReadFile(name + ".cu")
	if err != nil {
		return nil, err
	}
	code, err := nvrtc.Compile(nvrtc.Program{Name: name + ".cu", Source: string(source), Arch: arch, Options: options})
	if err != nil {
		return nil, err
	}
	return code.Image, nil
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
		stream, err := device.NewStream()
		ok(t, err)
		pool, err := device.NewPool()
		supported(t, "memory pools", err)
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
		supported(t, "pinned memory", err)
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
	stream, err := d.NewStream()
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
		if err := k.Launch(cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256), Stream: stream}, int32(n), float32(2), x, y); err != nil {
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
		stream, err := device.NewStream()
		ok(t, err)
		x, err := cuda.AllocOf(device, ramp(1000))
		ok(t, err)
		config := cuda.LaunchConfig{Grid: cuda.GridFor(1000, 128), Block: cuda.Dim(128), Stream: stream}
		launch := func() error { return k.Launch(config, x, x, int32(1000)) }
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
			"empty grid":     {func() error { return k.Launch(cuda.LaunchConfig{Block: cuda.Dim(1)}, x, x, int32(1)) }, tvmffi.ErrValue},
			"big block": {func() error {
				return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(2048)}, x, x, int32(1))
			}, tvmffi.ErrValue},
			"shared memory": {func() error {
				return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Shared: 1 << 22}, x, x, int32(1))
			}, tvmffi.ErrValue},
		} {
			if err := c.f(); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v, want %v", device, name, err, c.want)
			}
			ok(t, k.Launch(good, x, x, int32(64)))
			ok(t, device.Synchronize())
		}
		t.Run(device.String()+", number and sizes of arguments", func(t *testing.T) {
			if driver, err := cuda.DriverVersion(); err != nil || driver < 12040 {
				unsupported(t, "the parameters of kernels, which drivers of CUDA 12.4 and newer report (%d, %v)", driver, err)
			}
			if err := k.Launch(good, x, x); !errors.Is(err, tvmffi.ErrType) {
				t.Errorf("an argument is missing: %v, want %v", err, tvmffi.ErrType)
			}
			ok(t, k.Launch(good, x, x, 64)) // an int takes the size of the parameter
			ok(t, device.Synchronize())
		})
		ok(t, x.Free())
	}
}
