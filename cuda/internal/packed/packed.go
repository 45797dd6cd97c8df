// Package packed is how generated code launches kernels: with parameters that are
// laid out already. It stands between package cuda, which launches, and package
// kernelrt, which cannot reach it otherwise.
package packed

import (
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Most is the greatest number of parameters of a kernel.
const Most = 64

// Launch is one launch of a kernel. It is on the heap and stays where it is, so
// that the driver may read it.
type Launch struct {
	// Kernel is a *cuda.Kernel.
	Kernel      any
	Grid, Block [3]uint32
	Cluster     [3]uint32 // all 0 for none
	Shared      int
	Cooperative bool
	// Programmatic is as in cuda.LaunchConfig.
	Programmatic bool
	// Stream is a *cuda.Stream, nil for the environment stream. If Raw is set, it is
	// the CUstream Address.
	Stream  any
	Raw     bool
	Address uintptr
	// Params has one parameter in each word, from its first byte on.
	Params [Most]uint64
	// Within is room for the crossing.
	Within ccall.Within

	addresses [Most]uintptr
}

var launches = sync.Pool{New: func() any {
	l := new(Launch)
	for i := range l.Params {
		l.addresses[i] = uintptr(unsafe.Pointer(&l.Params[i]))
	}
	return l
}}

// New returns a Launch in which nothing but the parameters has a value.
func New() *Launch { return launches.Get().(*Launch) }

// End gives a Launch back.
func (l *Launch) End() {
	l.Kernel, l.Stream, l.Raw, l.Cluster = nil, nil, false, [3]uint32{}
	launches.Put(l)
}

// Addresses returns the array of addresses that the driver takes.
func (l *Launch) Addresses() uintptr { return uintptr(unsafe.Pointer(&l.addresses)) }

// Run launches; Sizes returns the sizes of the parameters of a *cuda.Kernel in
// bytes, and false where the driver cannot report them; Reaches reports whether kernels on
// a device may use memory of another one. Package cuda sets them.
var (
	Reaches func(device, memory int32) bool
	Run     func(l *Launch) error
	Sizes   func(kernel any) ([]int, bool)
)
