package cuda

import (
	"math"
	"os"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// IPCMemory describes device memory for another process on this machine. It is a value
// without pointers: send it by any means, such as a pipe with encoding/gob or encoding/json.
type IPCMemory struct {
	Handle [64]byte
	Offset int64 // bytes from the start of the allocation
	Size   int64 // bytes
}

// IPCEvent describes an event for another process on this machine.
type IPCEvent [64]byte

// callHandle calls a function whose arguments are a result, which is g.result(0), a structure
// of 64 bytes by value, and a number. C passes such a structure on the stack, behind the
// six words that go in registers (x86-64 but Windows), and behind a pointer elsewhere.
func (g *guard) callHandle(f driver.Func, handle *[64]byte, number uintptr) error {
	w := new([8]uintptr) // aligned for words; callGo keeps it on the heap and alive
	*(*[64]byte)(unsafe.Pointer(w)) = *handle
	if runtime.GOARCH == "amd64" && runtime.GOOS != "windows" {
		return g.callGo(f, g.out(0), number, 0, 0, 0, 0, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
	}
	return g.callGo(f, g.out(0), uintptr(unsafe.Pointer(w)), number)
}

// ShareIPC returns what another process needs to open the memory with [Device.OpenIPC]. It
// is for memory of [Device.Alloc], and parts of it; memory of pools goes by
// [Pool.ShareMemory]. The memory must not be freed before the other process has freed what
// it opened.
func (m *Memory) ShareIPC() (out IPCMemory, err error) {
	address, err := m.at(nil)
	if err != nil {
		return out, err
	}
	if m.size == 0 {
		return out, valueError("memory of 0 bytes on %s cannot be shared", m.s.device)
	}
	if m.managed {
		return out, valueError("managed memory on %s cannot be shared with another process: copy it to memory of Alloc", m.s.device)
	}
	g, err := m.s.enter()
	if err != nil {
		return out, err
	}
	defer g.leave(&err)
	if err := g.call(driver.MemGetAddressRange, g.out(0), g.out(1), address); err != nil {
		return out, about(err, "memory of %d bytes on %s", m.size, m.s.device)
	}
	base := g.result(0)
	handle := new([64]byte)
	if err := g.callGo(driver.IpcGetMemHandle, uintptr(unsafe.Pointer(handle)), base); err != nil {
		return out, about(err, "memory of %d bytes on %s: it must be of Device.Alloc; Pool.ShareMemory shares memory of a pool, Physical.File physical memory", m.size, m.s.device)
	}
	return IPCMemory{Handle: *handle, Offset: int64(address - base), Size: m.size}, nil
}

// OpenIPC opens memory of another process on the device that it is on. Free closes it, after the
// work of the device that is queued; the memory stays with its owner. The process that shared the
// memory cannot open it: the driver returns an error.
func (d Device) OpenIPC(shared IPCMemory) (m *Memory, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if shared.Size <= 0 || shared.Offset < 0 || shared.Offset > math.MaxInt64-shared.Size {
		return nil, valueError("shared memory of %d bytes at offset %d: there is no such range", shared.Size, shared.Offset)
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	const lazyPeerAccess = 1 // the only value
	if err := g.callHandle(driver.IpcOpenMemHandle, &shared.Handle, lazyPeerAccess); err != nil {
		return nil, about(err, "memory of another process on %s: this process must not have shared it, and its owner must not have freed it", d)
	}
	base := g.result(0)
	err = g.call(driver.MemGetAddressRange, g.out(1), g.out(2), base)
	if size := int64(g.result(2)); err == nil && shared.Offset+shared.Size > size {
		err = valueError("shared memory of %d bytes at offset %d: the allocation of the other process has %d bytes", shared.Size, shared.Offset, size)
	}
	if err != nil {
		g.call(driver.IpcCloseMemHandle, base)
		return nil, about(err, "memory of another process on %s", d)
	}
	return s.own(base+uintptr(shared.Offset), shared.Size, func(g *guard, _ uintptr) error {
		return g.call(driver.IpcCloseMemHandle, base) // Free waits for the work that uses it
	}), nil
}

// ShareIPC returns what another process needs to open the event with
// [Device.OpenIPCEvent]. The event is made with [Interprocess]; the other process must
// not use its event after e is closed.
func (e *Event) ShareIPC() (out IPCEvent, err error) {
	h, err := e.live()
	if err != nil {
		return out, err
	}
	if !e.shared {
		return out, valueError("the %s is of this process alone: make it with cuda.Interprocess()", e.what)
	}
	g, err := e.s.enter()
	if err != nil {
		return out, err
	}
	defer g.leave(&err)
	handle := new([64]byte)
	if err := g.callGo(driver.IpcGetEventHandle, uintptr(unsafe.Pointer(handle)), h); err != nil {
		return out, about(err, "the %s", e.what)
	}
	return *handle, nil
}

// OpenIPCEvent opens an event of another process. It can be recorded, waited for and asked
// in both processes, and is without timing. The caller closes it.
func (d Device) OpenIPCEvent(shared IPCEvent) (e *Event, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.callHandle(driver.IpcOpenEventHandle, (*[64]byte)(&shared), 0); err != nil {
		return nil, about(err, "an event of another process on %s: this process must not have shared it, and its owner must not have closed it", d)
	}
	e = &Event{shared: true}
	e.open(s, "event of another process on "+d.String(), g.result(0), events, driver.EventDestroy)
	return e, nil
}

// fileHandle is CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
const fileHandle = 1

// PoolForFile makes a pool that [Pool.File] can share. Linux alone has it.
func PoolForFile() PoolOption { return func(p *poolProperties) { p.handles |= fileHandle } }

// IPCPoolMemory describes memory of a shared pool for the process that opened the pool.
type IPCPoolMemory struct {
	Data [64]byte
	Size int64 // bytes
}

// File returns the pool as a file for another process: pass it on by ExtraFiles of an exec.Cmd,
// or over a Unix socket. The pool is made with [PoolForFile]. The caller closes the file, which
// does not end the pool.
func (p *Pool) File() (f *os.File, err error) {
	h, err := p.get()
	if err != nil {
		return nil, err
	}
	if err := noFiles("the " + p.what); err != nil {
		return nil, err
	}
	g, err := p.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	return newFile(p.what, func() (uintptr, error) {
		err := g.call(driver.MemPoolExportToShareableHandle, g.out(0), h, fileHandle, 0)
		return uintptr(uint32(g.result(0))), about(err, "the %s: it must be made with cuda.PoolForFile()", p.what)
	})
}

// OpenPool opens a pool of another process from its file, on the device that the pool is on.
// OpenPool does not close the file. The pool does not allocate: [Pool.OpenMemory] opens memory of
// it. The caller closes the pool.
func (d Device) OpenPool(f *os.File) (p *Pool, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, valueError("the file of the pool is nil: Pool.File of the other process makes one")
	}
	if err := noFiles("a memory pool of another process"); err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	err = withDescriptor(f, func(fd uintptr) error {
		return g.call(driver.MemPoolImportFromShareableHandle, g.out(0), fd, fileHandle, 0)
	})
	if err != nil {
		return nil, about(err, "a memory pool of another process on %s", d)
	}
	p = &Pool{imported: true, access: new(access)}
	p.open(s, "memory pool of another process on "+d.String(), g.result(0), pools, driver.MemPoolDestroy)
	return p, nil
}

// withDescriptor calls f with the descriptor of a file that is open during the call. It
// leaves the mode of the file as it is, which Fd does not on older versions of Go.
func withDescriptor(f *os.File, call func(fd uintptr) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return valueError("the file %s: %v", f.Name(), err)
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = call(fd) }); err != nil {
		return valueError("the file %s: %v", f.Name(), err)
	}
	return failed
}

