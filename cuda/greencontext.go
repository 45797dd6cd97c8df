package cuda

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// SMs is a set of multiprocessors of a device, of which green contexts are made. It is
// a description: two may overlap, and nothing is to be closed.
type SMs struct {
	s        *state
	resource devResource
}

// devResource is CUdevResource of a version that drivers since CUDA 12.4 know.
type devResource struct {
	kind                    int32
	_                       [92]byte
	count, least, alignment uint32
	_                       [36]byte
}

// resourceSM is CU_DEV_RESOURCE_TYPE_SM.
const resourceSM = 1

// Count returns the number of multiprocessors.
func (r SMs) Count() int { return int(r.resource.count) }

// LeastGroup returns how many multiprocessors a part has at least, and Alignment the number
// of which each part is a multiple. Drivers before CUDA 13 report 0.
func (r SMs) LeastGroup() int { return int(r.resource.least) }

// Alignment returns the number that the sizes of parts are multiples of; see
// [SMs.LeastGroup].
func (r SMs) Alignment() int { return int(r.resource.alignment) }

// Device returns the device.
func (r SMs) Device() Device { return r.s.device }

// SMs returns all multiprocessors of the device.
func (d Device) SMs() (r SMs, err error) {
	s, err := stateOf(d)
	if err != nil {
		return r, err
	}
	out := new(devResource)
	rc := driver.Call(driver.DeviceGetDevResource, s.handle, uintptr(unsafe.Pointer(out)), resourceSM)
	return SMs{s, *out}, failed(rc, driver.DeviceGetDevResource, "the multiprocessors of "+d.String())
}

// SplitOption changes how [SMs.Split] makes groups.
type SplitOption func(flags *uintptr)

// SplitFine allows smaller groups. Their multiprocessors may lie apart, so that kernels
// with large clusters do not run there.
func SplitFine() SplitOption { return func(flags *uintptr) { *flags |= 1 } }

// SplitForClusters makes groups that allow the largest clusters, on devices of compute
// capability 9.0 and later.
func SplitForClusters() SplitOption { return func(flags *uintptr) { *flags |= 2 } }

// Split returns up to n groups of the multiprocessors, which do not overlap and have the
// same size, of at least the given number each, and what is left, which may be empty. The
// driver rounds the size up to what the device can separate, so there may be fewer
// groups than n. The multiprocessors must be those of [Device.SMs]: the driver does not split
// a group again.
func (r SMs) Split(n, least int, options ...SplitOption) (groups []SMs, rest SMs, err error) {
	if err := r.valid(); err != nil {
		return nil, SMs{}, err
	}
	if n < 1 || least < 0 || n > r.Count() || least > r.Count() {
		return nil, SMs{}, valueError("split of %d multiprocessors of %s: %d groups of at least %d are out of range", r.Count(), r.s.device, n, least)
	}
	var flags uintptr
	for _, o := range options {
		o(&flags)
	}
	type call struct {
		made        uint32
		input, rest devResource
	}
	// The driver reads and writes these during the call.
	c := &call{made: uint32(n), input: r.resource}
	out := make([]devResource, n)
	rc := driver.Call(driver.DevSmResourceSplitByCount, uintptr(unsafe.Pointer(unsafe.SliceData(out))), uintptr(unsafe.Pointer(&c.made)),
		uintptr(unsafe.Pointer(&c.input)), uintptr(unsafe.Pointer(&c.rest)), flags, uintptr(least))
	if rc != 0 {
		return nil, SMs{}, about(failed(rc, driver.DevSmResourceSplitByCount, ""), "%d groups of %d multiprocessors of %s", n, least, r.s.device)
	}
	for _, g := range out[:min(int(c.made), n)] {
		groups = append(groups, SMs{r.s, g})
	}
	return groups, SMs{r.s, c.rest}, nil
}

