package cuda_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestBadInput makes the mistakes of programs: the error has a type, names the
// item and the mistake, and says what to do; the device that was current is current again,
// and nothing is left. That there is no driver, or an old one, is in TestNoDriver and
// TestOldDriver; rank, shape, dtype, strides and alignment are for package check.
func TestBadInput(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	retain(t, f)
	m := module(t, 1)
	k, small := kernel(t, m, "add_one"), kernel(t, m, "small")
	mem := frees[*cuda.Memory](t)(cuda.AllocOf(1, make([]byte, 64)))
	there := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
	elsewhere := must[*tvmffi.Tensor](t)(there.Tensor(tvmffi.Float32, 16))
	defer elsewhere.Release()
	host := must[*tvmffi.Tensor](t)(tvmffi.FromSlice(make([]float32, 16)))
	defer host.Release()
	released := must[*tvmffi.Tensor](t)(tvmffi.FromSlice(make([]float32, 16)))
	released.Release()
	pinned := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 1))
	ok(t, pinned.Free())
	st0 := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	st1 := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	other := must[*cuda.Stream](t)(cuda.StreamFromPointer(1, st0.Pointer()))
	var noTensor *tvmffi.Tensor
	var noMemory *cuda.Memory
	var noHost *cuda.Host[float32]
	good := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	with := func(change func(*cuda.LaunchConfig)) cuda.LaunchConfig { c := good; change(&c); return c }
	launch := func(c cuda.LaunchConfig, args ...any) func() error {
		return func() error { return k.Launch(c, args...) }
	}
	first := func(arg any) func() error { return launch(good, arg, mem, 16) }
	load := func(image []byte) func() error {
		return func() error { _, err := cuda.Device(1).LoadModule(image); return err }
	}
	failing := func(name string, code cuda.Code, run func() error) func() error {
		return func() error { f.failing(name, int(code), 0); return run() }
	}
	value, typ := tvmffi.ErrValue, tvmffi.ErrType
	for _, c := range []struct {
		name   string
		run    func() error
		target error
		says   []string
	}{
		{"wrong architecture", func() error {
			im, err := cuda.ImageFS(fstest.MapFS{"k.sm_90.cubin": {Data: []byte("x")}}, "*")
			if err != nil {
				return err
			}
			_, err = im.Kernel(1, "k")
			return err
		}, cuda.ErrNoBinaryForGPU, []string{"no code for sm_75, there is k.sm_90.cubin", "cuda:1", "build the image for the compute capability"}},
		{"wrong architecture, says the driver", failing("cuModuleLoadDataEx", cuda.ErrNoBinaryForGPU, load([]byte(ptx))), cuda.ErrNoBinaryForGPU, []string{"a module of", "cuda:1", "or ship PTX"}},
		{"PTX too new, of a file", func() error {
			im, err := cuda.ImageFS(fstest.MapFS{"k.ptx": {Data: []byte("// text\n.version 9.5\n.target sm_75, debug\n")}}, "*")
			if err != nil {
				return err
			}
			_, err = im.Kernel(1, "k")
			return err
		}, cuda.ErrUnsupportedPTX, []string{"for k.ptx, a module of 42 bytes (PTX 9.5 for sm_75) on cuda:1, whose driver is of CUDA 13.0; the PTX is newer than the driver"}},
		{"PTX too new", failing("cuModuleLoadDataEx", cuda.ErrUnsupportedPTX, load([]byte(ptx))), cuda.ErrUnsupportedPTX, []string{"update the driver"}},
		{"no image", load(nil), cuda.ErrInvalidImage, []string{"the image is empty", "pass the bytes of a cubin"}},
		{"broken image", load([]byte("\x7fELF")), cuda.ErrInvalidImage, []string{"an ELF file and not a cubin"}},
		{"broken PTX", load([]byte(".version 8.0\n syntax_error")), cuda.ErrInvalidPTX, []string{"a module of 26 bytes (PTX 8.0) on cuda:1\n", "Parsing error near"}},
		{"missing kernel", func() error { _, err := m.Kernel("saxpi"); return err }, cuda.ErrNotFound, []string{`the kernel "saxpi"`, `unless the kernel is extern "C"`}},
		{"missing variable", func() error { _, err := m.Global("tabel"); return err }, cuda.ErrNotFound, []string{`the variable "tabel"`, "look at the names in the image"}},
		{"grid of zero", launch(with(func(c *cuda.LaunchConfig) { c.Grid = cuda.GridFor(0, 32) }), mem, mem, 16), value, []string{`launch of "add_one"`, "the grid 0 x 1 x 1", "x must be 1 to 2147483647"}},
		{"grid too large", launch(with(func(c *cuda.LaunchConfig) { c.Grid.Z = 65536 }), mem, mem, 16), value, []string{"the grid 1 x 1 x 65536", "z must be 1 to 65535 on cuda:1"}},
		{"block of zero", launch(with(func(c *cuda.LaunchConfig) { c.Block = cuda.Dim3{} }), mem, mem, 16), value, []string{"the block 0 x 0 x 0"}},
		{"block too large", launch(with(func(c *cuda.LaunchConfig) { c.Block = cuda.Dim(513) }), mem, mem, 16), value, []string{"a block of 513 threads is too large", "can have 512 on cuda:1"}},
		{"shared memory", launch(with(func(c *cuda.LaunchConfig) { c.Shared = 65537 }), mem, mem, 16), value, []string{"65537 bytes of dynamic shared memory", "can have 65536 on cuda:1"}},
		{"shared memory beside that of the kernel", func() error { return small.Launch(with(func(c *cuda.LaunchConfig) { c.Shared = 65000 }), 1) }, value, []string{`launch of "small"`, "can have 64512"}},
		{"resources", failing("cuLaunchKernel", cuda.ErrLaunchOutOfResources, launch(good, mem, mem, 16)), cuda.ErrLaunchOutOfResources, []string{`the kernel "add_one"`, "launch fewer threads"}},
		{"cooperative, too many blocks", failing("cuLaunchKernel", cuda.ErrCooperativeTooLarge, launch(good, mem, mem, 16)), cuda.ErrCooperativeTooLarge, []string{"Kernel.MaxActiveBlocks"}},
		{"no clusters", launch(with(func(c *cuda.LaunchConfig) { c.Cluster = cuda.Dim(1) }), mem, mem, 16), value, []string{"cuda:1 (compute capability 7.5) has no clusters"}},
		{"tensor on the host", first(host), value, []string{`launch of "add_one": argument 0: the tensor is on cpu:0, not on cuda:1`, "copy it there first"}},
		{"tensor on another device", first(elsewhere), value, []string{"argument 0: the tensor is on cuda:0, the kernel on cuda:1", "copy it there first"}},
		{"tensor released", first(released), value, []string{"argument 0: the tensor was released", "after its last use"}},
		{"tensor nil", first(noTensor), value, []string{"argument 0: the tensor is nil", "tvmffi.Pointer{}"}},
		{"memory on another device", first(there), value, []string{"argument 0: the memory is on cuda:0", "copy it there first"}},
		{"memory nil", first(noMemory), value, []string{"argument 0: the memory is nil"}},
		{"pinned memory nil", first(noHost), value, []string{"argument 0: the pinned host memory is nil: make one with AllocHost"}},
		{"pinned memory freed", first(pinned), value, []string{"argument 0: the pinned host memory of 1 elements was freed: it must not be used any more"}},
		{"nil", first(nil), typ, []string{"argument 0: it is nil", "pass tvmffi.Pointer{} for a null pointer"}},
		{"slice of the host", first(make([]float32, 16)), typ, []string{"argument 0: a []float32 cannot be the parameter", "pass device memory"}},
		{"number for a tensor", first(float32(1)), typ, []string{"argument 0: the parameter has 8 bytes and float32 has 4"}},
		{"arguments missing", launch(good, mem), typ, []string{"the kernel has 3 parameters, found 1 arguments: pass one for each"}},
		{"stream of another device", launch(with(func(c *cuda.LaunchConfig) { c.Stream = st0 }), mem, mem, 16), value, []string{"the stream is of cuda:0, the operation on cuda:1", "use a stream of that device"}},
		{"stream of another context", launch(with(func(c *cuda.LaunchConfig) { c.Stream = other }), mem, mem, 16), cuda.ErrInvalidHandle, []string{`the kernel "add_one"; a stream or an event cannot be used there: it is of another device or context`}},
		{"copy on a stream of another device", func() error {
			return cuda.Copy(must[*cuda.Memory](t)(mem.Part(0, 8)), must[*cuda.Memory](t)(mem.Part(8, 8)), st0)
		}, value, []string{"the stream is of cuda:0"}},
		{"out of memory", func() error { _, err := cuda.Device(1).Alloc(1 << 40); return err }, cuda.ErrOutOfMemory, []string{"1099511627776 bytes on cuda:1", "free memory of the device or ask for less"}},
		{"out of memory on a stream", func() error { _, err := cuda.Device(1).AllocAsync(1<<40, st1); return err }, cuda.ErrOutOfMemory, []string{"bytes on cuda:1", "ask for less"}},
		{"out of pinned memory", failing("cuMemHostAlloc", cuda.ErrOutOfMemory, func() error { _, err := cuda.AllocHost[int64](1, 8); return err }), cuda.ErrOutOfMemory, []string{"64 bytes of pinned host memory"}},
		{"no such device", func() error { _, err := cuda.Device(2).Alloc(1); return err }, value, []string{"there is no device cuda:2: the program sees 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pinThread(t, f)
			before, live := f.left(), cuda.Device(1).Live()
			err := c.run()
			wantError(t, err, c.target, c.says...)
			var ours *tvmffi.Error
			var driver *cuda.Error
			if !errors.As(err, &ours) && !errors.As(err, &driver) {
				t.Errorf("%T has no type", err)
			}
			f.reset()
			if left := f.left(); left != before || cuda.Device(1).Live() != live {
				t.Errorf("left: %v and %+v, before %v and %+v", left, cuda.Device(1).Live(), before, live)
			}
			if d, set, err := cuda.CurrentDevice(); err != nil || set {
				t.Errorf("%s is left current (%v)", d, err)
			}
			ok(t, k.Launch(good, mem, mem, 16)) // and the kernel works
		})
	}
}

