//go:build tvmffi_debug

package objects

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Tracking reports whether the program was built with the tag tvmffi_debug. With the tag,
// every wrapper that owns a reference is listed with the stack that made it.
const Tracking = true

// Tracked is a live wrapper.
type Tracked struct {
	Type  abi.TypeIndex
	Stack []uintptr
}

var tracked struct {
	sync.Mutex
	live map[uintptr]entry // by the address of the wrapper, which keeps nothing alive
	last uint64
}

// entry is a wrapper with its number: an address is used again.
type entry struct {
	Tracked
	number uint64
}

func track(o *Object) {
	pcs := make([]uintptr, 32)
	t := Tracked{o.index, pcs[:runtime.Callers(3, pcs)]}
	at := uintptr(unsafe.Pointer(o))
	tracked.Lock()
	defer tracked.Unlock()
	if tracked.live == nil {
		tracked.live = map[uintptr]entry{}
	}
	tracked.last++
	number := tracked.last
	tracked.live[at] = entry{t, number}
	runtime.AddCleanup(o, func(number uint64) {
		tracked.Lock()
		defer tracked.Unlock()
		if tracked.live[at].number == number {
			delete(tracked.live, at)
		}
	}, number)
}

func untrack(o *Object) {
	tracked.Lock()
	defer tracked.Unlock()
	delete(tracked.live, uintptr(unsafe.Pointer(o)))
}

// LiveHandles returns the wrappers that own a reference now.
func LiveHandles() []Tracked {
	tracked.Lock()
	defer tracked.Unlock()
	list := make([]Tracked, 0, len(tracked.live))
	for _, t := range tracked.live {
		list = append(list, t.Tracked)
	}
	return list
}
