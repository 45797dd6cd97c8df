package capi

import (
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"

	"github.com/ebitengine/purego"
)

// Registry guards the tables of functions and types, which have no lock of their own. A
// library that is loaded while it is held may call back into Go, which then locks it again
// on the same thread.
var Registry reentrant

// reentrant is a mutex that its OS thread may lock again.
type reentrant struct {
	mu    sync.Mutex
	state sync.Mutex
	owner int
	depth int
}

// Lock pins the goroutine to its thread until Unlock.
func (r *reentrant) Lock() {
	runtime.LockOSThread()
	id := threadID()
	r.state.Lock()
	if r.depth > 0 && r.owner == id {
		r.depth++
		r.state.Unlock()
		return
	}
	r.state.Unlock()
	r.mu.Lock()
	r.state.Lock()
	r.owner, r.depth = id, 1
	r.state.Unlock()
}

// Unlock undoes one Lock.
func (r *reentrant) Unlock() {
	r.state.Lock()
	r.depth--
	last := r.depth == 0
	r.state.Unlock()
	if last {
		r.mu.Unlock()
	}
	runtime.UnlockOSThread()
}

func attributeColumn(name string) *abi.TypeAttrColumn {
	key := ByteArray(name)
	Registry.Lock()
	defer Registry.Unlock()
	p, _, _ := purego.SyscallN(API.GetTypeAttrColumn, Address(key))
	KeepAlive(key, name)
	if p == 0 {
		return nil
	}
	return PointerTo[abi.TypeAttrColumn](p)
}

// ThreadID identifies the OS thread of a pinned goroutine.
func ThreadID() int { return threadID() }