// TestZeroValues uses what no function of the package made.
func TestZeroValues(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	retain(t, f)
	m := module(t, 1)
	k := kernel(t, m, "add_one")
	mem := frees[*cuda.Memory](t)(cuda.AllocOf(1, make([]byte, 64)))
	host := frees[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 16))
	stream := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	var noKernel *cuda.Kernel
	var noImage *cuda.Image
	var noModule *cuda.Module
	var noMemory cuda.Memory
	var noHost cuda.Host[float32]
	var noStream cuda.Stream
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	on := c
	on.Stream = &noStream
	pinThread(t, f)
	before := f.left()
	nothing := func() error { t.Error("called"); return nil }
	for name, of := range map[string]struct {
		run  func() error
		says string
	}{
		"memory":         {func() error { return k.Launch(c, &noMemory, mem, 16) }, "argument 0: a zero Memory stands for nothing, in the call of Kernel.Launch: make one with Device.Alloc or AllocOf"},
		"tensor of it":   {func() error { _, err := noMemory.Tensor(tvmffi.Float32, 1); return err }, "a zero Memory stands for nothing, in the call of Memory.Tensor: make one with"},
		"no elements":    {func() error { _, err := noMemory.Tensor(tvmffi.Float32, 0); return err }, "a zero Memory stands for nothing, in the call of Memory.Tensor: make one with"},
		"part of it":     {func() error { _, err := noMemory.Part(0, 0); return err }, "a zero Memory stands for nothing, in the call of Memory.Part"},
		"copy to it":     {func() error { return cuda.Copy(&noMemory, mem, nil) }, "a zero Memory stands for nothing, in the call of Copy:"},
		"fill":           {func() error { return cuda.Fill(&noMemory, uint8(1), nil) }, "a zero Memory stands for nothing, in the call of Fill:"},
		"pinned":         {func() error { return k.Launch(c, &noHost, mem, 16) }, "argument 0: a zero Host stands for nothing, in the call of Kernel.Launch: make one with AllocHost"},
		"copy of it":     {func() error { return cuda.CopyInAsync(mem, &noHost, nil) }, "a zero Host stands for nothing, in the call of CopyInAsync: make one with AllocHost"},
		"stream":         {func() error { return k.Launch(on, mem, mem, 16) }, "a zero Stream stands for nothing, in the call of Kernel.Launch: make one with Device.NewStream or Device.DefaultStream"},
		"copy on it":     {func() error { return cuda.CopyOutAsync(host, mem, &noStream) }, "a zero Stream stands for nothing, in the call of CopyOutAsync:"},
		"with it":        {func() error { return cuda.WithStream(&noStream, nothing) }, "a zero Stream stands for nothing, in the call of WithStream:"},
		"its capture":    {func() error { _, err := noStream.Capture(nothing); return err }, "a zero Stream stands for nothing, in the call of Stream.Capture:"},
		"module":         {func() error { _, err := new(cuda.Module).Kernel("k"); return err }, "a zero Module stands for nothing, in the call of Module.Kernel: make one with Device.LoadModule"},
		"image":          {func() error { _, err := new(cuda.Image).Kernel(1, "k"); return err }, "a zero Image stands for nothing, in the call of Image.Kernel: make one with NewImage or ImageFS"},
		"event":          {func() error { return new(cuda.Event).Record(nil) }, "a zero Event stands for nothing, in the call of Event.Record: make one with Device.NewEvent"},
		"wait for it":    {func() error { return stream.Wait(new(cuda.Event)) }, "a zero Event stands for nothing, in the call of Stream.Wait:"},
		"pool":           {func() error { _, err := new(cuda.Pool).Alloc(8, nil); return err }, "a zero Pool stands for nothing, in the call of Pool.Alloc: make one with Device.NewPool or"},
		"graph":          {func() error { return new(cuda.Graph).Launch(nil) }, "a zero Graph stands for nothing, in the call of Graph.Launch: make one with Stream.Capture"},
		"kernel":         {func() error { return new(cuda.Kernel).Launch(c) }, "a zero Kernel stands for nothing, in the call of Kernel.Launch: make one with Module.Kernel or Image.Kernel"},
		"its memory":     {func() error { _, err := new(cuda.Kernel).MaxDynamicSharedMemory(); return err }, "a zero Kernel stands for nothing, in the call of Kernel.MaxDynamicSharedMemory:"},
		"nil image":      {func() error { _, err := noImage.Kernel(1, "k"); return errors.Join(err, noImage.Close()) }, "the image is nil: make one with NewImage or ImageFS"},
		"nil module":     {func() error { _, err := noModule.Kernel("k"); return errors.Join(err, noModule.Close()) }, "the module is nil: make one with Device.LoadModule"},
		"nil kernel":     {func() error { return noKernel.Launch(c) }, "the kernel is nil"},
		"its blocks":     {func() error { _, err := noKernel.MaxActiveBlocks(32, 0); return err }, "the kernel is nil"},
		"its clusters":   {func() error { _, err := noKernel.MaxActiveClusters(c); return err }, "the kernel is nil"},
		"its block":      {func() error { _, _, err := noKernel.SuggestBlock(0, 0); return err }, "the kernel is nil"},
		"its attributes": {noKernel.AllowNonPortableCluster, "the kernel is nil"},
	} {
		err := of.run()
		if !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), of.says) {
			t.Errorf("%s: %v", name, err)
		}
		if d, set, err := cuda.CurrentDevice(); err != nil || set {
			t.Errorf("%s leaves %s current (%v)", name, d, err)
		}
	}
	if left := f.left(); left != before {
		t.Errorf("left: %v, before %v", left, before)
	}
}

