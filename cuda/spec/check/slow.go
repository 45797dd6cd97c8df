package check

import (
	"math"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// source is where arguments come from: one of the two slices.
type source struct {
	packed []abi.Any
	typed  []any
	n      int
}

// cell is the value at one place.
type cell struct {
	value abi.Any
	kind  spec.Accept
	// form says what memory is: C memory of the library, or a slice of Go.
	form   form
	memory unsafe.Pointer
	n      int64
}

type form uint8

const (
	formNone    form = iota
	formTensor       // *abi.DLTensor
	formInts         // n int64: of an ffi.Shape or a slice
	formValues       // n abi.Any: of an ffi.Array
	formGo           // n any: of a slice
	formEnded        // an object that has ended
	formTooBig       // an unsigned number beyond int64
	formUnknown      // no value of the library
)

// pack makes the cell of a borrowed value of the library.
func pack(v abi.Any) cell {
	c := cell{value: v, kind: kindOf(v.TypeIndex)}
	at := uintptr(v.Bits)
	switch v.TypeIndex {
	case abi.TypeTensor:
		c.form, c.memory = formTensor, unsafe.Pointer(capi.At[abi.DLTensor](at+abi.ObjectSize))
	case abi.TypeDLTensorPtr:
		if at == 0 {
			return cell{value: v}
		}
		c.form, c.memory = formTensor, unsafe.Pointer(capi.At[abi.DLTensor](at))
	case abi.TypeShape:
		s := capi.At[abi.ShapeCell](at + abi.ObjectSize)
		c.form, c.memory, c.n = formInts, unsafe.Pointer(capi.At[int64](s.Data)), int64(s.Size)
	case abi.TypeArray:
		s := capi.At[abi.SeqCell](at + abi.ObjectSize)
		c.form, c.memory, c.n = formValues, unsafe.Pointer(capi.At[abi.Any](s.Data)), s.Size
	}
	return c
}

// hidden returns arg such that the compiler does not see that it goes to a function
// that it does not know, which would put the arguments of all callers on the heap.
// Sound, because those functions keep nothing, and because stacks move only at calls
// and there is none between the two conversions.
func hidden(arg *any) *any { return capi.At[any](uintptr(unsafe.Pointer(arg))) }

// streamer is a *cuda.Stream.
type streamer interface{ Pointer() tvmffi.Pointer }

// packGo makes the cell of a value of Go; its memory is that of arg.
func packGo(arg *any) cell {
	if v, ok := number(*arg); ok {
		return cell{value: v, kind: kindOf(v.TypeIndex)}
	}
	switch x := (*arg).(type) {
	case uint, uint64:
		return cell{form: formTooBig}
	case []int64:
		return cell{kind: spec.AcceptShape, form: formInts, memory: unsafe.Pointer(unsafe.SliceData(x)), n: int64(len(x))}
	case []any:
		return cell{kind: spec.AcceptArray, form: formGo, memory: unsafe.Pointer(unsafe.SliceData(x)), n: int64(len(x))}
	case tvmffi.ObjectRef:
		o := objects.StateOf((*hidden(arg)).(objects.Ref))
		if o == nil {
			return cell{kind: spec.AcceptNone}
		}
		if o.Handle() == 0 {
			return cell{form: formEnded}
		}
		return pack(abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())})
	case streamer:
		// The second word of an interface that holds a pointer is the pointer.
		if (*[2]unsafe.Pointer)(unsafe.Pointer(arg))[1] == nil {
			return cell{kind: spec.AcceptNone}
		}
		return pack(abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64((*hidden(arg)).(streamer).Pointer().Address)})
	}
	return cell{form: formUnknown}
}

func (s *source) load(i int) cell {
	if s.packed != nil {
		return pack(s.packed[i])
	}
	return packGo(&s.typed[i])
}

// element returns the cell of an element of a tuple or array, whose length was
// checked.
func (c *cell) element(i int) cell {
	if c.form == formGo {
		return packGo(&unsafe.Slice((*any)(c.memory), c.n)[i])
	}
	return pack(unsafe.Slice((*abi.Any)(c.memory), c.n)[i])
}

// isInt reports whether element i of a shape is an int.
func (c *cell) isInt(i int) bool {
	switch c.form {
	case formInts:
		return true
	case formGo, formValues:
		e := c.element(i)
		return e.kind == spec.AcceptInt
	}
	return false
}

func (c *cell) dim(i int) int64 {
	if c.form == formInts {
		return unsafe.Slice((*int64)(c.memory), c.n)[i]
	}
	e := c.element(i)
	return int64(e.value.Bits)
}

