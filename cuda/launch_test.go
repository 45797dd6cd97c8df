package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestModules(t *testing.T) {
	f := load(t)
	m := must[*cuda.Module](t)(cuda.Device(1).LoadModule([]byte(ptx), cuda.MaxRegisters(32), cuda.OptimizationLevel(2), cuda.LineInfo(), cuda.DebugInfo(), cuda.MaxRegisters(64)))
	f.expectCall("cuModuleLoadDataEx 0=64 7=2 13=1 11=1")
	table := must[*cuda.Memory](t)(m.Global("table"))
	if table.Size() != 64 || table.Device() != 1 {
		t.Errorf("the variable has %d bytes on %s, want 64 on cuda:1", table.Size(), table.Device())
	}
	ok(t, cuda.CopyIn(table, []float32{1, 2}))
	got := make([]float32, 2)
	ok(t, cuda.CopyOut(got, table))
	if got[1] != 2 {
		t.Errorf("the variable holds %v, want 2 as its second element", got)
	}
	_, err := m.Global("no_such")
	wantDriverError(t, err, cuda.ErrNotFound, "cuModuleGetGlobal")
	_, err = m.Kernel("no_such")
	wantDriverError(t, err, cuda.ErrNotFound, "cuModuleGetFunction")
	for _, bad := range []string{"", "a\x00b"} {
		_, err = m.Kernel(bad)
		wantError(t, err, tvmffi.ErrValue, "cannot be the name of a symbol")
	}
	k := kernel(t, m, "small")
	want := cuda.KernelInfo{MaxThreadsPerBlock: 64, SharedMemory: 1024, ConstantMemory: 128, Registers: 16, Parameters: 1}
	if k.Info() != want || k.Name() != "small" || k.Device() != 1 {
		t.Errorf("%s on %s: %+v, want %+v", k.Name(), k.Device(), k.Info(), want)
	}
	if n := must[int](t)(k.MaxDynamicSharedMemory()); n != 65536-1024 {
		t.Errorf("MaxDynamicSharedMemory is %d, want %d", n, 65536-1024)
	}
	if n := must[int](t)(k.MaxActiveBlocks(64, 100)); n != 32 {
		t.Errorf("MaxActiveBlocks is %d, want 32", n)
	}
	f.expectCall("cuOccupancyMaxActiveBlocksPerMultiprocessor 64 100")
	threads, blocks, err := k.SuggestBlock(100, 32)
	if err != nil || threads != 32 || blocks != 132*64 {
		t.Errorf("SuggestBlock gives %d threads, %d blocks, %v, want 32 and %d", threads, blocks, err, 132*64)
	}
	ok(t, k.AllowNonPortableCluster())
	f.expectCall("cuFuncSetAttribute 14 1")
	_, err = k.MaxActiveBlocks(0, 0)
	wantError(t, err, tvmffi.ErrValue, "out of range")
	_, _, err = k.SuggestBlock(-1, 0)
	wantError(t, err, tvmffi.ErrValue, "out of range")

	ok(t, m.Close())
	ok(t, m.Close())
	_, err = m.Kernel("small")
	wantError(t, err, tvmffi.ErrValue, "the module on cuda:1 is closed")
	wantError(t, k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, uint8(1)), tvmffi.ErrValue, "is closed")
	wantError(t, cuda.CopyOut(got, table), tvmffi.ErrValue, "is closed")
}