// TestIllegalAddress crashes a kernel: every call of that device fails with the same
// code from then on, all things can be closed, and the other device still works.
func TestIllegalAddress(t *testing.T) {
	f := load(t)
	retain(t, f)
	m := module(t, 1)
	k, crash := kernel(t, m, "saxpy"), kernel(t, m, "crash")
	st := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	mem := must[*cuda.Memory](t)(cuda.AllocOf(1, make([]byte, 64)))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: st}
	graph := closes[*cuda.Graph](t)(st.Capture(func() error { return k.Launch(c, 1, float32(1), mem, mem) }))
	pinThread(t, f)
	ok(t, crash.Launch(c)) // the error comes out of a later call, at the latest when the program waits
	wantError(t, st.Synchronize(), cuda.ErrIllegalAddress)
	calls := map[string]func() error{
		"Synchronize": st.Synchronize,
		"Device":      cuda.Device(1).Synchronize,
		"Launch":      func() error { return k.Launch(c, 1, float32(1), mem, mem) },
		"Graph":       func() error { return graph.Launch(st) },
		"Alloc":       func() error { _, err := cuda.Device(1).Alloc(8); return err },
		"AllocAsync":  func() error { _, err := cuda.Device(1).AllocAsync(8, st); return err },
		"CopyOut":     func() error { return cuda.CopyOut(make([]byte, 8), mem) },
		"Fill":        func() error { return cuda.Fill(mem, uint8(0), st) },
		"NewStream":   func() error { _, err := cuda.Device(1).NewStream(cuda.Blocking()); return err },
		"NewEvent":    func() error { _, err := cuda.Device(1).NewEvent(); return err },
		"LoadModule":  func() error { _, err := cuda.Device(1).LoadModule([]byte(ptx)); return err },
		"Call":        func() error { _, err := st.Call(func() error { t.Error("called"); return nil }); return err },
		"Capture":     func() error { _, err := st.Capture(func() error { return nil }); return err },
		"free":        mem.Free, // the last one
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		err := calls[name]()
		wantError(t, err, cuda.ErrIllegalAddress, "a kernel used memory that is not its own; no call on this device succeeds until the process ends")
		var e *cuda.Error
		if !errors.As(err, &e) || !e.Sticky() || e.Kind() != "RuntimeError" {
			t.Errorf("%s: %#v is not sticky", name, err)
		}
		if d, set, err := cuda.CurrentDevice(); err != nil || set {
			t.Errorf("%s leaves %s current (%v)", name, d, err)
		}
	}
	if l := cuda.Device(1).Live(); l.Allocations != 0 || l.Bytes != 0 {
		t.Errorf("left: %+v", l)
	}
	other := must[*cuda.Memory](t)(cuda.AllocOf(0, []int32{1}))
	ok(t, other.Free())
	f.reset()
}

