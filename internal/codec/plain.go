package codec

import (
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// Plain copies the fields of an object into the Go struct of its type, if all of them have the
// bytes of their Go values.
type Plain struct {
	index atomic.Int32 // of the type, 0 if it has other fields, or is not registered yet
	spans []span
}

// span is memory of an object that has the bytes of some fields of the struct.
type span struct{ from, to, size uintptr }

// Add adds a field, which is at from in the object and at to in the struct.
func (p *Plain) Add(from, to, size uintptr) {
	if n := len(p.spans); n > 0 {
		if last := &p.spans[n-1]; last.from+last.size == from && last.to+last.size == to {
			last.size += size
			return
		}
	}
	p.spans = append(p.spans, span{from, to, size})
}

// Begin says that there are no more fields, and that objects of the type may come.
func (p *Plain) Begin(index abi.TypeIndex) { p.index.Store(int32(index)) }

// Copy copies the fields of v, which is borrowed, to the struct at record. It reports false, and
// copies nothing, if v is not an object of exactly that type. record does not escape, unlike that of Decode.
func (p *Plain) Copy(v abi.Any, record unsafe.Pointer) bool {
	if p == nil || v.Bits == 0 || !v.TypeIndex.IsObject() || v.TypeIndex != abi.TypeIndex(p.index.Load()) {
		return false
	}
	for _, s := range p.spans {
		copy(unsafe.Slice((*byte)(unsafe.Add(record, s.to)), s.size), unsafe.Slice(capi.PointerTo[byte](uintptr(v.Bits)+s.from), s.size))
	}
	return true
}
