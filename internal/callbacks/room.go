package callbacks

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Room is the type of the result before a call by the C code of exportrt/python, which is of this
// module. It takes more as a result than others, who set it to None. An error may be the result,
// with Small set to 1 if no error of another language is among its causes.
const Room abi.TypeIndex = -0x726f6f6d

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
