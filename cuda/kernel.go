package cuda

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Kernel is a __global__ function of a module. It may be launched from many
// goroutines at once.
type Kernel struct {
	m      *Module
	name   string
	handle uintptr
	info   KernelInfo
	params []int       // sizes in bytes, nil where the driver cannot report them
	wants  []int       // params, and pointer for those that the code calls pointers
	kinds  []paramKind // what the code calls them, nil if it does not say
	known  bool

	limits  atomic.Pointer[limits] // of the device, nil before the first launch
	mu      sync.Mutex
	dynamic atomic.Int64 // what the kernel may have of dynamic shared memory now
}

// KernelInfo is what the compiler made of a kernel.
type KernelInfo struct {
	MaxThreadsPerBlock int
	SharedMemory       int // static, bytes per block
	LocalMemory        int // bytes per thread
	ConstantMemory     int // bytes
	Registers          int // per thread
	// Parameters is the number of parameters, -1 where the driver (before CUDA
	// 12.4) cannot report it.
	Parameters int
}

// Kernel returns the kernel with the given name, which is the mangled one unless
// it is extern "C".
func (m *Module) Kernel(name string) (k *Kernel, err error) {
	err = m.find(name, func(g *guard, h uintptr, symbol *byte) error {
		if err := g.callGo(driver.ModuleGetFunction, g.out(0), h, uintptr(unsafe.Pointer(symbol))); err != nil {
			return about(err, "the kernel %q (C++ names are mangled unless the kernel is extern \"C\")", name)
		}
		found := &Kernel{m: m, name: name, handle: g.result(0)}
		if err := found.readInfo(g); err != nil {
			return about(err, "the kernel %q", name)
		}
		k = found
		return nil
	})
	return k, err
}

// readInfo asks for everything that is known about the kernel.
func (k *Kernel) readInfo(g *guard) error {
	var dynamic int
	for _, a := range []struct {
		attribute uintptr
		to        *int
	}{
		{driver.FuncMaxThreads, &k.info.MaxThreadsPerBlock}, {driver.FuncShared, &k.info.SharedMemory}, {driver.FuncConst, &k.info.ConstantMemory},
		{driver.FuncLocal, &k.info.LocalMemory}, {driver.FuncRegisters, &k.info.Registers}, {driver.FuncDynamic, &dynamic},
	} {
		if err := g.call(driver.FuncGetAttribute, g.out(0), a.attribute, k.handle); err != nil {
			return err
		}
		*a.to = int(int32(g.result(0)))
	}
	k.dynamic.Store(int64(dynamic))
	k.info.Parameters = -1
	if driver.Has(driver.FuncGetParamInfo) {
		k.readParams(g)
	}
	return nil
}

// readParams asks for the sizes of the parameters; the driver says that there are
// no more by an error.
func (k *Kernel) readParams(g *guard) {
	const most = 4096
	for i := range most {
		rc := driver.Call(driver.FuncGetParamInfo, k.handle, uintptr(i), g.out(0), g.out(1))
		if Code(rc) == ErrInvalidValue {
			k.known, k.info.Parameters = true, i
			k.wants = slices.Clone(k.params)
			if kinds := k.m.kinds[k.name]; len(kinds) == i {
				k.kinds = kinds
				for i, kind := range kinds {
					if kind == paramPointer && k.wants[i] == 8 {
						k.wants[i] = pointer
					}
				}
			}
			return
		}
		if rc != 0 {
			break
		}
		k.params = append(k.params, int(g.result(1)))
	}
	k.params = nil
}

// usable returns an error if there is no kernel, or its module was closed.
func (k *Kernel) usable() error {
	switch {
	case k == nil:
		return aKernel.none()
	case k.m == nil:
		return aKernel.zero()
	}
	_, err := k.m.live()
	return err
}

// Name returns the name that the kernel was found by.
func (k *Kernel) Name() string { return k.name }

// Device returns the device of the kernel.
func (k *Kernel) Device() Device { return k.m.s.device }

// Info returns what the compiler made of the kernel.
func (k *Kernel) Info() KernelInfo { return k.info }

// MaxDynamicSharedMemory returns the most dynamic shared memory that a block of
// the kernel can have on its device, in bytes.
func (k *Kernel) MaxDynamicSharedMemory() (int, error) {
	if err := k.usable(); err != nil {
		return 0, err
	}
	l, err := k.m.s.limits()
	if err != nil {
		return 0, err
	}
	return l.sharedMax - k.info.SharedMemory, nil
}

// reserve lets the kernel have as much dynamic shared memory as a launch wants,
// within the limits that were checked.
func (k *Kernel) reserve(bytes int) error {
	if int64(bytes) <= k.dynamic.Load() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if int64(bytes) <= k.dynamic.Load() {
		return nil
	}
	if err := k.m.s.do(driver.FuncSetAttribute, k.handle, driver.FuncDynamic, uintptr(bytes)); err != nil {
		return about(err, "%d bytes of shared memory of the kernel %q", bytes, k.name)
	}
	k.dynamic.Store(int64(bytes))
	return nil
}

// AllowNonPortableCluster lets the kernel be launched with clusters of more than 8
// blocks, which not every device with clusters can do.
func (k *Kernel) AllowNonPortableCluster() error {
	if err := k.usable(); err != nil {
		return err
	}
	return about(k.m.s.do(driver.FuncSetAttribute, k.handle, driver.FuncNonPortableCluster, 1), "the kernel %q", k.name)
}

// pointer stands for the 8 bytes of an address, where it is known that they are one.
const pointer = 1 << 30