func TestLaunchArguments(t *testing.T) {
	f := load(t)
	m := module(t, 1)
	mem := frees[*cuda.Memory](t)(cuda.Device(1).Alloc(64))
	type pair struct {
		A uint8
		B float64
	}
	k := kernel(t, m, "many")
	c := cuda.LaunchConfig{Grid: cuda.Dim(3, 4, 5), Block: cuda.Dim(8, 4, 2), Shared: 99}
	ok(t, k.Launch(c, true, int16(-2), uint32(3), int64(-4), float32(1), 2.0, mem, pair{7, 1}))
	f.expectCall(fmt.Sprintf("cuLaunchKernel grid=3,4,5 block=8,4,2 shared=99 stream=0 args=01,feff,03000000,fcffffffffffffff,0000803f,0000000000000040,%s,0700000000000000000000000000f03f extra=0",
		little(mem.Pointer().Address)))
	type id uint32
	ok(t, k.Launch(c, 255, -1, id(5), 6, float32(1), 2.0, tvmffi.Pointer{}, [2]uint64{1, 2}))
	f.expectCall("cuLaunchKernel grid=3,4,5 block=8,4,2 shared=99 stream=0 args=ff,ffff,05000000,0600000000000000,0000803f,0000000000000040,0000000000000000,01000000000000000200000000000000 extra=0")

	good := []any{true, int16(-2), uint32(3), int64(-4), float32(1), 2.0, mem, pair{7, 1}}
	gone := must[*cuda.Memory](t)(cuda.Device(1).Alloc(64))
	ok(t, gone.Free())
	f.calls()
	for _, bad := range []struct {
		at   int
		arg  any
		kind error
		says string
	}{
		{0, 256, tvmffi.ErrValue, "256 does not fit in the 1 bytes"},
		{1, -40000, tvmffi.ErrValue, "-40000 does not fit"},
		{2, 1 << 32, tvmffi.ErrValue, "does not fit in the 4 bytes"},
		{2, int64(1), tvmffi.ErrType, "argument 2: the parameter has 4 bytes and int64 has 8"},
		{4, 1.0, tvmffi.ErrType, "argument 4: the parameter has 4 bytes and float64 has 8"},
		{6, gone, tvmffi.ErrValue, "was freed"},
		{6, "text", tvmffi.ErrType, "a string cannot be the parameter"},
		{6, &pair{}, tvmffi.ErrType, "a *cuda_test.pair cannot be the parameter of a kernel: pass device memory, or the value that it points to"},
		{7, 1, tvmffi.ErrType, "the parameter has 16 bytes and cannot be an integer"},
		{7, struct{ S string }{"a"}, tvmffi.ErrType, "a struct { S string } cannot be the parameter of a kernel: its field S is of type string"},
		{7, struct{ P struct{ Q [2]*int } }{}, tvmffi.ErrType, "a struct { Q [2]*int } cannot be the parameter of a kernel: its field Q is of type [2]*int"},
	} {
		args := slices.Clone(good)
		args[bad.at] = bad.arg
		wantError(t, k.Launch(c, args...), bad.kind, `launch of "many"`, fmt.Sprintf("argument %d: ", bad.at), bad.says)
	}
	wantError(t, k.Launch(c, good[1:]...), tvmffi.ErrType, "8 parameters, found 7 arguments: pass one for each")
	wantError(t, k.Launch(c, append(good, 1)...), tvmffi.ErrType, "8 parameters, found 9 arguments: pass one for each")
	f.expect() // nothing of this reached the driver

	nothing := kernel(t, m, "nothing")
	ok(t, nothing.Launch(c))
	f.expectCall("cuLaunchKernel grid=3,4,5 block=8,4,2 shared=99 stream=0 args= extra=0")
}

// little writes an address as its bytes in memory.
func little(p uintptr) string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "%02x", byte(p>>(8*i)))
	}
	return b.String()
}

