// Package checktest makes descriptions of kernels and calls of them from bytes, for tests that compare the ways in which
// arguments are checked: the bytes are random, enumerated, or those of a fuzzer.
package checktest

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Maker makes arguments: good ones, changed by its bytes.
type Maker struct {
	data    []byte
	keep    []any // what the arguments point to
	objects []interface{ Release() }
	dialect spec.Dialect
	library bool // what Go makes becomes a value of the library
}

// New makes a Maker of bytes. What it makes is valid as long as the Maker.
func New(data []byte) *Maker { return &Maker{data: data} }

// Random makes n random bytes.
func Random(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// Next takes a number below n, n-1 when there are no more bytes.
func (m *Maker) Next(n int) int {
	if len(m.data) == 0 {
		return n - 1
	}
	b := int(m.data[0]) % n
	m.data = m.data[1:]
	return b
}

func address[T any](m *Maker, v []T) uintptr {
	m.keep = append(m.keep, v)
	return uintptr(unsafe.Pointer(unsafe.SliceData(v)))
}

// A number below changes chooses a change of an argument, all else changes nothing. Nothing is such a byte.
const (
	changes = 20
	Nothing = 239
)

// change chooses a change.
func (m *Maker) change() int { return m.Next(Nothing + 1) }

var (
	numbers = []int64{0, 1, -1, 2, 7, 8, 16, 24, 127, 128, 255, 256, -128, -129, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 2, 1 << 32, 1<<63 - 1, -1 << 63}
	indices = []abi.TypeIndex{abi.TypeNone, abi.TypeInt, abi.TypeBool, abi.TypeFloat, abi.TypeOpaquePtr, abi.TypeDataType, abi.TypeDevice, abi.TypeSmallStr, abi.TypeError, -1, 99, run.Released, run.TooBig}
)

func (m *Maker) number() int64        { return numbers[m.Next(len(numbers))] }
func (m *Maker) index() abi.TypeIndex { return indices[m.Next(len(indices))] }

// Args makes the arguments of a call, perhaps one too many or too few.
func (m *Maker) Args(f *spec.Func) (args []abi.Any) {
	m.dialect = f.Dialect
	for _, p := range f.Params {
		if _, env := p.(spec.EnvStream); !env {
			args = append(args, m.value(p))
		}
	}
	switch m.change() {
	case 0:
		return append(args, abi.Any{})
	case 1:
		return args[:max(len(args)-1, 0)]
	}
	return args
}

// value makes the argument of a parameter. All good numbers are 8, if the description does not say another one.
func (m *Maker) value(p spec.Param) abi.Any {
	if o, ok := p.(spec.Optional); ok {
		if p = o.Param; m.Next(3) == 0 {
			return abi.Any{}
		}
	}
	change := m.change()
	if change == 0 {
		return abi.Any{TypeIndex: m.index(), Bits: uint64(m.number())}
	}
	switch t := p.(type) {
	case spec.Tuple:
		return m.tuple(t, change)
	case spec.Shape:
		return m.shape(t, change)
	case spec.Tensor:
		d := []abi.DLTensor{m.tensor(t, change)}
		if change == 2 {
			return abi.Any{TypeIndex: abi.TypeDLTensorPtr}
		}
		return abi.Any{TypeIndex: abi.TypeDLTensorPtr, Bits: uint64(address(m, d))}
	}
	return m.scalar(p, change)
}

// sequence is the memory of an ffi.Array, or of an ffi.Shape, whose cell begins in the same
// way.
type sequence struct {
	_    [abi.ObjectSize]byte
	cell abi.SeqCell
}

func (m *Maker) array(elems []abi.Any) abi.Any {
	s := []sequence{{cell: abi.SeqCell{Data: address(m, elems), Size: int64(len(elems))}}}
	return abi.Any{TypeIndex: abi.TypeArray, Bits: uint64(address(m, s))}
}

// tuple makes an array, perhaps of another length, whose elements are changed too.
func (m *Maker) tuple(t spec.Tuple, change int) abi.Any {
	var elems []abi.Any
	for _, e := range t.Elems {
		elems = append(elems, m.value(e))
	}
	switch {
	case change == 1:
		elems = append(elems, abi.Any{})
	case change == 2 && len(elems) > 0:
		elems = elems[1:]
	case change == 3 && len(elems) > 0:
		elems[m.Next(len(elems))] = abi.Any{TypeIndex: m.index(), Bits: 8}
	}
	return m.array(elems)
}

// shape makes a shape or an array, perhaps of another length or with other elements.
func (m *Maker) shape(t spec.Shape, change int) abi.Any {
	var sizes []int64
	for _, d := range t.Dims {
		sizes = append(sizes, size(d))
	}
	switch {
	case change == 1:
		sizes = append(sizes, 8)
	case change == 2 && len(sizes) > 0:
		sizes = sizes[1:]
	case change >= 3 && change < 8 && len(sizes) > 0:
		sizes[m.Next(len(sizes))] = m.number()
	}
	if change%2 == 0 {
		s := []sequence{{cell: abi.SeqCell{Data: address(m, sizes), Size: int64(len(sizes))}}}
		return abi.Any{TypeIndex: abi.TypeShape, Bits: uint64(address(m, s))}
	}
	var elems []abi.Any
	for _, n := range sizes {
		elems = append(elems, abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(n)})
	}
	if change == 9 && len(elems) > 0 {
		elems[m.Next(len(elems))].TypeIndex = m.index()
	}
	return m.array(elems)
}

