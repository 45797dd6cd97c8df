package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// LaunchConfig says how a kernel runs.
type LaunchConfig struct {
	Grid  Dim3 // in blocks
	Block Dim3 // in threads
	// Shared is the dynamic shared memory of a block in bytes. The kernel is
	// allowed more than the usual 48 KiB where the device has it.
	Shared int
	// Stream is the stream to run on, nil for the environment stream.
	Stream *Stream
	// Cluster is the size of the clusters in blocks, the zero value for none.
	Cluster Dim3
	// Cooperative makes all blocks run at the same time, so that they can synchronise with each
	// other. There may be as many as the device can run at once: [Kernel.MaxActiveBlocks] for
	// each multiprocessor. Otherwise the error is [ErrCooperativeTooLarge].
	Cooperative bool
	// Programmatic lets the kernel start before the previous one on the stream has ended. The
	// kernel calls cudaGridDependencySynchronize to wait for that one. It needs compute
	// capability 9.0.
	Programmatic bool
	// Priority is the priority of this launch, which is clamped to [Device.PriorityRange]. 0
	// means the priority of the stream, also where clamping gives 0.
	Priority int
}

// extended reports whether the launch has attributes, which cuLaunchKernelEx takes.
func (c *LaunchConfig) extended() bool {
	return !c.Cluster.none() || c.Cooperative || c.Programmatic || c.Priority != 0
}

// launch is the memory of one launch, reused.
type launch struct {
	within     ccall.Within
	config     driver.LaunchConfig
	attributes [4]driver.LaunchAttribute
	packer
}

var launches = sync.Pool{New: func() any { return new(launch) }}

// Launch queues the kernel on a stream and returns without waiting; an error of
// the kernel itself comes out of a later call. The arguments are the parameters
// of the kernel in order, which errors count from 0:
//   - *Memory, *Host, *tvmffi.Tensor: the address of the data. The tensor may have
//     any strides: the kernel must know them.
//   - tvmffi.Pointer: the address as it is, the zero value for a null pointer.
//   - bool, sized integers, floats, complex numbers: as they are. PTX tells floats (.f32) from
//     integers (.u32, .s32): a float takes a Go float, or its bits as a uint32 or a uint64 (a uint16
//     for .f16), and an integer takes nothing with a float in it. All else is an error there.
//   - int, uint: in the size of the parameter, if they fit. A driver before CUDA 12.4 does not
//     report the size; then they are an error.
//   - structs and arrays of bools, sized integers, floats and complex numbers: with the layout of
//     Go, which is that of C. The vector types of CUDA are aligned more strictly, float2 to 8
//     bytes and float4 to 16: add fields for the padding.
//
// Where the driver can report them (CUDA 12.4), the number and the sizes are checked. Which
// parameters are pointers is known for PTX that marks them with .ptr, such as that of LLVM: a
// number is refused there. PTX of nvcc and NVRTC, cubins and fatbins do not tell: a number of 8
// bytes is then taken as an address, and one that is not an address crashes the kernel. Memory
// and tensors may be of another device whose memory this one may use
// ([Device.EnablePeerAccess], [Pool.AllowAccess]). A tensor may be read-only: no code tells which
// of its pointers it writes through, so the kernel must only read it. They must live until the kernel has run: Free of
// memory of the same device waits for that, and [Stream.Keep] keeps tensors.
func (k *Kernel) Launch(c LaunchConfig, args ...any) (err error) {
	if k == nil || k.m == nil {
		return k.usable()
	}
	if _, err := k.m.live(); err != nil {
		return err
	}
	if err := k.check(&c); err != nil {
		return err
	}
	l := launches.Get().(*launch)
	defer launches.Put(l)
	if err := l.pack(k, args); err != nil {
		return err
	}
	var h uintptr
	if c.Stream != nil {
		if h, err = c.Stream.of(k.m.s); err != nil {
			return err
		}
	}
	err = k.start(&l.within, &c, h, c.Stream == nil, l.params())
	runtime.KeepAlive(l)
	runtime.KeepAlive(args)
	return err
}

// start queues the kernel, in one crossing, with a configuration that was checked and
// the array of addresses of its parameters. The caller keeps that alive, and w, which
// is on the heap. The kernel runs on the CUstream h, or with env on the environment
// stream.
func (k *Kernel) start(w *ccall.Within, c *LaunchConfig, h uintptr, env bool, params uintptr) (err error) {
	if err := k.reserve(c.Shared); err != nil {
		return err
	}
	f, stream := driver.LaunchKernel, &w.Args[8]
	if !c.extended() {
		a := &w.Args // not a literal, which the compiler would build elsewhere and copy
		a[0], a[1], a[2], a[3] = k.handle, uintptr(c.Grid.X), uintptr(c.Grid.Y), uintptr(c.Grid.Z)
		a[4], a[5], a[6] = uintptr(c.Block.X), uintptr(c.Block.Y), uintptr(c.Block.Z)
		a[7], a[8], a[9], a[10] = uintptr(c.Shared), h, params, 0
	} else {
		l := launches.Get().(*launch)
		defer launches.Put(l)
		l.extend(c, h)
		f, stream = driver.LaunchKernelEx, &l.config.Stream
		w.Args = [...]uintptr{0: uintptr(unsafe.Pointer(&l.config)), 1: k.handle, 2: params, 10: 0}
	}
	w.Lookup = 0
	if env && findEnv() {
		w.Lookup, w.LookupArgs, w.LookupTo = envGet.Load(), [2]uintptr{abi.DLCUDA, uintptr(k.m.s.device)}, uintptr(unsafe.Pointer(stream))
	}
	if w.Want, err = k.m.s.held(); err != nil {
		return err
	}
	err, left := k.m.s.launch(w, f, h, env)
	if err != nil {
		err = about(err, "the kernel %q", k.name)
	}
	if left != nil {
		return errors.Join(err, left)
	}
	return err
}