func TestLaunchConfig(t *testing.T) {
	f := load(t)
	m0, m1 := module(t, 0), module(t, 1)
	k0, k1, small := kernel(t, m0, "nothing"), kernel(t, m1, "nothing"), kernel(t, m0, "small")
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	base := cuda.LaunchConfig{Grid: cuda.Dim(4, 2), Block: cuda.Dim(32), Stream: st}
	ex := func(change func(*cuda.LaunchConfig)) cuda.LaunchConfig {
		c := base
		change(&c)
		return c
	}
	stream := hex(st.Pointer().Address)
	ok(t, k0.Launch(ex(func(c *cuda.LaunchConfig) { c.Cluster, c.Cooperative, c.Programmatic = cuda.Dim(2, 2), true, true })))
	f.expectCall("cuLaunchKernelEx grid=4,2,1 block=32,1,1 shared=0 stream=" + stream + " attributes=4=2x2x1;2=1;6=1 args= extra=0")
	ok(t, small.Launch(ex(func(c *cuda.LaunchConfig) { c.Programmatic = true }), 200))
	f.expectCall("cuLaunchKernelEx grid=4,2,1 block=32,1,1 shared=0 stream=" + stream + " attributes=6=1 args=c8 extra=0")
	ok(t, k0.Launch(base))
	f.expectCall("cuLaunchKernel grid=4,2,1 block=32,1,1 shared=0 stream=" + stream + " args= extra=0")

	clusters := ex(func(c *cuda.LaunchConfig) { c.Cluster = cuda.Dim(2, 2) })
	if n := must[int](t)(k0.MaxActiveClusters(clusters)); n != 33 {
		t.Errorf("MaxActiveClusters is %d, want 33", n)
	}
	f.expectCall("cuOccupancyMaxActiveClusters grid=4,2,1 block=32,1,1 shared=0 attributes 4")
	clusters.Grid, clusters.Cluster = cuda.Dim(16), cuda.Dim(16)
	if n := must[int](t)(k0.MaxActiveClusters(clusters)); n != 0 {
		t.Errorf("MaxActiveClusters of clusters that are too large is %d, want 0", n)
	}
	_, err := k0.MaxActiveClusters(base)
	wantError(t, err, tvmffi.ErrValue, "set Cluster")
	_, err = k1.MaxActiveClusters(clusters)
	wantError(t, err, tvmffi.ErrValue, "has no clusters")
	f.failing("cuOccupancyMaxActiveClusters", 801, 0)
	_, err = k0.MaxActiveClusters(clusters)
	wantDriverError(t, err, cuda.ErrNotSupported, "cuOccupancyMaxActiveClusters")

	// More shared memory than usual is asked for once.
	big := ex(func(c *cuda.LaunchConfig) { c.Shared = 200000 })
	ok(t, k0.Launch(big))
	f.expectCall("cuFuncSetAttribute 8 200000")
	ok(t, k0.Launch(big))
	if again := only(f.calls(), "cuFuncSetAttribute"); len(again) != 0 {
		t.Errorf("asked again: %v", again)
	}
	for _, bad := range []struct {
		k    *cuda.Kernel
		c    cuda.LaunchConfig
		says string
	}{
		{k0, ex(func(c *cuda.LaunchConfig) { c.Grid = cuda.Dim3{X: 1} }), "y must be 1 to 65535"},
		{k0, ex(func(c *cuda.LaunchConfig) { c.Grid = cuda.Dim(1, 65536) }), "the grid 1 x 65536 x 1"},
		{k0, ex(func(c *cuda.LaunchConfig) { c.Grid = cuda.Dim(1, 1, -1) }), "z must be"},
		{k0, ex(func(c *cuda.LaunchConfig) { c.Block = cuda.Dim(1, 1, 65) }), "z must be 1 to 64"},
		{small, ex(func(c *cuda.LaunchConfig) { c.Block = cuda.Dim(65) }), "this kernel can have 64"},
		{small, ex(func(c *cuda.LaunchConfig) { c.Shared = 232448 - 1024 + 1 }), "this kernel can have 231424"},
		{k0, ex(func(c *cuda.LaunchConfig) { c.Shared = -1 }), "-1 bytes"},
		{k0, ex(func(c *cuda.LaunchConfig) { c.Cluster = cuda.Dim(3) }), "does not divide"},
		{k0, ex(func(c *cuda.LaunchConfig) { c.Cluster = cuda.Dim3{X: 1} }), "does not divide"},
		{k1, ex(func(c *cuda.LaunchConfig) { c.Stream, c.Cooperative = nil, true }), "cannot launch cooperatively"},
	} {
		var args []any
		if bad.k == small {
			args = []any{1}
		}
		f.calls()
		wantError(t, bad.k.Launch(bad.c, args...), tvmffi.ErrValue, bad.says)
		for _, c := range f.calls() {
			if strings.HasPrefix(c.name, "cuLaunch") {
				t.Errorf("launched in spite of %q", bad.says)
			}
		}
	}
	f.failing("cuFuncSetAttribute", 1, 0)
	err = k1.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Shared: 60000})
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuFuncSetAttribute")
}

// TestLaunchSwitches: a launch whose device cannot be made current, or the former one
// again, says so, and what the launch itself says is not lost.
func TestLaunchSwitches(t *testing.T) {
	f := load(t)
	m := module(t, 1)
	k := kernel(t, m, "nothing")
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}
	ok(t, k.Launch(c)) // reads the limits of the device
	f.reset()
	f.failing("cuCtxGetCurrent", 3, 0)
	wantDriverError(t, k.Launch(c), cuda.ErrNotInitialized, "cuCtxGetCurrent")
	f.expect("cuCtxGetCurrent")
	f.failing("cuCtxSetCurrent", 201, 0)
	wantDriverError(t, k.Launch(c), cuda.ErrInvalidContext, "cuCtxSetCurrent")
	f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1")
	done := make(chan error)
	go func() { // its thread ends with it
		f.failing("cuLaunchKernel", 701, 0)
		f.failing("cuCtxSetCurrent", 201, 1)
		done <- k.Launch(c)
	}()
	err := <-done
	wantError(t, err, cuda.ErrLaunchOutOfResources, `the kernel "nothing"`)
	wantError(t, err, cuda.ErrInvalidContext, "current before")
	f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", "cuLaunchKernel", "cuCtxSetCurrent -1")
	if _, set, err := cuda.CurrentDevice(); err != nil || set {
		t.Errorf("a device is left current (%v)", err)
	}
}

