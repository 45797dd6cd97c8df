package objects

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// A Go func that was made of a Function goes back to native code as that Function.
// The closures that generated code makes capture the wrapper of the Function and
// nothing else, so the word behind their code is the wrapper. Such code is
// remembered once, and its closures need no bookkeeping. Other closures, mainly from
// reflect.MakeFunc, are listed by their address.
var bound struct {
	mu sync.Mutex
	// capturing holds the code whose closures start with the wrapper.
	capturing atomic.Pointer[map[uintptr]struct{}]
	// last is the code that Bind saw last, if it is capturing.
	last atomic.Uintptr
	// list is uintptr -> weak.Pointer[Object]; used says that there were entries. The
	// wrapper lives exactly as long as its func, which holds it; an address that was
	// used again finds a dead weak pointer, or the entry of its new owner.
	list sync.Map
	used atomic.Bool
}

// closure is the start of a func that captures something.
type closure struct {
	code uintptr
	word unsafe.Pointer
}

// Bind remembers that a Go func, given by the address of its closure, calls fn. The
// func captures something; if that is fn, then every func of the same code is bound
// to the wrapper that it captures. The collector releases fn with the func.
func Bind(fn *Object, function unsafe.Pointer) {
	fn.LeaveToCollector()
	c := (*closure)(function)
	if c.word == unsafe.Pointer(fn) {
		if bound.last.Load() == c.code {
			return
		}
		if known := bound.capturing.Load(); known == nil || !has(*known, c.code) {
			remember(c.code)
		}
		bound.last.Store(c.code)
		return
	}
	key := uintptr(function)
	w := weak.Make(fn)
	bound.list.Store(key, w)
	bound.used.Store(true)
	runtime.AddCleanup(fn, func(key uintptr) { bound.list.CompareAndDelete(key, w) }, key)
}

func has(m map[uintptr]struct{}, code uintptr) bool {
	_, ok := m[code]
	return ok
}

func remember(code uintptr) {
	bound.mu.Lock()
	defer bound.mu.Unlock()
	grown := map[uintptr]struct{}{code: {}}
	if known := bound.capturing.Load(); known != nil {
		maps.Copy(grown, *known)
	}
	bound.capturing.Store(&grown)
}

// Bound returns the Function from which a Go func was made, or nil. The caller keeps the
// func alive.
func Bound(function unsafe.Pointer) *Object {
	if bound.used.Load() {
		if w, ok := bound.list.Load(uintptr(function)); ok {
			if fn := w.(weak.Pointer[Object]).Value(); fn != nil {
				return fn
			}
		}
	}
	c := (*closure)(function)
	if known := bound.capturing.Load(); known != nil && has(*known, c.code) {
		return (*Object)(c.word)
	}
	return nil
}

// OwnByFunc is Own for a Function that only a Go func will refer to: the collector
// releases it, with the func.
func OwnByFunc(handle uintptr) *Object {
	o := refer(handle, stateGuarded|flagUnclaimed)
	o.cleanup = runtime.AddCleanup(o, DecRef, handle)
	return o
}

// RetainFunc returns the closure of a func like function, which Bind got with a Function that
// it captures, that calls handle and has a reference of its own. It returns nil for other
// funcs. The closure has the layout that the compiler gives a func which captures one pointer.
func RetainFunc(function unsafe.Pointer, handle uintptr) unsafe.Pointer {
	c := (*closure)(function)
	if known := bound.capturing.Load(); known == nil || !has(*known, c.code) {
		return nil
	}
	IncRef(handle)
	return unsafe.Pointer(&closure{c.code, unsafe.Pointer(OwnByFunc(handle))})
}
