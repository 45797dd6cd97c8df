package tvmffi

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// ToFloat32 returns the elements of a tensor as float32, in row-major order. The data type may
// be any real number type of at most 64 bits; other types are an error of kind ErrType. An
// element of n lanes becomes n numbers. A number is rounded as by a conversion of Go, so one beyond float32
// becomes an infinity. The tensor may be on a device, as for [CopyTo].
func ToFloat32(t *Tensor) ([]float32, error) {
	c, err := cellOf(t)
	if err != nil {
		return nil, err
	}
	if !onHost(c) {
		clone, err := t.Clone()
		if err != nil {
			return nil, err
		}
		defer clone.Release()
		return ToFloat32(clone)
	}
	dtype := DataType(c.DType)
	if err := dtype.numeric(); err != nil {
		return nil, err
	}
	size, err := dtype.size(t.Len())
	if err != nil {
		return nil, err
	}
	n, err := Float32.size(t.Len() * int64(dtype.Lanes)) // it fits: an element has at least one bit
	if err == nil {
		err = roomFor(n)
	}
	if err != nil {
		return nil, err
	}
	numbers := make([]float32, 0, n/4)
	if dtype == Float32 {
		numbers = numbers[:cap(numbers)]
		return numbers, CopyTo(t, numbers)
	}
	if size == 0 {
		return numbers, nil
	}
	if memory, err := dense(c, t); err == nil && (dtype.Bits == 8 || dtype.Bits == 16) {
		numbers = dtype.convert(numbers, memory)
	} else {
		lanes(c, func(bits uint64) bool {
			numbers = append(numbers, float32(dtype.number(bits)))
			return true
		})
	}
	runtime.KeepAlive(t)
	return numbers, nil
}

// convert appends the numbers in dense memory to numbers. t has 8 or 16 bits.
func (t DataType) convert(numbers []float32, memory []byte) []float32 {
	if t.Bits == 8 {
		var values [256]float32
		for i := range values {
			values[i] = float32(t.number(uint64(i)))
		}
		for _, b := range memory {
			numbers = append(numbers, values[b])
		}
		return numbers
	}
	for ; len(memory) >= 2; memory = memory[2:] {
		numbers = append(numbers, float32(t.number(uint64(memory[0])|uint64(memory[1])<<8)))
	}
	return numbers
}

// FromFloat32 returns a new tensor on the host with the given numbers. dtype may be any real
// number type of at most 64 bits; [DataType.FromFloat32] describes the rounding. The memory
// is on the Go heap. Without a shape the tensor has one dimension. The caller owns the
// reference. The error is of kind ErrType for another dtype, and ErrValue if shape does not
// have len(numbers) numbers.
func FromFloat32(dtype DataType, numbers []float32, shape ...int64) (*Tensor, error) {
	if err := dtype.numeric(); err != nil {
		return nil, err
	}
	if dtype.IsScalable() || dtype.Lanes == 0 {
		return nil, failure.Errorf(failure.KindType, "data type %s has no fixed number of lanes", dtype)
	}
	if shape == nil {
		shape = []int64{int64(len(numbers)) / int64(dtype.Lanes)}
	}
	t, err := NewTensor(dtype, shape...)
	if err != nil {
		return nil, err
	}
	if n := t.Len() * int64(dtype.Lanes); n != int64(len(numbers)) {
		t.Release()
		return nil, failure.Errorf(failure.KindValue, "tensor: %s of shape %v has %d numbers, but the slice has %d", dtype, shape, n, len(numbers))
	}
	memory, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	width := int64(dtype.Bits)
	for i, x := range numbers {
		storeBits(memory, int64(i)*width, width, dtype.nearest(x))
	}
	runtime.KeepAlive(t)
	return t, nil
}

// loadBits reads a number of width bits, at most 64, that begins at bit at. The least
// significant bit comes first.
func loadBits(memory []byte, at, width int64) (bits uint64) {
	if width%8 == 0 && at%8 == 0 {
		for i := range width / 8 {
			bits |= uint64(memory[at/8+i]) << (8 * i)
		}
		return bits
	}
	for i := range width {
		bits |= uint64(memory[(at+i)/8]>>((at+i)%8)&1) << i
	}
	return bits
}

// storeBits writes a number of width bits to zeroed memory, from bit at on.
func storeBits(memory []byte, at, width int64, bits uint64) {
	if width%8 == 0 && at%8 == 0 {
		for i := range width / 8 {
			memory[at/8+i] = byte(bits >> (8 * i))
		}
		return
	}
	for i := range width {
		memory[(at+i)/8] |= byte(bits>>i&1) << ((at + i) % 8)
	}
}

// lane returns the bits of lane n of the element at an offset in elements.
func lane(c *abi.DLTensor, offset, n int64) uint64 {
	width := int64(c.DType.Bits)
	at := offset*width*int64(c.DType.Lanes) + n*width
	begin, end := at>>3, (at+width+7)>>3
	return loadBits(bytesAt(address(c)+uintptr(begin), end-begin), at&7, width)
}

