package callbacks

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"

	"github.com/ebitengine/purego"
)

// Room is the type of the result before a call by the C code of exportrt/python, by a C++ header or
// by a crate for Rust, all of this module. They take more as a result than other callers, who set it
// to None. Small is the size in bytes of the memory at Bits. An error may be the result, with Small
// set to 1 if no error of another language is among its causes.
const (
	Room abi.TypeIndex = -0x726f6f6d + iota
	// Flat is the type of a result in flat form: Small values at Bits, and behind them the bytes
	// of the raw strings among them, which have their sizes in Small and the places of their
	// bytes in Bits. The memory is that of the caller, or it is of malloc, and the caller frees
	// it. The references are the caller's.
	Flat
	// FlatList, FlatTuple and FlatMap begin a container: Bits values follow, or in a map as many
	// keys, each with its value. These may be containers too.
	FlatList
	FlatTuple
	FlatMap
	// FlatError is the type of an error of which the caller makes an object: a flatError at Bits.
	FlatError
	// FlatRoom is Room for a function whose result may be a text or a container in flat form. A
	// container in a value of any type is an object nevertheless.
	FlatRoom
	// FlatAnyRoom is FlatRoom for a caller that has no type for such objects. It takes typed values, too.
	FlatAnyRoom
	// FlatTyped comes before the name of a type, a text, and its value in flat form; see codec.Codec.Typed.
	FlatTyped
	// TypedRoom is None for a caller that takes typed values as objects.
	TypedRoom
)

// FlatCall is the safe call of callbacks of Python, which take arguments in flat form, or 0. Such an argument
// has the type Flat and the address of a FlatArgument. It stays the caller's, with its references.
var FlatCall uintptr

// FlatArgument has the values of an argument in flat form, and the bytes of the raw strings among them.
type FlatArgument struct {
	Values *abi.Any
	Text   *byte
}

// flatError has the parts of an Error object. The references are the caller's.
type flatError struct {
	kind, message, backtrace abi.ByteArray
	cause, value             uintptr
}

// Flattens reports whether the result may be in flat form: the caller takes it, and nobody settles loans, which are found in
// objects.
func (a *Args) Flattens() bool { return a.takesFlat() && len(a.Loans()) == 0 }

func (a *Args) takesFlat() bool {
	t := capi.PointerTo[abi.Any](a.frame.Res).TypeIndex
	return t == FlatRoom || t == FlatAnyRoom
}

// FlattensAny reports whether the caller takes containers in values of any type in flat form, too.
func (a *Args) FlattensAny() bool {
	return capi.PointerTo[abi.Any](a.frame.Res).TypeIndex == FlatAnyRoom
}

// Typed reports whether the caller takes values of any type with the names of their types.
func (a *Args) Typed() bool {
	t := capi.PointerTo[abi.Any](a.frame.Res).TypeIndex
	return t == FlatAnyRoom || t == TypedRoom
}

// AskTyped calls f for a caller that takes typed values.
func (a *Args) AskTyped(f func(*Args) error) error {
	r := capi.PointerTo[abi.Any](a.frame.Res)
	*r = abi.Any{TypeIndex: TypedRoom}
	err := f(a)
	if r.TypeIndex == TypedRoom {
		r.TypeIndex = abi.TypeNone
	}
	return err
}

// Forward calls a Function object with the arguments and the result of a.
func (a *Args) Forward(function uintptr) error {
	rc, _, _ := purego.SyscallN(capi.SafeCall(function), function, a.frame.Args, a.frame.N, a.frame.Res)
	return a.failed(int32(rc))
}

// ReturnFlat sets the result to values in flat form, with the bytes of raw strings.
func (a *Args) ReturnFlat(values []abi.Any, text []byte) {
	r := capi.PointerTo[abi.Any](a.frame.Res)
	cells := uintptr(len(values)) * unsafe.Sizeof(abi.Any{})
	at := uintptr(r.Bits)
	if cells+uintptr(len(text)) > uintptr(r.Small) {
		if at, _, _ = purego.SyscallN(capi.Malloc, cells+uintptr(len(text))); at == 0 {
			panic("tvmffi: out of memory")
		}
	}
	copy(unsafe.Slice(capi.PointerTo[abi.Any](at), len(values)), values)
	copy(unsafe.Slice(capi.PointerTo[byte](at+cells), len(text)), text)
	*r = abi.Any{TypeIndex: Flat, Small: uint32(len(values)), Bits: uint64(at)}
}

// ReturnText sets the result to a text in flat form.
func (a *Args) ReturnText(s string) {
	const cell = unsafe.Sizeof(abi.Any{})
	if r := capi.PointerTo[abi.Any](a.frame.Res); cell+uintptr(len(s)) <= uintptr(r.Small) { // without the slices
		*capi.PointerTo[abi.Any](uintptr(r.Bits)) = abi.Any{TypeIndex: abi.TypeRawStr, Small: uint32(len(s))}
		copy(unsafe.Slice(capi.PointerTo[byte](uintptr(r.Bits)+cell), len(s)), s)
		r.TypeIndex, r.Small = Flat, 1
		return
	}
	a.ReturnFlat([]abi.Any{{TypeIndex: abi.TypeRawStr, Small: uint32(len(s))}}, unsafe.Slice(unsafe.StringData(s), len(s)))
}

// raise makes err the error of the callback: the result, if the caller takes it there, which
// spares two crossings, and otherwise the error of this thread.
func (a *Args) raise(err error) int64 {
	r := capi.PointerTo[abi.Any](a.frame.Res)
	if r.TypeIndex != Room && !a.takesFlat() {
		return failure.Raise(err)
	}
	p, failed := failure.PartsOf(err)
	if failed != nil {
		return -1
	}
	v := abi.Any{TypeIndex: abi.TypeError}
	if failure.OfGo(err) {
		v.Small = 1
	}
	if size := unsafe.Sizeof(flatError{}); p.Object == 0 && uintptr(r.Small) >= size+uintptr(len(p.Kind)+len(p.Message)+len(p.Backtrace)) {
		at := uintptr(r.Bits) + size
		text := func(s string) abi.ByteArray {
			copy(unsafe.Slice(capi.PointerTo[byte](at), len(s)), s)
			at += uintptr(len(s))
			return abi.ByteArray{Data: at - uintptr(len(s)), Size: uintptr(len(s))}
		}
		*capi.PointerTo[flatError](uintptr(r.Bits)) = flatError{text(p.Kind), text(p.Message), text(p.Backtrace), p.Cause, p.Value}
		v.TypeIndex, v.Bits = FlatError, r.Bits
	} else if handle, failed := p.Make(); failed == nil {
		v.Bits = uint64(handle)
	} else {
		return -1
	}
	a.Return(v)
	return -1
}
