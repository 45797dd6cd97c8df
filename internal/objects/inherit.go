package objects

import (
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"

	"github.com/ebitengine/purego"
)

// inherited holds the types that derive, in another language, from a type made in Go with
// state. Their deleters release fields and do not know the state.
var inherited sync.Map // abi.TypeIndex -> heir

// heir is where the state lies, and the deleter of the type.
type heir struct {
	state   int64
	deleter uintptr
}

// deletion is one call of a deleter.
type deletion struct{ object, flags uintptr }

// heirs holds the calls of deleteHeir that wait for the one that runs. A chain of objects
// would otherwise be deleted by calls inside each other, and overflow the C stack. Their
// order stays: the memory of an object is freed after its references are released.
var heirs struct {
	sync.Mutex
	running bool
	waiting []deletion
}

// deleteHeir releases the state and then calls the deleter of the type. It enters Go, on
// any thread and inside any call. Our own deleters never enter Go. Objects that need
// deleteHeir are few, and already have a Go value.
var deleteHeir = sync.OnceValue(func() uintptr {
	ccall.StopLight()
	return purego.NewCallback(func(object, flags uintptr) uintptr {
		heirs.Lock()
		defer heirs.Unlock()
		heirs.waiting = append(heirs.waiting, deletion{object, flags})
		if heirs.running {
			return 0
		}
		heirs.running = true
		for len(heirs.waiting) > 0 {
			next := heirs.waiting[0]
			heirs.waiting = heirs.waiting[1:]
			heirs.Unlock()
			next.run()
			heirs.Lock()
		}
		heirs.waiting, heirs.running = nil, false
		return 0
	})
})

func (d deletion) run() {
	of, _ := inherited.Load(capi.PointerTo[abi.Object](d.object).TypeIndex)
	h := of.(heir)
	if d.flags&abi.DeleterStrong != 0 {
		if state := atomic.SwapUintptr(capi.PointerTo[uintptr](d.object+uintptr(h.state)), 0); state != 0 {
			DecRef(state)
		}
	}
	purego.SyscallN(h.deleter, d.object, d.flags)
}

// FreeState makes the state at an offset of an object end with the object, also
// where another language derived its type. The caller holds a reference.
func FreeState(object uintptr, offset int64) {
	o := capi.PointerTo[abi.Object](object)
	deleter := atomic.LoadUintptr(&o.Deleter)
	if deleter == ccall.DeleteObject() || deleter == deleteHeir() {
		return
	}
	h, _ := inherited.LoadOrStore(o.TypeIndex, heir{offset, deleter})
	if h.(heir).deleter == deleter { // otherwise it stays as it is: a type has one deleter
		atomic.CompareAndSwapUintptr(&o.Deleter, deleter, deleteHeir())
	}
}