// ShareMemory returns what the process that opened the pool needs to open memory of
// it. The memory must be allocated when the other process uses it: wait for the stream of
// [Pool.Alloc], or share an event.
func (p *Pool) ShareMemory(m *Memory) (out IPCPoolMemory, err error) {
	if _, err := p.get(); err != nil {
		return out, err
	}
	address, err := m.at(p.s)
	if err != nil {
		return out, err
	}
	if m.size == 0 || m.parent != nil {
		return out, valueError("memory of %d bytes of the %s: share an allocation as a whole", m.size, p.what)
	}
	g, err := p.s.enter()
	if err != nil {
		return out, err
	}
	defer g.leave(&err)
	data := new([64]byte)
	if err := g.callGo(driver.MemPoolExportPointer, uintptr(unsafe.Pointer(data)), address); err != nil {
		return out, about(err, "memory of %d bytes of the %s", m.size, p.what)
	}
	return IPCPoolMemory{Data: *data, Size: m.size}, nil
}

// OpenMemory opens memory of another process, of a pool that [Device.OpenPool] has
// opened. It must be freed here, with Free or FreeAsync, before the other process frees it.
func (p *Pool) OpenMemory(shared IPCPoolMemory) (m *Memory, err error) {
	h, err := p.get()
	if err != nil {
		return nil, err
	}
	if !p.imported {
		return nil, valueError("the %s is of this process: OpenPool opens one of another process", p.what)
	}
	if shared.Size <= 0 {
		return nil, valueError("shared memory of %d bytes: there is no such range", shared.Size)
	}
	g, err := p.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	data := &shared.Data
	if err := g.callGo(driver.MemPoolImportPointer, g.out(0), h, uintptr(unsafe.Pointer(data))); err != nil {
		return nil, about(err, "memory of %d bytes of the %s", shared.Size, p.what)
	}
	m = p.s.own(g.result(0), shared.Size, (*guard).free)
	m.pool, m.inOrder = p.access, true
	return m, nil
}
