package objects

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Releaser drops references, the last ones of objects many in one crossing. The
// zero value is ready. It must lie on the heap.
type Releaser struct {
	head    ccall.Vector
	records [releases]ccall.Record
	n       int
}

const releases = 64

var releasers = sync.Pool{New: func() any { return new(Releaser) }}

// NewReleaser returns a Releaser, which Close gives back.
func NewReleaser() *Releaser { return releasers.Get().(*Releaser) }

// Release drops a strong reference, by Flush or Close at the latest.
func (r *Releaser) Release(handle uintptr) {
	if TryDecRef(handle) {
		return
	}
	if r.n == releases {
		r.Flush()
	}
	r.records[r.n] = ccall.Record{Fn: capi.API.ObjectDecRef, Handle: handle, Calls: 1}
	r.n++
}

// ReleaseValue drops the reference of an owned value, if it is an object.
func (r *Releaser) ReleaseValue(v abi.Any) {
	if v.TypeIndex.IsObject() {
		r.Release(uintptr(v.Bits))
	}
}

// Flush drops what waits.
func (r *Releaser) Flush() {
	if r.n == 0 {
		return
	}
	for next, end := 0, r.n; next < end; next = end - int(r.head.Left) + 1 { // behind one that failed
		r.n = 0
		r.head.Records = uintptr(unsafe.Pointer(&r.records[next]))
		r.head.SetResults(0, end-next) // which the function does not take
		ccall.CallAll(&r.head)
		DropError(r.head.RC, r.head.Err)
	}
	runtime.KeepAlive(r)
	if ccall.HasReleased() {
		Drain()
	}
}

// Close drops what waits and gives r back.
func (r *Releaser) Close() {
	r.Flush()
	releasers.Put(r)
}

// ReleaseAll ends the wrappers, in order, as Release does each.
func ReleaseAll(all []*Object) {
	r := NewReleaser()
	for _, o := range all {
		if h := o.Detach(); h != 0 {
			r.Release(h)
		}
	}
	r.Close()
}
