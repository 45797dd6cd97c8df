package callbacks

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"

	"github.com/ebitengine/purego"
)

// Room is the type of the result before a call by the C code of exportrt/python, which is of this
// module. It takes more as a result than others, who set it to None. An error may be the result,
// with Small set to 1 if no error of another language is among its causes. If Small is not 0 before
// the call, it is the size in bytes of the memory at Bits, and a text or a container may be the
// result in flat form.
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
)

// Flattens reports whether the caller takes a result in flat form.
func (a *Args) Flattens() bool {
	r := capi.PointerTo[abi.Any](a.frame.Res)
	return r.TypeIndex == Room && r.Small != 0
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
	a.ReturnFlat([]abi.Any{{TypeIndex: abi.TypeRawStr, Small: uint32(len(s))}}, unsafe.Slice(unsafe.StringData(s), len(s)))
}

// raise makes err the error of the callback: the result, if the caller takes it there, which
// spares two crossings, and otherwise the error of this thread.
func (a *Args) raise(err error) int64 {
	if capi.PointerTo[abi.Any](a.frame.Res).TypeIndex != Room {
		return failure.Raise(err)
	}
	if handle, made := failure.NativeError(err); made == nil {
		v := abi.Any{TypeIndex: abi.TypeError, Bits: uint64(handle)}
		if failure.OfGo(err) {
			v.Small = 1
		}
		a.Return(v)
	}
	return -1
}
