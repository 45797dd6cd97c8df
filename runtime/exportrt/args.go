package exportrt

import (
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Callee returns argument i, a function, as a Go func that wrap makes. wrap must not capture
// variables. The func has a reference of its own, so the callee may keep it. When it is
// passed back, it is the same function again.
func Callee[F any](a *bindrt.Args, i int, wrap func(*tvmffi.Function) F) F {
	v := a.Value(i)
	if v.TypeIndex != abi.TypeFunction {
		return bindrt.Arg[F](a, i) // nil for None, or an error
	}
	handle, form := uintptr(v.Bits), **(**uintptr)(unsafe.Pointer(&wrap))
	if f := objects.RecentFunc(handle, form); f != nil {
		return *(*F)(unsafe.Pointer(&f))
	}
	objects.IncRef(handle)
	fn := (*tvmffi.Function)(unsafe.Pointer(objects.OwnByFunc(handle)))
	f := bindrt.Bind(fn, wrap(fn))
	objects.KeepRecentFunc(handle, form, *(*unsafe.Pointer)(unsafe.Pointer(&f)))
	return f
}
