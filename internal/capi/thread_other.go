//go:build !linux

package capi

import (
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"

	"github.com/ebitengine/purego"
)

var threadSelf = sync.OnceValue(func() uintptr {
	f, _ := dynlib.ThreadSelf()
	return f
})

// threadID identifies the OS thread. Goroutines that ask are pinned to theirs.
func threadID() int {
	if threadSelf() == 0 {
		return 0
	}
	id, _, _ := purego.SyscallN(threadSelf())
	return int(id)
}
