package run

import (
	"math"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// Type indices of values that only Go can pass. No library uses them, and checks of types
// refuse them.
const (
	Released abi.TypeIndex = math.MinInt32 + iota // an object that was released
	TooBig                                        // an unsigned number beyond int64
)

// Value is the value of an operand. The zero Value has a type that every check refuses.
type Value struct {
	bits   uint64
	accept spec.Accept
	kind   argKind
	// memory belongs to the argument. It holds n elements, except for a tensor.
	memory  unsafe.Pointer
	n       int64
	element func(memory unsafe.Pointer, i int) Value
}

// argKind says what the memory of a Value is.
type argKind uint8

const (
	argPlain    argKind = iota // there is no memory
	argTensor                  // *Tensor
	argInts                    // int64, of a shape
	argAnys                    // abi.Any, of an ffi.Array
	argList                    // elements that Value.element reads
	argReleased                // an object that was released
	argTooBig                  // an unsigned number beyond int64
)

// Of returns the value of an argument, which is borrowed.
func Of(v abi.Any) Value {
	at := uintptr(v.Bits)
	switch v.TypeIndex {
	case Released:
		return Value{kind: argReleased}
	case TooBig:
		return Value{kind: argTooBig}
	case abi.TypeTensor, abi.TypeDLTensorPtr:
		t := TensorOf(v)
		if t == nil {
			return Value{}
		}
		return Value{accept: Kind(v.TypeIndex), kind: argTensor, memory: unsafe.Pointer(t)}
	case abi.TypeShape:
		s := capi.PointerTo[abi.ShapeCell](at + abi.ObjectSize)
		return Value{accept: spec.AcceptShape, kind: argInts, memory: unsafe.Pointer(capi.PointerTo[int64](s.Data)), n: int64(s.Size)}
	case abi.TypeArray:
		s := capi.PointerTo[abi.SeqCell](at + abi.ObjectSize)
		return Value{accept: spec.AcceptArray, kind: argAnys, memory: unsafe.Pointer(capi.PointerTo[abi.Any](s.Data)), n: s.Size}
	}
	return Value{accept: Kind(v.TypeIndex), bits: v.Bits}
}

// Ints returns the value of a shape.
func Ints(sizes []int64) Value {
	return Value{accept: spec.AcceptShape, kind: argInts, memory: unsafe.Pointer(unsafe.SliceData(sizes)), n: int64(len(sizes))}
}

// List returns the value of an array of n elements in memory, which element reads.
func List(memory unsafe.Pointer, n int, element func(memory unsafe.Pointer, i int) Value) Value {
	return Value{accept: spec.AcceptArray, kind: argList, memory: memory, n: int64(n), element: element}
}

// kinds has the kind of each type index that an argument may have.
var kinds = [128]spec.Accept{
	abi.TypeNone:        spec.AcceptNone,
	abi.TypeInt:         spec.AcceptInt,
	abi.TypeBool:        spec.AcceptBool,
	abi.TypeFloat:       spec.AcceptFloat,
	abi.TypeOpaquePtr:   spec.AcceptPointer,
	abi.TypeDLTensorPtr: spec.AcceptDLTensor,
	abi.TypeTensor:      spec.AcceptTensor,
	abi.TypeShape:       spec.AcceptShape,
	abi.TypeArray:       spec.AcceptArray,
}

// Kind returns the kind of a type index, 0 if no check accepts it.
func Kind(t abi.TypeIndex) spec.Accept {
	if uint32(t) < uint32(len(kinds)) && kinds[t] != 0 {
		return kinds[t]
	}
	if t.IsObject() && t != abi.TypeStr && t != abi.TypeBytes {
		return spec.AcceptObject
	}
	return 0
}

// at returns an element of a tuple or array, whose length was checked.
func (v *Value) at(i int) Value {
	if v.kind == argList {
		return v.element(v.memory, i)
	}
	return Of(unsafe.Slice((*abi.Any)(v.memory), v.n)[i])
}

// Elems returns the elements of an array, and whether it is one of n elements.
func (v *Value) Elems(n int) ([]abi.Any, bool) {
	if v.kind != argAnys || v.n != int64(n) {
		return nil, false
	}
	return unsafe.Slice((*abi.Any)(v.memory), n), true
}

// Sizes returns the numbers of a shape, or of an array of ints, and whether it is one of n
// numbers.
func (v *Value) Sizes(n int) ([]int64, bool) {
	if v.kind == argInts && v.n == int64(n) {
		return unsafe.Slice((*int64)(v.memory), n), true
	}
	elems, ok := v.Elems(n)
	sizes := make([]int64, len(elems))
	for i, e := range elems {
		sizes[i] = int64(e.Bits)
		ok = ok && e.TypeIndex == abi.TypeInt
	}
	return sizes, ok
}

// isInt reports whether element i of a shape is an int.
func (v *Value) isInt(i int) bool {
	switch v.kind {
	case argInts:
		return true
	case argList, argAnys:
		e := v.at(i)
		return e.accept == spec.AcceptInt
	}
	return false
}

func (v *Value) dim(i int) int64 {
	if v.kind == argInts {
		return unsafe.Slice((*int64)(v.memory), v.n)[i]
	}
	e := v.at(i)
	return int64(e.bits)
}

func (v *Value) tensor() *Tensor { return (*Tensor)(v.memory) }

// number returns the number that a check compares.
func (v *Value) number(f spec.Field, i int) int64 {
	switch f {
	case spec.FieldLen:
		return v.n
	case spec.FieldDim:
		return v.dim(i)
	case spec.FieldAddress:
		return int64(Address(v.tensor()))
	case spec.FieldDeviceID:
		return int64(v.tensor().Device.ID)
	case spec.FieldDeviceType:
		return int64(v.tensor().Device.Type)
	case spec.FieldData:
		return int64(v.tensor().Data)
	case spec.FieldByteOffset:
		return int64(v.tensor().ByteOffset)
	case spec.FieldNDim:
		return NDim(v.tensor())
	case spec.FieldShape:
		return Size(v.tensor(), i)
	case spec.FieldStrides:
		return Stride(v.tensor(), i)
	}
	return int64(v.bits)
}
