package exportrt

import (
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Callee returns argument i, a function, as a Go func that wrap makes. wrap must not capture
// variables. The func ends when the callee returns, unless tvmffi.RetainFunc keeps it. When it
// is passed back, it is the same function again.
func Callee[F any](a *bindrt.Args, i int, wrap func(*tvmffi.Function) F) F {
	v := a.Value(i)
	if v.TypeIndex != abi.TypeFunction {
		return bindrt.Arg[F](a, i) // nil for None, or an error
	}
	fn := (*tvmffi.Function)(unsafe.Pointer(a.Borrow(uintptr(v.Bits))))
	return bindrt.Bind(fn, wrap(fn))
}