func TestGridFor(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		n, block := random.Int64N(1<<random.IntN(35))+1, random.IntN(1024)+1
		g := cuda.GridFor(n, block)
		blocks := (n-1)/int64(block) + 1
		if blocks > math.MaxUint32 {
			if g.X != 0 {
				t.Fatalf("GridFor(%d, %d) = %v, which is too small", n, block, g)
			}
			continue
		}
		if g.Y != 1 || g.Z != 1 || int64(g.X)*int64(block) < n || (int64(g.X)-1)*int64(block) >= n {
			t.Fatalf("GridFor(%d, %d) = %v, want the least grid that covers n", n, block, g)
		}
	}
	if g := cuda.GridFor(10, 128); g != cuda.Dim(1) {
		t.Errorf("GridFor(10, 128) = %v, want one block", g)
	}
	for _, c := range [][2]int64{{0, 128}, {-1, 128}, {1, 0}, {1, -1}} {
		if g := cuda.GridFor(c[0], int(c[1])); g.X != 0 {
			t.Errorf("GridFor%v = %v, want an empty grid", c, g)
		}
	}
	if d := cuda.Dim(1, 2, 3, 4); d != (cuda.Dim3{}) {
		t.Errorf("Dim of four sizes is %v, want zeros", d)
	}
}

// TestAllocations keeps what programs repeat free of garbage.
func TestAllocations(t *testing.T) {
	f := load(t)
	m := module(t, 0)
	k := kernel(t, m, "add_one")
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	e := closes[*cuda.Event](t)(cuda.Device(0).NewEvent())
	mem := frees[*cuda.Memory](t)(cuda.AllocOf(0, make([]byte, 4096)))
	other := frees[*cuda.Memory](t)(cuda.AllocOf(0, make([]byte, 4096)))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	ex := c
	ex.Programmatic = true
	args := []any{mem, mem, 1000}
	graph := closes[*cuda.Graph](t)(st.Capture(func() error { return k.Launch(c, args...) }))
	nothing := func() error { return nil }
	slice := make([]byte, 4096)
	for name, f := range map[string]func() error{
		"Launch":     func() error { return k.Launch(c, args...) },
		"LaunchEx":   func() error { return k.Launch(ex, args...) },
		"Fill":       func() error { return cuda.Fill(mem, uint8(0), st) },
		"Copy":       func() error { return cuda.Copy(other, mem, st) },
		"CopyIn":     func() error { return cuda.CopyIn(mem, slice) },
		"CopyOut":    func() error { return cuda.CopyOut(slice, mem) },
		"CopyInAt":   func() error { return cuda.CopyInAt(mem, 0, slice, st) },
		"Record":     func() error { return e.Record(st) },
		"Graph":      func() error { return graph.Launch(st) },
		"WithDevice": func() error { return cuda.WithDevice(0, nothing) },
	} {
		var err error
		// A garbage collection may empty the pool in between.
		if n := testing.AllocsPerRun(200, func() { err = f() }); n != 0 && !raceEnabled && (name != "Fill" || !onHeap()) || err != nil {
			t.Errorf("%s makes %v allocations, %v", name, n, err)
		}
	}
	f.reset()
}

// onHeap reports whether this build puts each variable on the heap whose address is
// used as an unsafe.Pointer, as -d=checkptr=2 does. Fill takes that of its value.
func onHeap() bool {
	return testing.AllocsPerRun(10, func() {
		var b [4]uint64
		touch(unsafe.Pointer(&b))
	}) != 0
}

//go:noinline
func touch(p unsafe.Pointer) { *(*uint64)(p) = 1 }

