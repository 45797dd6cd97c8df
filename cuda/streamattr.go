package cuda

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// The numbers of CUlaunchAttributeID that streams have.
const (
	attributeWindow     = 1
	attributeSyncPolicy = 3
)

// attributeValue is CUlaunchAttributeValue, which is CUstreamAttrValue too.
type attributeValue [8]uint64

// words are the numbers of 4 bytes that most attributes consist of.
func (v *attributeValue) words() *[16]uint32 { return (*[16]uint32)(unsafe.Pointer(v)) }

// window is the attribute as an access policy.
func (v *attributeValue) window() *accessPolicyWindow {
	return (*accessPolicyWindow)(unsafe.Pointer(v))
}

// setAttribute changes what work has that is queued on the stream from now on.
func (st *Stream) setAttribute(id uintptr, v *attributeValue) (err error) {
	h, g, err := st.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	// The driver reads the value during the call.
	return about(g.callGo(driver.StreamSetAttribute, h, id, uintptr(unsafe.Pointer(v))), "attribute %d of the stream of %s", id, st.s.device)
}

func (st *Stream) attribute(id uintptr) (v *attributeValue, err error) {
	h, g, err := st.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	v = new(attributeValue)
	err = g.callGo(driver.StreamGetAttribute, h, id, uintptr(unsafe.Pointer(v)))
	return v, about(err, "attribute %d of the stream of %s", id, st.s.device)
}

// enter returns the CUstream with its device current. The caller leaves.
func (st *Stream) enter() (uintptr, guard, error) {
	if st == nil {
		return 0, guard{}, aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return 0, guard{}, err
	}
	g, err := st.s.enter()
	return h, g, err
}

// number calls a function that writes one number of 4 bytes about the stream.
func (st *Stream) number(f driver.Func) (n int32, err error) {
	h, g, err := st.enter()
	if err != nil {
		return 0, err
	}
	defer g.leave(&err)
	if err := g.call(f, h, g.out(0)); err != nil {
		return 0, about(err, "the stream of %s", st.s.device)
	}
	return int32(g.result(0)), nil
}

// Priority returns the priority of the stream, which the driver has clamped to the range
// of the device.
func (st *Stream) Priority() (int, error) {
	n, err := st.number(driver.StreamGetPriority)
	return int(n), err
}

// NonBlocking reports whether the stream was made by [NonBlocking], by this package or
// another owner.
func (st *Stream) NonBlocking() (bool, error) {
	flags, err := st.number(driver.StreamGetFlags)
	return flags&1 != 0, err
}

// PriorityRange returns the priorities that streams and launches of the device can have:
// numbers from greatest, which runs first and is negative, to least, which is 0. Both are 0
// where the device has no priorities.
func (d Device) PriorityRange() (least, greatest int, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, 0, err
	}
	p, err := s.readPriorities()
	return int(p[0]), int(p[1]), err
}

// priorities returns the least and the greatest priority, which launches read once.
func (s *state) priorities() ([2]int32, error) {
	if known := s.priority.Load(); known != nil {
		return *known, nil
	}
	return s.readPriorities()
}

func (s *state) readPriorities() (p [2]int32, err error) {
	g, err := s.enter()
	if err != nil {
		return p, err
	}
	defer g.leave(&err)
	if err := g.call(driver.CtxGetStreamPriorityRange, g.out(0), g.out(1)); err != nil {
		return p, about(err, "%s", s.device)
	}
	p = [2]int32{int32(g.result(0)), int32(g.result(1))}
	s.priority.Store(&p)
	return p, nil
}

// Access is what the L2 cache does with memory that a kernel has used.
type Access int32

// The kinds of access.
const (
	AccessNormal     Access = 0
	AccessStreaming  Access = 1 // is not likely to be used again: is the first to leave the cache
	AccessPersisting Access = 2 // stays, in the part that LimitPersistingL2 sets aside
)

// AccessWindow says how the L2 cache treats a range of memory. The driver may align the
// range and may round the ratio: it is a hint. Devices of compute capability 8.0 and
// later have windows.
type AccessWindow struct {
	// Memory is the range, of MaxAccessWindow bytes at most. Nil is for no window.
	Memory *Memory
	// HitRatio is the share of the range, 0 to 1, that is treated as Hit says. The rest
	// is treated as Miss says, which cannot be AccessPersisting.
	HitRatio  float32
	Hit, Miss Access
}

// accessPolicyWindow is CUaccessPolicyWindow.
type accessPolicyWindow struct {
	base      uintptr
	bytes     uint64
	ratio     float32
	hit, miss int32
}

// policy is the window as the driver takes it, after check.
func (w *AccessWindow) policy() accessPolicyWindow {
	if w.Memory == nil {
		return accessPolicyWindow{}
	}
	return accessPolicyWindow{base: w.Memory.address, bytes: uint64(w.Memory.size), ratio: w.HitRatio, hit: int32(w.Hit), miss: int32(w.Miss)}
}

// check refuses a window that the device cannot have.
func (w *AccessWindow) check(s *state) error {
	if w.Memory == nil {
		return nil
	}
	if _, err := w.Memory.at(s); err != nil {
		return err
	}
	if !(w.HitRatio >= 0 && w.HitRatio <= 1) { // NaN too
		return valueError("access window: the hit ratio is %v: it must be 0 to 1", w.HitRatio)
	}
	if w.Hit < AccessNormal || w.Hit > AccessPersisting {
		return valueError("access window: Hit is %d: it must be AccessNormal, AccessStreaming or AccessPersisting", w.Hit)
	}
	if w.Miss < AccessNormal || w.Miss > AccessStreaming {
		return valueError("access window: Miss is %d: it must be AccessNormal or AccessStreaming", w.Miss)
	}
	most, err := s.attribute(MaxAccessWindow)
	if err != nil {
		return err
	}
	if most == 0 {
		return valueError("access window: %s has none: see the attribute MaxAccessWindow", s.device)
	}
	if w.Memory.size > int64(most) {
		return valueError("access window: the memory has %d bytes, a window of %s at most %d: take a part of it", w.Memory.size, s.device, most)
	}
	return nil
}

// SetAccessWindow sets the access window of kernels that are queued on the stream from now
// on; a zero AccessWindow ends it. The memory must live until they have run. Lines of
// the cache stay persisting after that: [Device.ResetPersistingL2] ends it. A
// window does something once LimitPersistingL2 is set.
func (st *Stream) SetAccessWindow(w AccessWindow) error {
	if st == nil || st.s == nil {
		_, _, err := st.enter()
		return err
	}
	if err := w.check(st.s); err != nil {
		return err
	}
	v := new(attributeValue)
	*v.window() = w.policy()
	return st.setAttribute(attributeWindow, v)
}

// AccessWindow returns the access window of the stream. Its memory, nil for none, is a
// view of the range that the driver has made of it.
func (st *Stream) AccessWindow() (AccessWindow, error) {
	v, err := st.attribute(attributeWindow)
	if err != nil {
		return AccessWindow{}, err
	}
	p := v.window()
	if p.bytes == 0 {
		return AccessWindow{}, nil
	}
	return AccessWindow{&Memory{s: st.s, address: p.base, size: int64(p.bytes)}, p.ratio, Access(p.hit), Access(p.miss)}, nil
}

// ResetPersistingL2 makes all lines of the L2 cache normal again, also those of other
// streams. It has happened when it returns.
func (d Device) ResetPersistingL2() error {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	return about(s.do(driver.CtxResetPersistingL2Cache), "%s", d)
}
