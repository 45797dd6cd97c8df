package cuda

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// OnHost stands for the host where a place of managed memory is meant: see
// [Memory.Prefetch] and [Memory.Advise].
const OnHost Device = -1

// notOnePlace is CU_DEVICE_INVALID: not all of the memory has the same place.
const notOnePlace = -2

// handleOf returns the CUdevice of a place of managed memory.
func handleOf(d Device) (uintptr, error) {
	if d == OnHost {
		cpu := int32(-1)
		return uintptr(uint32(cpu)), nil
	}
	s, err := stateOf(d)
	if err != nil {
		return 0, err
	}
	return s.handle, nil
}

// managedRange returns the address of managed memory.
func (m *Memory) managedRange(what string) (uintptr, error) {
	address, err := m.at(nil)
	if err != nil {
		return 0, err
	}
	if !m.managed && m.size > 0 {
		return 0, valueError("%s of memory on %s that is not managed: allocate it by AllocManaged", what, m.s.device)
	}
	return address, nil
}

// Prefetch moves managed memory to a device, or to the host with [OnHost], in the order of a
// stream of the device of m, without waiting: work on the stream after it finds the memory
// there. The driver moves whole pages. Devices without concurrent access to managed memory
// (the attribute ConcurrentManagedAccess) refuse it.
func (m *Memory) Prefetch(to Device, stream *Stream) error {
	address, err := m.managedRange("a prefetch")
	if err != nil || m.size == 0 {
		return err
	}
	place, err := handleOf(to)
	if err != nil {
		return err
	}
	return about(m.s.queue(driver.MemPrefetchAsync, stream, address, uintptr(m.size), place), "%d managed bytes to %s", m.size, placeName(to))
}

func placeName(d Device) string {
	if d == OnHost {
		return "the host"
	}
	return d.String()
}

// Advice is how a program will use managed memory. It changes the speed, not the results.
type Advice int32

// The advice of CUDA. AdviseReadMostly and its end do not look at the place.
const (
	AdviseReadMostly    Advice = 1 // each place keeps a copy; a write ends the others
	UnadviseReadMostly  Advice = 2
	AdvisePreferred     Advice = 3 // the memory stays at the place where it can
	UnadvisePreferred   Advice = 4
	AdviseAccessedBy    Advice = 5 // the place keeps the memory mapped, wherever it is
	UnadviseAccessedBy  Advice = 6
	adviceNumbers       Advice = 7
	rangeReadMostly            = 1
	rangePreferred             = 2
	rangeAccessedBy            = 3
	rangeLastPrefetched        = 4
)

// Advise gives the driver advice about managed memory and a device, or the host with
// [OnHost]. It holds from the call on and is not in the order of a stream.
func (m *Memory) Advise(a Advice, place Device) (err error) {
	address, err := m.managedRange("advice")
	if err != nil {
		return err
	}
	if a <= 0 || a >= adviceNumbers {
		return valueError("advice %d: it is from %d to %d", a, AdviseReadMostly, UnadviseAccessedBy)
	}
	if m.size == 0 {
		return nil
	}
	h, err := handleOf(place)
	if err != nil {
		return err
	}
	return about(m.s.do(driver.MemAdvise, address, uintptr(m.size), uintptr(a), h), "%d managed bytes and %s", m.size, placeName(place))
}

// ManagedInfo is the advice about managed memory, as far as it is the same for all of it.
type ManagedInfo struct {
	ReadMostly   bool
	Preferred    Device // [OnHost] for the host; meaningful with HasPreferred
	HasPreferred bool
	AccessedBy   []Device // devices, and OnHost
	Prefetched   Device   // where it was last asked to go; meaningful with HasPrefetch
	HasPrefetch  bool
}

// ManagedInfo returns the advice in force and where the memory was last prefetched to.
func (m *Memory) ManagedInfo() (info ManagedInfo, err error) {
	address, err := m.managedRange("the state")
	if err != nil || m.size == 0 {
		return info, err
	}
	states, err := start()
	if err != nil {
		return info, err
	}
	g, err := m.s.enter()
	if err != nil {
		return info, err
	}
	defer g.leave(&err)
	one := new(int32)
	get := func(attribute uintptr) (Device, bool) {
		if err == nil {
			*one = notOnePlace
			err = g.callGo(driver.MemRangeGetAttribute, uintptr(unsafe.Pointer(one)), 4, attribute, address, uintptr(m.size))
		}
		return placeOf(*one, states)
	}
	get(rangeReadMostly)
	info.ReadMostly = err == nil && *one == 1
	info.Preferred, info.HasPreferred = get(rangePreferred)
	info.Prefetched, info.HasPrefetch = get(rangeLastPrefetched)
	if err != nil {
		return ManagedInfo{}, about(err, "%d managed bytes on %s", m.size, m.s.device)
	}
	by := make([]int32, len(states)+1)
	for i := range by {
		by[i] = notOnePlace
	}
	if err := g.callGo(driver.MemRangeGetAttribute, uintptr(unsafe.Pointer(&by[0])), uintptr(4*len(by)), rangeAccessedBy, address, uintptr(m.size)); err != nil {
		return ManagedInfo{}, about(err, "%d managed bytes on %s", m.size, m.s.device)
	}
	for _, handle := range by {
		if d, found := placeOf(handle, states); found {
			info.AccessedBy = append(info.AccessedBy, d)
		}
	}
	return info, nil
}

// placeOf returns the device of a CUdevice that the driver wrote.
func placeOf(handle int32, states []*state) (Device, bool) {
	if handle == int32(OnHost) {
		return OnHost, true
	}
	for _, s := range states {
		if int32(s.handle) == handle {
			return s.device, true
		}
	}
	return 0, false
}
