// Package memstat reports what the references that a program holds keep alive: handles
// that were never released, reference counts, and memory behind tensors. It is for tests
// and for tuning; a program that releases what it uses needs nothing of it.
package memstat

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// SetForeignMemoryLimit changes how much memory of the host may lie behind the
// tensors that this program holds before each further 64 MB make the collector
// run; it returns the limit before. A negative limit changes nothing.
//
// The collector does not see that memory, so the runtime counts it, and runs a
// collection when it has doubled since the last one, has grown by 512 MB at
// least, and in any case at the limit, 1.5 GB at first. That only matters for
// tensors that nobody released: Release frees at once. It is no limit for memory
// in use. The environment variable TVMFFI_MEMORY_LIMIT sets it at the start, in
// bytes or as in 3GiB. math.MaxInt64, or the word off there, ends the collections.
//
// Memory of devices is counted for each one, and may grow by a quarter, at least
// 512 MB, between collections. Tensors under 64 KB are not counted.
func SetForeignMemoryLimit(limit int64) int64 {
	core.EnvironmentLimit() // it comes first
	return objects.SetForeignLimit(limit)
}

// ForeignMemory returns the number of bytes on a device behind the tensors that
// this program holds, without small ones and those over memory of Go.
func ForeignMemory(device tvmffi.Device) int64 { return objects.ForeignMemory(abi.DLDevice(device)) }