// extend fills in what cuLaunchKernelEx takes.
func (l *launch) extend(c *LaunchConfig, stream uintptr) {
	l.config = driver.LaunchConfig{Grid: c.Grid.sizes(), Block: c.Block.sizes(), Shared: uint32(c.Shared), Stream: stream}
	add := func(id uint32, value ...uint32) {
		a := &l.attributes[l.config.Count]
		*a = driver.LaunchAttribute{ID: id}
		copy(a.Value[:], value)
		l.config.Count++
	}
	if !c.Cluster.none() {
		add(driver.LaunchCluster, c.Cluster.X, c.Cluster.Y, c.Cluster.Z)
	}
	if c.Cooperative {
		add(driver.LaunchCooperative, 1)
	}
	if c.Programmatic {
		add(driver.LaunchProgrammatic, 1)
	}
	if c.Priority != 0 {
		add(driver.LaunchPriority, uint32(int32(c.Priority)))
	}
	l.config.Attributes = uintptr(unsafe.Pointer(&l.attributes))
}

// check refuses a launch that the device cannot do.
func (k *Kernel) check(c *LaunchConfig) error {
	l := k.limits.Load()
	if l == nil {
		var err error
		if l, err = k.m.s.limits(); err != nil {
			return err
		}
		k.limits.Store(l)
	}
	// Numbers from 1 on, in one comparison each.
	if g, b := &c.Grid, &c.Block; g.X-1 < uint32(l.grid[0]) && g.Y-1 < uint32(l.grid[1]) && g.Z-1 < uint32(l.grid[2]) &&
		b.X-1 < uint32(l.block[0]) && b.Y-1 < uint32(l.block[1]) && b.Z-1 < uint32(l.block[2]) &&
		uint64(b.X)*uint64(b.Y)*uint64(b.Z) <= uint64(min(l.threads, k.info.MaxThreadsPerBlock)) &&
		uint(c.Shared) <= uint(max(0, l.sharedMax-k.info.SharedMemory)) && c.Cluster.none() && !c.Cooperative && c.Priority == 0 {
		return nil
	}
	return k.closer(c, l)
}

// closer is check for a launch that is wrong, has clusters or a priority, or is
// cooperative. It clamps the priority.
func (k *Kernel) closer(c *LaunchConfig, l *limits) error {
	for _, d := range []struct {
		what  string
		size  Dim3
		limit *[3]int
	}{{"grid", c.Grid, &l.grid}, {"block", c.Block, &l.block}} {
		for i, n := range d.size.sizes() {
			if n == 0 || int64(n) > int64(d.limit[i]) {
				note := ""
				if n == 0 {
					note = "; Dim and GridFor make 0 of what is out of range"
				}
				return valueError("launch of %q: the %s %d x %d x %d is out of range: %c must be 1 to %d on %s%s", k.name, d.what,
					d.size.X, d.size.Y, d.size.Z, 'x'+rune(i), d.limit[i], k.m.s.device, note)
			}
		}
	}
	if threads, most := int64(c.Block.X)*int64(c.Block.Y)*int64(c.Block.Z), min(l.threads, k.info.MaxThreadsPerBlock); threads > int64(most) {
		return valueError("launch of %q: a block of %d threads is too large: this kernel can have %d on %s", k.name, threads, most, k.m.s.device)
	}
	if most := l.sharedMax - k.info.SharedMemory; c.Shared < 0 || c.Shared > most {
		return valueError("launch of %q: %d bytes of dynamic shared memory are out of range: this kernel can have %d on %s", k.name, c.Shared, most, k.m.s.device)
	}
	if z := c.Cluster; !z.none() {
		if !l.cluster {
			return valueError("launch of %q: %s (compute capability %d.%d) has no clusters: leave Cluster out", k.name, k.m.s.device, l.major, l.minor)
		}
		if z.X == 0 || z.Y == 0 || z.Z == 0 || c.Grid.X%z.X != 0 || c.Grid.Y%z.Y != 0 || c.Grid.Z%z.Z != 0 {
			return valueError("launch of %q: the cluster %d x %d x %d does not divide the grid %d x %d x %d: make each size of the grid a multiple of its size", k.name, z.X, z.Y, z.Z, c.Grid.X, c.Grid.Y, c.Grid.Z)
		}
	}
	if c.Cooperative && !l.coop {
		return valueError("launch of %q: %s cannot launch cooperatively: leave Cooperative out", k.name, k.m.s.device)
	}
	if c.Priority != 0 {
		p, err := k.m.s.priorities()
		if err != nil {
			return err
		}
		c.Priority = max(int(p[1]), min(c.Priority, int(p[0])))
	}
	return nil
}