func (r SMs) valid() error {
	if r.s == nil {
		return anSMs.zero()
	}
	if r.resource.kind != resourceSM || r.resource.count == 0 {
		return valueError("the set of multiprocessors of %s is empty: split with smaller groups", r.s.device)
	}
	return nil
}

// GreenContext is a part of a device: kernels in its streams run on its multiprocessors only.
// Everything else is shared with the device: memory, modules, and kernels, which are launched as
// usual with Stream set. Two green contexts of groups that do not overlap can run at the same
// time; NVIDIA does not promise it. NVIDIA requires that an event and the stream that records it
// belong to one context, and does not say which context a stream of a green context has. No test
// on a GPU has shown it yet.
//
// NVIDIA requires that one thread at a time uses a green context: this package takes care of
// that.
type GreenContext struct {
	resource
	sms int

	mu      sync.Mutex
	streams []*Stream
}

// NewGreenContext makes a green context of multiprocessors of the device: those of
// [Device.SMs], or groups and rest of one [SMs.Split]. The caller closes its streams
// and then the context. It needs a driver of CUDA 12.4, and its streams one of CUDA 12.5.
func (d Device) NewGreenContext(sms ...SMs) (c *GreenContext, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if len(sms) == 0 {
		return nil, valueError("a green context on %s: there are no multiprocessors: pass groups of SMs.Split", d)
	}
	resources := make([]devResource, len(sms))
	c = &GreenContext{}
	for i, r := range sms {
		if err := r.valid(); err != nil {
			return nil, err
		}
		if r.s != s {
			return nil, valueError("a green context on %s: the multiprocessors %d are of %s", d, i, r.s.device)
		}
		resources[i] = r.resource
		c.sms += r.Count()
	}
	// The primary context, which the green context uses, is active from here on.
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.callGo(driver.DevResourceGenerateDesc, g.out(0), uintptr(unsafe.Pointer(unsafe.SliceData(resources))), uintptr(len(resources))); err != nil {
		return nil, about(err, "a green context on %s", d)
	}
	const defaultStream = 1 // which the driver demands
	if err := g.call(driver.GreenCtxCreate, g.out(1), g.result(0), s.handle, defaultStream); err != nil {
		return nil, about(err, "a green context of %d multiprocessors on %s", c.sms, d)
	}
	c.open(s, "green context on "+d.String(), g.result(1), greenContexts, driver.GreenCtxDestroy)
	return c, nil
}

// Multiprocessors returns how many the context has.
func (c *GreenContext) Multiprocessors() int { return c.sms }

// Device returns the device of the context.
func (c *GreenContext) Device() Device { return c.s.device }

// NewStream makes a stream whose kernels run on the multiprocessors of the context. It is
// always [NonBlocking]. The caller closes it before the context.
func (c *GreenContext) NewStream(options ...StreamOption) (st *Stream, err error) {
	if c == nil {
		return nil, aGreenContext.none()
	}
	var config streamConfig
	for _, o := range append(slices.Clip(options), NonBlocking()) {
		o(&config)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.get(aGreenContext)
	if err != nil {
		return nil, err
	}
	g, err := c.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.GreenCtxStreamCreate, g.out(0), h, config.flags, uintptr(config.priority)); err != nil {
		return nil, about(err, "a stream in the %s", c.what)
	}
	st = &Stream{green: c}
	st.open(c.s, "stream in a "+c.what, g.result(0), streams, driver.StreamDestroy)
	c.streams = append(slices.DeleteFunc(c.streams, (*Stream).closed), st)
	return st, nil
}

func (st *Stream) closed() bool { return st.handle.Load() == 0 }

// Close destroys the context. It is an error while one of its streams is open, because
// the driver could not destroy that one any more. A second call does nothing.
func (c *GreenContext) Close() error {
	if c == nil || c.s == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = slices.DeleteFunc(c.streams, (*Stream).closed)
	if n := len(c.streams); n > 0 {
		return valueError("the %s has %d open streams: close them first", c.what, n)
	}
	return c.shut()
}
