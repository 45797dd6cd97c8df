//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import "unsafe"

//go:linkname _callAll tvmffi_callAll
var _callAll byte

//go:linkname _allocate tvmffi_allocate
var _allocate byte

//go:linkname _releaseArray tvmffi_releaseArray
var _releaseArray byte

var (
	//lint:ignore U1000 read by the assembly
	malloc uintptr
	//lint:ignore U1000 read by the assembly
	free uintptr
)

// SetAllocator sets the functions of C that Allocate and the deleter of arrays
// use. It must happen before them.
func SetAllocator(mallocAddress, freeAddress uintptr) {
	malloc, free = mallocAddress, freeAddress
}

// CallAll makes the calls of v, in order, up to the first that fails.
func CallAll(v *Vector) {
	Collect()
	v.RC, v.Err = 0, 0
	cgocall(callAllEntry, unsafe.Pointer(v))
}

// allocation is the frame of tvmffi_allocate. It may lie on the goroutine stack,
// because malloc does not call Go.
type allocation struct{ Size, Address uintptr }

// Allocate returns memory of C's malloc, 0 if there is none.
func Allocate(size uintptr) uintptr {
	a := allocation{Size: size}
	cgocall(uintptr(unsafe.Pointer(&_allocate)), unsafe.Pointer(&a))
	return a.Address
}

// ReleaseArray is the address of the deleter, void (*)(void*, int flags), of an
// array whose elements follow its cell in memory of Allocate that begins
// ArrayOffset bytes before the object. It never enters Go. It is 0 where arrays
// cannot be built in place.
func ReleaseArray() uintptr { return uintptr(unsafe.Pointer(&_releaseArray)) }
