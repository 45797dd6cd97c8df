package objects

import (
	"math"
	"math/bits"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// The collector does not see the memory behind tensors: a program that forgets to
// release them would run out of memory on a small heap. So the bytes behind the
// wrappers of tensors are counted, and a wrapper that makes them too many runs a
// collection and waits for what it frees.

// ReadOnly reports whether the memory of a tensor must not be written.
func (o *Object) ReadOnly() bool { return o != nil && o.load()&flagReadOnly != 0 }

// SetReadOnly marks a wrapper.
func (o *Object) SetReadOnly() { atomic.OrUint32(&o.status, flagReadOnly) }

// BorrowedMemory reports whether the memory of a tensor belongs to the caller of a
// callback, so that no reference keeps it.
func (o *Object) BorrowedMemory() bool { return o != nil && o.load()&flagBorrowedMemory != 0 }

// smallest is the size from which memory is counted.
const smallest = 64 << 10

// region is memory behind tensors. It is counted once, however many tensors lie
// over it.
type region struct {
	at      place
	tensors int   // those that have wrappers, and the node of memory of Go
	bytes   int64 // 0 for memory of Go, which the collector sees
	pool    *pool
}

// place is where a region begins.
type place struct {
	device abi.DLDevice
	data   uintptr
}

// counted is a tensor that has wrappers.
type counted struct {
	wrappers int
	region   *region
}

// pool is the memory of one device.
type pool struct {
	host bool
	live atomic.Int64
	next atomic.Int64 // a collection runs when live passes it
	// pacing is held while a collection runs and its cleanups are waited for.
	pacing sync.Mutex
}

var foreign struct {
	mu      sync.Mutex
	tensors map[uintptr]counted
	regions map[place]*region
	pools   map[abi.DLDevice]*pool
	limit   atomic.Int64
}

// The default limit, the least growth between collections, and the least step
// when the memory is really in use.
const (
	defaultLimit = 1536 << 20
	leastGrowth  = 512 << 20
	leastStep    = 64 << 20
)

func init() {
	foreign.tensors, foreign.regions, foreign.pools = map[uintptr]counted{}, map[place]*region{}, map[abi.DLDevice]*pool{}
	foreign.limit.Store(defaultLimit)
}

func deviceOf(d abi.DLDevice) abi.DLDevice {
	if d.Type == abi.DLCPU {
		d.ID = 0
	}
	return d
}

// poolOf returns the pool of a device; foreign.mu is held.
func poolOf(d abi.DLDevice) *pool {
	d = deviceOf(d)
	p := foreign.pools[d]
	if p == nil {
		p = &pool{host: d.Type == abi.DLCPU}
		p.next.Store(p.goal(0))
		foreign.pools[d] = p
	}
	return p
}

// ForeignMemory returns the bytes behind the wrappers of tensors on a device.
func ForeignMemory(d abi.DLDevice) int64 {
	foreign.mu.Lock()
	defer foreign.mu.Unlock()
	if p := foreign.pools[deviceOf(d)]; p != nil {
		return p.live.Load()
	}
	return 0
}

// SetForeignLimit sets the limit for the memory of the host and returns the one
// before; a negative one changes nothing, math.MaxInt64 ends the pacing.
func SetForeignLimit(limit int64) int64 {
	if limit < 0 {
		return foreign.limit.Load()
	}
	foreign.mu.Lock()
	defer foreign.mu.Unlock()
	old := foreign.limit.Swap(limit)
	for _, p := range foreign.pools {
		p.next.Store(p.goal(0))
	}
	return old
}

// TensorBytes returns the size of the memory that the elements of t need.
func TensorBytes(t *abi.DLTensor) int64 {
	if t.NDim <= 0 {
		return bytesOf(t.DType, nil)
	}
	return bytesOf(t.DType, unsafe.Slice(capi.PointerTo[int64](t.Shape), t.NDim))
}

func bytesOf(t abi.DLDataType, shape []int64) int64 {
	size := uint64(t.Bits) * uint64(t.Lanes) // in bits
	for _, d := range shape {
		if d <= 0 {
			return 0
		}
		high, low := bits.Mul64(size, uint64(d))
		if high != 0 || low > math.MaxInt64 {
			return math.MaxInt64 / 8
		}
		size = low
	}
	return int64((size + 7) / 8)
}

// OwnView is Own for a tensor over the memory of source.
func OwnView(handle uintptr, source *Object) *Object {
	o := refer(handle, stateFresh)
	o.born = ccall.Now()
	track(o)
	if source.load()&flagCounted == 0 {
		postpone(o)
		return o
	}
	count(o, source.handle)
	o.guard()
	return o
}

// heavy reports whether the object holds much memory, so that its wrapper gets
// its cleanup at once. The memory of a tensor is counted.
func (o *Object) heavy() bool {
	switch {
	case o.index == abi.TypeTensor:
		if TensorBytes(capi.PointerTo[abi.DLTensor](o.handle+abi.ObjectSize)) >= smallest {
			count(o, 0)
			return true
		}
	case crossing.ClassOf(o.index) == crossing.Sequence:
		return uintptr(capi.PointerTo[abi.SeqCell](o.handle+abi.ObjectSize).Size) >= smallest/unsafe.Sizeof(abi.Any{})
	}
	return false
}

// count counts a new wrapper of a tensor, or of a view of source, which is
// counted. Memory of Go is not counted.
func count(o *Object, source uintptr) {
	foreign.mu.Lock()
	c := foreign.tensors[o.handle]
	fresh := false
	if c.region == nil {
		if c.region = foreign.tensors[source].region; c.region == nil {
			t := capi.PointerTo[abi.DLTensor](o.handle + abi.ObjectSize)
			c.region, fresh = regionOf(place{deviceOf(t.Device), t.Data}, TensorBytes(t))
			if c.region.bytes == 0 {
				foreign.mu.Unlock()
				return
			}
		}
		c.region.tensors++
	}
	c.wrappers++
	foreign.tensors[o.handle] = c
	foreign.mu.Unlock()
	o.status |= flagCounted
	if fresh {
		c.region.pool.pace()
	}
}

// regionOf returns the region at a place; foreign.mu is held.
func regionOf(at place, bytes int64) (r *region, fresh bool) {
	if r = foreign.regions[at]; r != nil {
		return r, false
	}
	r = &region{at: at, bytes: bytes, pool: poolOf(at.device)}
	r.pool.live.Add(bytes)
	foreign.regions[at] = r
	return r, true
}

// localRegion makes the region of memory of Go, which the collector sees, until
// leave.
func localRegion(data uintptr) *region {
	foreign.mu.Lock()
	defer foreign.mu.Unlock()
	r, _ := regionOf(place{abi.DLDevice{Type: abi.DLCPU}, data}, 0)
	r.tensors++
	return r
}

func (r *region) leave() {
	foreign.mu.Lock()
	defer foreign.mu.Unlock()
	r.drop()
}

// drop takes one tensor out of the region; foreign.mu is held.
func (r *region) drop() {
	if r.tensors--; r.tensors == 0 {
		delete(foreign.regions, r.at)
		r.pool.live.Add(-r.bytes)
	}
}

// uncount takes back what count did for one wrapper, before its reference goes.
func uncount(handle uintptr) {
	foreign.mu.Lock()
	defer foreign.mu.Unlock()
	c := foreign.tensors[handle]
	if c.wrappers--; c.wrappers > 0 {
		foreign.tensors[handle] = c
		return
	}
	delete(foreign.tensors, handle)
	c.region.drop()
}

func collectTensor(handle uintptr) {
	uncount(handle)
	collect(handle)
}

// dropTensor drops a reference whose wrapper was counted.
func dropTensor(handle uintptr) {
	uncount(handle)
	DecRef(handle)
}

// goal returns how much memory may be in use before the next collection, as if
// it were heap with GOGC=100: it may double, within the limit of the host. On a
// device, whose size is unknown here, it may grow by a quarter.
func (p *pool) goal(heap int64) int64 {
	live, limit := p.live.Load(), foreign.limit.Load()
	switch {
	case limit == math.MaxInt64:
		return math.MaxInt64
	case !p.host:
		return live + max(leastGrowth, live/4)
	}
	return max(live+leastStep, min(live+max(leastGrowth, live+heap), limit))
}

// pace runs a collection if the memory in use has passed the goal.
func (p *pool) pace() {
	if p.live.Load() <= p.next.Load() {
		return
	}
	p.pacing.Lock()
	defer p.pacing.Unlock()
	if p.live.Load() <= p.next.Load() {
		return // the goroutine before has done it
	}
	runtime.GC()
	heap := AwaitCleanups(50 * time.Millisecond)
	p.next.Store(p.goal(heap))
}

// AwaitCleanups waits until the cleanups of the last collection have run: until then counts still
// hold dead memory. It gives up when none has run for as long as patience, because a cleanup may
// wait for the very goroutine that is here. It returns the size of the heap.
func AwaitCleanups(patience time.Duration) int64 {
	samples := []metrics.Sample{
		{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	queued, last, idle := samples[0].Value.Uint64(), uint64(0), time.Duration(0) // later collections do not count
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		executed := samples[1].Value.Uint64()
		if executed != last {
			last, idle = executed, 0
		}
		if executed >= queued || idle > patience {
			return int64(samples[2].Value.Uint64())
		}
		time.Sleep(pause)
		idle += pause // not by the clock, which goes on where this process does not run
		metrics.Read(samples)
	}
}