func TestExample(t *testing.T) {
	load(t)
	name := filepath.Join(t.TempDir(), "saxpy.ptx")
	ok(t, os.WriteFile(name, []byte(ptx), 0o600))
	if got := must[[]float32](t)(saxpy(name)); !slices.Equal(got, []float32{12, 24, 36}) {
		t.Errorf("saxpy computes %v, want [12 24 36]", got)
	}
}

// markedPTX has kernels whose parameters say what they are, in the form of LLVM, and some traps for a reader.
const markedPTX = `
.version 8.0
.target sm_70
.address_size 64
// .entry mixed(.param .u64 p, .param .u64 .ptr n)
.visible .entry mixed(
	.param .u64 .ptr .global .align 16 mixed_param_0,
	.param .u64 mixed_param_1,
	.param .align 8 .b8 mixed_param_2[16],
	.param .u64 .ptr .align 1 mixed_param_3
)
.maxntid 64
{ ret; }
.visible .entry nothing { ret; }
.visible .entry remark(.param .u64 .ptr a /* ), .param .u64 b */) { ret; }
.visible .entry plain(.param .u64 a, .param .u64 b) { ret; }
`

// TestPointerParameters passes numbers where PTX says that the kernel has a pointer: each is refused before the driver sees it.
func TestPointerParameters(t *testing.T) {
	f := load(t)
	m := closes[*cuda.Module](t)(cuda.Device(0).LoadModule([]byte(markedPTX)))
	x := frees[*cuda.Memory](t)(cuda.AllocOf(0, make([]float32, 4)))
	mapped := frees[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 4, cuda.HostMapped()))
	address := x.Pointer().Address
	k, remark, plain := kernel(t, m, "mixed"), kernel(t, m, "remark"), kernel(t, m, "plain")
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}
	two := [2]int64{1, 2}
	for _, arg := range []any{x, x.Pointer(), mapped, tvmffi.Pointer{}} {
		ok(t, k.Launch(c, arg, int64(7), two, arg))
		ok(t, plain.Launch(c, arg, arg))
	}
	f.calls()
	wrong := map[string]any{"int64": int64(address), "uint64": uint64(address), "int": int(address), "uint": uint(address), "uintptr": address, "float64": float64(1),
		"[8]uint8": [8]byte{}, "complex64": complex64(1), "unsafe.Pointer": unsafe.Pointer(nil)}
	for name, arg := range wrong {
		says := "the parameter is a pointer and " + name + " is not: pass device memory, or the address as a tvmffi.Pointer"
		if name == "unsafe.Pointer" {
			says = "a unsafe.Pointer cannot be the parameter of a kernel"
		}
		wantError(t, k.Launch(c, arg, int64(7), two, x), tvmffi.ErrType, `launch of "mixed": argument 0: `+says)
		wantError(t, k.Launch(c, x, int64(7), two, arg), tvmffi.ErrType, `launch of "mixed": argument 3: `+says)
	}
	wantError(t, k.Launch(c, uint(1<<63), 7, two, x), tvmffi.ErrType, "the parameter is a pointer and uint is not")
	wantError(t, k.Launch(c, x, 7, x, x), tvmffi.ErrType, "argument 2: the parameter has 16 bytes and *cuda.Memory has 8")
	wantError(t, k.Launch(c, x, int32(7), two, x), tvmffi.ErrType, "argument 1: the parameter has 8 bytes and int32 has 4")
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) != 0 {
		t.Errorf("the driver has launched: %q", calls)
	}
	// What the text does not tell is taken as it is.
	ok(t, remark.Launch(c, uint64(address)))
	ok(t, plain.Launch(c, int64(1), 2))
	if n := testing.AllocsPerRun(100, func() { ok(t, k.Launch(c, x, int64(7), two, x)) }); n > 3 && !raceEnabled { // of the array
		t.Errorf("%v allocations", n)
	}
	ok(t, cuda.Device(0).Synchronize())
}

