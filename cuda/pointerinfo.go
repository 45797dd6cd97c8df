package cuda

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// PointerKind says which memory an address is in.
type PointerKind int

// The kinds of memory. Managed memory is OnHostMemory or OnDeviceMemory, where it is now.
const (
	UnknownMemory  PointerKind = 0 // the driver does not know it, such as a slice of Go
	OnHostMemory   PointerKind = 1 // pinned memory of the host
	OnDeviceMemory PointerKind = 2
)

// String returns "unknown", "host" or "device".
func (k PointerKind) String() string {
	switch k {
	case OnHostMemory:
		return "host"
	case OnDeviceMemory:
		return "device"
	}
	return "unknown"
}

// PointerInfo is what the driver knows of an address.
type PointerInfo struct {
	Kind     PointerKind
	Device   Device         // that the memory was allocated or registered on, -1 for unknown memory
	Managed  bool           // memory of AllocManaged
	Base     tvmffi.Pointer // where its allocation begins; of virtual memory, the reservation
	Size     int64          // bytes of that, 0 where the driver does not say
	OnDevice tvmffi.Pointer // the address for kernels, null where there is none
	OnHost   tvmffi.Pointer // the address for the host, null where there is none
	// ForIPC says that Memory.ShareIPC takes the memory.
	ForIPC bool
	// ForFile says that the memory can be shared as a file descriptor.
	ForFile bool
}

// About returns what the driver knows of an address, which may be inside an allocation.
// Of an address that the driver does not know, the kind is [UnknownMemory]; that is not
// an error. The device is the one whose context is asked: the addresses of all
// devices are one range, but OnDevice may depend on it.
func (d Device) About(p tvmffi.Pointer) (PointerInfo, error) {
	s, err := stateOf(d)
	if err != nil {
		return PointerInfo{}, err
	}
	return s.aboutPointer(p.Address)
}

// The numbers of CUpointer_attribute that are asked for, in the order of the results.
var pointerAttributes = [...]int32{2, 3, 4, 8, 9, 10, 11, 12, 14}

func (s *state) aboutPointer(address uintptr) (info PointerInfo, err error) {
	info.Device = -1
	g, err := s.enter()
	if err != nil {
		return info, err
	}
	defer g.leave(&err)
	const n = len(pointerAttributes)
	q := &struct {
		attributes [n]int32
		values     [n]uint64 // the driver writes 1 to 8 bytes of each
		data       [n]uintptr
	}{attributes: pointerAttributes}
	// Unsafe memory: data holds addresses inside q, which callGo keeps on the heap and alive
	// during the call; the driver does not keep them.
	for i := range q.data {
		q.data[i] = uintptr(unsafe.Pointer(&q.values[i]))
	}
	err = g.callGo(driver.PointerGetAttributes, uintptr(n), uintptr(unsafe.Pointer(&q.attributes)), uintptr(unsafe.Pointer(&q.data)), address)
	runtime.KeepAlive(q)
	if errors.Is(err, ErrInvalidValue) || errors.Is(err, ErrInvalidContext) {
		return info, nil // what some drivers say of memory that is not theirs
	}
	if err != nil {
		return info, about(err, "the address %#x", address)
	}
	v := &q.values
	info.Kind = PointerKind(uint32(v[0]))
	if info.Kind != OnHostMemory && info.Kind != OnDeviceMemory {
		info.Kind = UnknownMemory
		return info, nil
	}
	info.OnDevice, info.OnHost = tvmffi.Pointer{Address: uintptr(v[1])}, tvmffi.Pointer{Address: uintptr(v[2])}
	info.Managed, info.Device, info.ForIPC = uint32(v[3]) != 0, Device(int32(v[4])), uint8(v[5]) != 0
	info.Base, info.Size = tvmffi.Pointer{Address: uintptr(v[6])}, int64(v[7])
	const file = 1
	info.ForFile = v[8]&file != 0
	return info, nil
}

// foreign looks at memory of another owner: it is an error if the driver knows that it
// is not on the device, or not so large. Memory that the driver does not know passes: it
// may be of another driver.
func (s *state) foreign(address uintptr, bytes int64) (managed bool, err error) {
	if bytes == 0 {
		return false, nil
	}
	info, err := s.aboutPointer(address)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && Code(e.Number) == errFunctionMissing {
			return false, nil
		}
		return false, err
	}
	switch {
	case info.Kind == OnDeviceMemory && !info.Managed && info.Device != s.device:
		return false, valueError("the memory at %#x is on %s, not on %s: name its device, or copy it there first", address, info.Device, s.device)
	case info.Size > 0 && address >= info.Base.Address && address-info.Base.Address <= uintptr(info.Size) &&
		bytes > info.Size-int64(address-info.Base.Address):
		return false, valueError("memory at %#x of %d bytes on %s: its allocation ends after %d bytes",
			address, bytes, s.device, info.Size-int64(address-info.Base.Address))
	}
	return info.Managed, nil
}