// TestHugeElements asks for a tensor whose size no number of 63 bits holds.
func TestHugeElements(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	m := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
	wide := tvmffi.Float64
	wide.Lanes = 1024
	for _, shape := range [][]int64{{1 << 56}, {1 << 28, 1 << 28}, {1 << 50}} {
		_, err := m.Tensor(wide, shape...)
		wantError(t, err, tvmffi.ErrValue, "tensor")
	}
	wide.Lanes = 0xfffc // a vector whose length only the hardware knows
	_, err := m.Tensor(wide, 1)
	wantError(t, err, tvmffi.ErrValue)
}

// TestEmptyArguments passes arguments without bytes to a kernel of which an old driver does not report the parameters. In C
// no parameter is that small: the driver would read behind the arguments.
func TestEmptyArguments(t *testing.T) {
	f := load(t)
	m := module(t, 0)
	defer driver.Remove(driver.FuncGetParamInfo)()
	k := kernel(t, m, "small")
	f.calls()
	for _, arg := range []any{struct{}{}, [0]int32{}, struct{ _ [0]uint8 }{}} {
		err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, arg)
		wantError(t, err, tvmffi.ErrType, `launch of "small": argument 0`, "has no bytes")
	}
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) > 0 {
		t.Errorf("the driver got %q", calls)
	}
}

