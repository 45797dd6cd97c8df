package objects

import (
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"

	"github.com/ebitengine/purego"
)

// inherited are the types that derive, in another language, from a type made in Go
// with state. Their deleters release fields, and know nothing of the state.
var inherited sync.Map // abi.TypeIndex -> heir

// heir is where the state lies, and the deleter of the type.
type heir struct {
	state   int64
	deleter uintptr
}

// deleteHeir releases the state, then does what the deleter of the type does. It
// enters Go, which may be on any thread and inside any call, as ours never do:
// such objects are few, and have a Go value already.
var deleteHeir = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(object, flags uintptr) uintptr {
		of, _ := inherited.Load(capi.PointerTo[abi.Object](object).TypeIndex)
		h := of.(heir)
		if flags&abi.DeleterStrong != 0 {
			if state := atomic.SwapUintptr(capi.PointerTo[uintptr](object+uintptr(h.state)), 0); state != 0 {
				DecRef(state)
			}
		}
		purego.SyscallN(h.deleter, object, flags)
		return 0
	})
})

// FreeState makes the state at an offset of an object end with the object, also
// where another language derived its type. The caller holds a reference.
func FreeState(object uintptr, offset int64) {
	o := capi.PointerTo[abi.Object](object)
	deleter := atomic.LoadUintptr(&o.Deleter)
	if deleter == ccall.DeleteObject() || deleter == deleteHeir() {
		return
	}
	h, _ := inherited.LoadOrStore(o.TypeIndex, heir{offset, deleter})
	if h.(heir).deleter == deleter { // else it stays as it is: a type has one
		atomic.CompareAndSwapUintptr(&o.Deleter, deleter, deleteHeir())
	}
}
