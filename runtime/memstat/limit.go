// Package memstat reports what a program keeps alive by its references to native objects:
// handles that were not released, reference counts, and the memory behind tensors. It is
// for tests and for tuning. A program that releases its objects does not need it.
package memstat

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// SetForeignMemoryLimit sets the limit, in bytes, of the host memory behind the tensors
// that this program holds. Above the limit, each further 64 MB start a garbage collection.
// It returns the previous limit. A negative limit changes nothing.
//
// The garbage collector does not see that memory, so the runtime counts it. Below the
// limit, which is 1.5 GB at first, the runtime starts a collection when the memory has
// doubled since the last one and has grown by at least 512 MB. That matters only for
// tensors that the program did not release, because Release frees memory at once. The limit
// does not bound the memory in use. The environment variable TVMFFI_MEMORY_LIMIT sets the
// limit at the start of the program, in bytes or with a unit, such as 3GiB. math.MaxInt64,
// or the word off in the variable, ends these collections.
//
// The runtime counts the memory of each device separately. It may grow by a quarter, and by
// at least 512 MB, between collections. Tensors under 64 KB are not counted.
func SetForeignMemoryLimit(limit int64) int64 {
	libraries.EnvironmentLimit() // the environment variable is read first
	return objects.SetForeignLimit(limit)
}

// ForeignMemory returns the number of bytes on device behind the tensors that this program
// holds. It does not count tensors under 64 KB and tensors over memory of Go.
func ForeignMemory(device tvmffi.Device) int64 { return objects.ForeignMemory(abi.DLDevice(device)) }