// TestSticky compares what is said about codes after which a device is lost.
func TestSticky(t *testing.T) {
	f := load(t)
	for code, name := range map[cuda.Code]string{
		214: "CUDA_ERROR_ECC_UNCORRECTABLE", 220: "CUDA_ERROR_NVLINK_UNCORRECTABLE", 226: "CUDA_ERROR_CONTAINED", 700: "CUDA_ERROR_ILLEGAL_ADDRESS",
		702: "CUDA_ERROR_LAUNCH_TIMEOUT", 709: "CUDA_ERROR_CONTEXT_IS_DESTROYED", 710: "CUDA_ERROR_ASSERT", 714: "CUDA_ERROR_HARDWARE_STACK_ERROR",
		715: "CUDA_ERROR_ILLEGAL_INSTRUCTION", 716: "CUDA_ERROR_MISALIGNED_ADDRESS", 717: "CUDA_ERROR_INVALID_ADDRESS_SPACE", 718: "CUDA_ERROR_INVALID_PC",
		719: "CUDA_ERROR_LAUNCH_FAILED", 721: "CUDA_ERROR_TENSOR_MEMORY_LEAK", 725: "", 726: "", 911: "CUDA_ERROR_EXTERNAL_DEVICE",
	} {
		f.failing("cuCtxSynchronize", int(code), 0)
		err := cuda.Device(0).Synchronize()
		var e *cuda.Error
		if !errors.As(err, &e) || !e.Sticky() || e.Name != name || !errors.Is(err, code) {
			t.Errorf("%d: %#v, want a sticky %q", int(code), err, name)
		}
		wantError(t, err, tvmffi.ErrRuntime, "no call on this device succeeds until the process ends")
		f.reset()
	}
	for _, code := range []cuda.Code{1, 2, 600, 701, 720, 900, 901, 999} {
		f.failing("cuCtxSynchronize", int(code), 0)
		var e *cuda.Error
		if err := cuda.Device(0).Synchronize(); !errors.As(err, &e) || e.Sticky() || strings.Contains(err.Error(), "until the process ends") {
			t.Errorf("%d: %#v is sticky", int(code), err)
		}
		f.reset()
	}
	for code := cuda.Code(900); code <= 908; code++ {
		if text := code.Error(); !strings.HasPrefix(text, "CUDA_ERROR_") {
			t.Errorf("%d is called %q", int(code), text)
		}
	}
}