// lanes calls f with the bits of each lane in row-major order.
func lanes(c *abi.DLTensor, f func(bits uint64) bool) {
	walk(values.ShapeOf(c), values.Strides(c), func(offset int64) bool {
		for n := range int64(c.DType.Lanes) {
			if !f(lane(c, offset, n)) {
				return false
			}
		}
		return true
	})
}

// A tensor of more than printAll elements is printed with the first and the last printEdge
// elements of each dimension.
const (
	printAll  = 1000
	printEdge = 3
)

// elements returns the elements as nested lists. A negative precision means as many digits
// as are needed to represent a float uniquely.
func (t *Tensor) elements(precision int) string {
	c, err := hostCell(t)
	if err != nil {
		return "(" + failure.Message(err) + ")"
	}
	dtype := DataType(c.DType)
	if dtype.IsScalable() || dtype.Bits == 0 || dtype.Lanes == 0 {
		return "(the elements have no fixed size)"
	}
	p := printer{c: c, dtype: dtype, precision: precision, shape: values.ShapeOf(c), strides: values.Strides(c), brief: t.Len() > printAll}
	p.each(0, 0, func(offset int64) { p.width = max(p.width, len(p.element(offset))) })
	p.list(0, 0, 0)
	runtime.KeepAlive(t)
	return p.out.String()
}

type printer struct {
	c              *abi.DLTensor
	dtype          DataType
	precision      int
	shape, strides []int64
	brief          bool
	width          int
	out            strings.Builder
}

// indices returns the indices of a dimension to print. gap is the index before which
// others are left out, or -1.
func (p *printer) indices(dim int) (list []int64, gap int64) {
	n, gap := p.shape[dim], -1
	for i := int64(0); i < n; i++ {
		if p.brief && n > 2*printEdge && i == printEdge {
			i = n - printEdge
			gap = i
		}
		list = append(list, i)
	}
	return list, gap
}

// each calls f with the offset of each element to print.
func (p *printer) each(dim int, offset int64, f func(int64)) {
	if dim == len(p.shape) {
		f(offset)
		return
	}
	list, _ := p.indices(dim)
	for _, i := range list {
		p.each(dim+1, offset+i*p.strides[dim], f)
	}
}

func (p *printer) list(dim int, offset int64, indent int) {
	if dim == len(p.shape) {
		fmt.Fprintf(&p.out, "%*s", p.width, p.element(offset))
		return
	}
	last := dim == len(p.shape)-1
	separator := ", "
	if !last {
		separator = "," + strings.Repeat("\n", len(p.shape)-1-dim) + strings.Repeat(" ", indent+1)
	}
	p.out.WriteByte('[')
	list, gap := p.indices(dim)
	for n, i := range list {
		if n > 0 {
			p.out.WriteString(separator)
		}
		if i == gap {
			p.out.WriteString("..." + separator)
		}
		p.list(dim+1, offset+i*p.strides[dim], indent+1)
	}
	p.out.WriteByte(']')
}

// element returns the text of one element, in parentheses if it has several lanes.
func (p *printer) element(offset int64) string {
	var texts []string
	for n := range int64(p.dtype.Lanes) {
		texts = append(texts, p.lane(offset, n))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func (p *printer) lane(offset, n int64) string {
	float := func(x float64, size int) string { return strconv.FormatFloat(x, 'g', p.precision, size) }
	if width := int64(p.dtype.Bits); p.dtype.IsComplex() && (width == 64 || width == 128) {
		half := *p.c
		half.DType = abi.DLDataType{Code: abi.DLFloat, Bits: uint8(width / 2), Lanes: 2 * p.c.DType.Lanes}
		part := DataType{abi.DLFloat, half.DType.Bits, 1}
		re, im := part.number(lane(&half, offset, 2*n)), part.number(lane(&half, offset, 2*n+1))
		return strings.Trim(strconv.FormatComplex(complex(re, im), 'g', p.precision, int(width)), "()")
	}
	if p.dtype.Bits > 64 {
		return "?"
	}
	switch bits := lane(p.c, offset, n); {
	case p.dtype.numeric() != nil:
		return fmt.Sprintf("%#x", bits)
	case p.dtype.Code == abi.DLBool:
		return strconv.FormatBool(bits != 0)
	case p.dtype.Code == abi.DLInt:
		shift := 64 - p.dtype.Bits
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10)
	case p.dtype.Code == abi.DLUInt:
		return strconv.FormatUint(bits, 10)
	case p.dtype.Code == abi.DLFloat && p.dtype.Bits == 64:
		return float(p.dtype.number(bits), 64)
	default:
		return float(p.dtype.number(bits), 32)
	}
}