// stride returns a stride of d, which may have none.
func stride(d *abi.DLTensor, i int) int64 {
	if d.Strides != 0 {
		return *capi.At[int64](d.Strides + 8*uintptr(i))
	}
	step := int64(1)
	for j := int(d.NDim) - 1; j > i; j-- {
		step *= size(d, j)
	}
	return step
}

func size(d *abi.DLTensor, i int) int64 { return *capi.At[int64](d.Shape + 8*uintptr(i)) }

// number returns the number that a check compares.
func (c *cell) number(f spec.Field, i int) int64 {
	switch f {
	case spec.FieldLen:
		return c.n
	case spec.FieldDim:
		return c.dim(i)
	case spec.FieldValue:
		return int64(c.value.Bits)
	}
	d := (*abi.DLTensor)(c.memory)
	switch f {
	case spec.FieldAddress:
		return int64(d.Data + uintptr(d.ByteOffset))
	case spec.FieldDeviceID:
		return int64(d.Device.ID)
	case spec.FieldDeviceType:
		return int64(d.Device.Type)
	case spec.FieldNDim:
		if d.Shape == 0 && d.NDim > 0 {
			return -1 // there are no sizes to look at
		}
		return int64(d.NDim)
	case spec.FieldShape:
		return size(d, i)
	}
	return stride(d, i)
}

// cells is the memory of checks with many places.
var cells = sync.Pool{New: func() any { return new([]cell) }}

// slowly does the checks one by one, in order.
func (c *Checker) slowly(v *Values, args source) error {
	p := c.plan
	if args.n != p.NumArgs {
		return c.fail(0, -1)
	}
	if len(p.Places) <= few {
		var some [few]cell
		return c.inOrder(v, args, some[:])
	}
	pooled := cells.Get().(*[]cell)
	defer func() {
		clear(*pooled) // they point to what belongs to the caller
		cells.Put(pooled)
	}()
	if len(*pooled) < len(p.Places) {
		*pooled = make([]cell, len(p.Places))
	}
	return c.inOrder(v, args, *pooled)
}

func (c *Checker) inOrder(v *Values, args source, cells []cell) error {
	p := c.plan
	nums, from := v.slots()
	for i := 1; i < len(p.Checks); i++ {
		k := &p.Checks[i]
		e := &cells[k.Place]
		if e.kind == 0 && e.form == formNone && p.Places[k.Place].Parent < 0 {
			*e = args.load(p.Places[k.Place].Index)
		}
		switch k.Op {
		case spec.OpElement:
			cells[k.Want] = e.element(k.Index)
			continue
		case spec.OpSkipNone:
			if e.kind == spec.AcceptNone {
				i = int(k.Want) - 1
			}
			continue
		case spec.OpType:
			switch e.form {
			case formEnded:
				return c.badValue("RuntimeError", k.Place, "the object was released")
			case formTooBig:
				return c.badValue("ValueError", k.Place, "the number does not fit int64")
			}
			if e.kind&k.Accept == 0 {
				return c.fail(i, -1)
			}
			continue
		case spec.OpElementInt:
			if !e.isInt(k.Index) {
				return c.fail(i, -1)
			}
			continue
		case spec.OpDType:
			got := spec.DType((*abi.DLTensor)(e.memory).DType)
			if integer := func(t spec.DType) bool { return t.Code == abi.DLInt || t.Code == abi.DLUInt }; integer(got) && integer(k.DType) {
				got.Code = k.DType.Code
			}
			if got != k.DType {
				return c.fail(i, -1)
			}
			continue
		case spec.OpContiguous:
			d := (*abi.DLTensor)(e.memory)
			if d.Strides != 0 && !contiguous(d) {
				return c.fail(i, -1)
			}
			continue
		case spec.OpFloat:
			if math.Float64frombits(e.value.Bits) != k.Float {
				return c.fail(i, -1)
			}
			continue
		}
		if k.Maybe && (k.Op == spec.OpMatch) != (from[k.Var] != 0) {
			continue
		}
		n, ok := e.number(k.Field, k.Index), true
		switch k.Op {
		case spec.OpEqual:
			ok = n == k.Want
		case spec.OpRange:
			ok = n >= k.Min && n <= k.Max
		case spec.OpDivisible:
			ok = n%k.Want == 0
		case spec.OpMatch:
			ok = n == nums[k.Var]
		case spec.OpBind:
			nums[k.Var], from[k.Var] = n, int32(i)
		}
		if !ok && !(k.UnlessOne && size((*abi.DLTensor)(e.memory), k.Index) == 1) {
			at := -1
			if k.Op == spec.OpMatch {
				at = int(from[k.Var])
			}
			return c.fail(i, at)
		}
	}
	return nil
}