func (m *Maker) scalar(p spec.Param, change int) abi.Any {
	v := abi.Any{TypeIndex: abi.TypeInt, Bits: 8}
	switch t := p.(type) {
	case spec.Const:
		switch c := t.Value.(type) {
		case nil:
			v = abi.Any{}
		case bool:
			v = abi.Any{TypeIndex: abi.TypeBool}
			if c {
				v.Bits = 1
			}
		case int64:
			v.Bits = uint64(c)
		case float64:
			v = abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(c)}
		}
	case spec.Stream, spec.DataPointer:
		v.TypeIndex = abi.TypeOpaquePtr
	case spec.Var:
		if t.DType == spec.Handle {
			v.TypeIndex = abi.TypeOpaquePtr
		}
	}
	switch {
	case change == 5:
		v.TypeIndex = m.index()
	case change == 6 && v.TypeIndex == abi.TypeFloat:
		v.Bits ^= 1 << 63
	case change < changes:
		v.Bits = uint64(m.number())
	}
	return v
}

func (m *Maker) tensor(t spec.Tensor, change int) abi.DLTensor {
	shape, strides := make([]int64, len(t.Shape)), make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = size(d)
	}
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= shape[i]
	}
	for i, d := range t.Strides {
		strides[i] = size(d)
	}
	d := abi.DLTensor{Data: 4096 * 3, Device: abi.DLDevice{Type: abi.DLCUDA}, NDim: int32(len(shape)), DType: abi.DLDataType(t.DType)}
	if offset, ok := t.Offset.(spec.Size); ok {
		d.ByteOffset = uint64(offset)
	}
	if t.Device == "cpu" || t.Device == "" && m.dialect == spec.TVM {
		d.Device.Type = abi.DLCPU
	}
	if t.DeviceID != nil {
		d.Device.ID = int32(size(t.DeviceID))
	}
	switch change {
	case 3:
		d.NDim = int32(m.Next(5)) - 1
		shape, strides = append(shape, 1, 1, 1, 1), append(strides, 1, 1, 1, 1)
	case 4:
		d.Device.Type = int32(m.Next(4))
	case 5:
		d.Device.ID = int32(m.Next(3)) - 1
	case 6:
		d.DType.Code ^= 1 << m.Next(3)
	case 7:
		d.DType.Bits = 8 << m.Next(4)
	case 8:
		d.DType.Lanes = uint16(m.Next(5))
	case 9, 10, 11, 12, 13:
		if len(shape) == 0 {
			break
		}
		if at := m.Next(len(shape)); change < 11 {
			shape[at] = m.number()
		} else if strides[at] = m.number(); change == 13 {
			shape[at] = 1 // so that the stride is not compared
		}
	case 14:
		d.Data += uintptr(m.Next(32))
	case 15:
		d.ByteOffset = uint64(m.Next(32))
	case 16:
		strides = nil
	}
	d.Shape, d.Strides = address(m, shape), 0
	if change == 17 {
		d.Shape = 0
	}
	if strides != nil {
		d.Strides = address(m, strides)
	}
	return d
}

// size is a good value of a dimension.
func size(d spec.Dim) int64 {
	switch n := d.(type) {
	case spec.Size:
		return int64(n)
	case spec.Size64:
		return int64(n)
	}
	return 8
}