// TestFloatParameters passes an int where PTX says that the kernel has a float: 3 would be the float of these bits, 4e-45.
func TestFloatParameters(t *testing.T) {
	f := load(t)
	k := kernel(t, module(t, 0), "many")
	launch := func(e, f any) error {
		return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, true, 2, 3, 4, e, f, uint64(5), [16]byte{})
	}
	ok(t, launch(float32(3), float64(3)))
	type single float32
	type count uint32
	ok(t, launch(math.Float32bits(3), math.Float64bits(3))) // whose bits are meant
	ok(t, launch(single(3), float64(3)))
	x := frees[*cuda.Memory](t)(cuda.AllocOf(0, make([]float32, 4)))
	f.calls()
	for _, arg := range []any{int32(3), count(3), [4]byte{}, [2]uint16{}, struct{ X float32 }{3}} {
		wantError(t, launch(arg, float64(3)), tvmffi.ErrType, fmt.Sprintf(`launch of "many": argument 4: the parameter is a float and %T is not, so its bits would be another number: pass a float32`, arg))
	}
	for _, arg := range []any{int64(3), uintptr(3), complex64(3), [2]float32{3}, [8]byte{}, time.Second, x, x.Pointer()} {
		wantError(t, launch(float32(3), arg), tvmffi.ErrType, fmt.Sprintf(`launch of "many": argument 5: the parameter is a float and %T is not, so its bits would be another number: pass a float64`, arg))
	}
	for _, arg := range []any{float32(3), single(3), [1]float32{3}, struct{ X single }{3}} {
		err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, true, 2, arg, 4, float32(3), 3.0, uint64(5), [16]byte{})
		wantError(t, err, tvmffi.ErrType, fmt.Sprintf(`launch of "many": argument 2: the parameter is an integer and %T is not, so its bits would be another number: pass an int32 or a uint32`, arg))
	}
	ok(t, k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, uint8(1), int16(2), count(3), time.Second, float32(3), 3.0, x, [4]float32{}))
	f.calls()
	wantError(t, launch(3, float64(3)), tvmffi.ErrType, `launch of "many": argument 4: the parameter is a float and int is not, so its bits would be another number: pass a float32`)
	wantError(t, launch(float32(3), uint(3)), tvmffi.ErrType, `launch of "many": argument 5: the parameter is a float and uint is not, so its bits would be another number: pass a float64`)
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) != 0 {
		t.Errorf("the driver has launched: %q", calls)
	}
	for _, size := range []int{-1, 1 << 33, 1<<32 + 1} {
		err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(size), Block: cuda.Dim(1)}, true, 2, 3, 4, float32(1), 1.0, uint64(5), [16]byte{})
		wantError(t, err, tvmffi.ErrValue, "the grid 0 x 1 x 1 is out of range: x must be 1 to 2147483647 on cuda:0; Dim and GridFor make 0 of what is out of range")
	}
	ok(t, cuda.Device(0).Synchronize())
}

// TestLaunchAttributes compares what the driver gets; what a GPU makes of it, no test here can see.
func TestLaunchAttributes(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	k := kernel(t, module(t, d), "nothing")
	st := closes[*cuda.Stream](t)(d.NewStream(cuda.Blocking()))
	_, _, err := d.PriorityRange()
	ok(t, err)
	for _, c := range []struct {
		set  func(c *cuda.LaunchConfig)
		want string
	}{
		{func(c *cuda.LaunchConfig) { c.Priority = -2 }, fmt.Sprintf("8=%d", uint32(math.MaxUint32-1))},
		{func(c *cuda.LaunchConfig) { c.Priority = -99 }, fmt.Sprintf("8=%d", uint32(math.MaxUint32-4))},
		{func(c *cuda.LaunchConfig) { c.Priority = 5 }, ""}, // 0 after clamping, that of the stream
		{func(c *cuda.LaunchConfig) {
			c.Cluster, c.Cooperative, c.Programmatic, c.Priority = cuda.Dim(2), true, true, -1
		}, fmt.Sprintf("4=2x1x1;2=1;6=1;8=%d", uint32(math.MaxUint32))},
	} {
		f.reset()
		config := cuda.LaunchConfig{Grid: cuda.Dim(2), Block: cuda.Dim(32), Stream: st}
		c.set(&config)
		ok(t, k.Launch(config))
		calls := f.calls()
		i := len(calls) - 2 // the device goes back after it
		if i < 0 {
			t.Fatalf("calls %q", calls)
		}
		if len(only(slices.Clone(calls), "cuCtxGetStreamPriorityRange")) > 0 { // it was read above
			t.Errorf("the range is read for each launch: %q", calls)
		}
		name, attributes := "cuLaunchKernelEx", " attributes="+c.want+" "
		if c.want == "" {
			name, attributes = "cuLaunchKernel", ""
		}
		if calls[i].name != name || !strings.Contains(calls[i].args, attributes) {
			t.Errorf("got %v, want %s with %q", calls[i], name, attributes)
		}
	}
	ok(t, d.Synchronize())
}
