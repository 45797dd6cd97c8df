package codec

import (
	"math"
	"reflect"
	"runtime"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Array, List, Map and Dict share this code, which makes elements of Go values and reads
// elements. Numbers, bools and strings need no codec.

// PackElement adds x to the arguments of a call.
func PackElement[T any](p *calls.Pack, x T, outer *Nest) error {
	switch v := any(&x).(type) {
	case *int64:
		p.Int(*v)
	case *float64:
		p.Float(*v)
	case *bool:
		p.Bool(*v)
	case *string:
		return p.String(*v)
	default:
		return putElement(p, x, outer)
	}
	return nil
}

func putElement[T any](p *calls.Pack, x T, outer *Nest) error {
	return Pack(p, For[T](), unsafe.Pointer(&x), outer)
}

// Pack adds the value at x to the arguments of a call. Strings go as they are: the
// library makes objects of them.
func Pack(p *calls.Pack, c *Codec, x unsafe.Pointer, outer *Nest) error {
	switch c.Direct {
	case directString:
		if c.Typed == "" || !outer.Typed() {
			return p.String(*(*string)(x))
		}
	case directInt:
		p.Int(*(*int64)(x))
		return nil
	case directFloat:
		p.Float(*(*float64)(x))
		return nil
	case directBool:
		p.Bool(*(*bool)(x))
		return nil
	case DirectAny:
		switch x := (*(*any)(x)).(type) {
		case nil:
			p.Any(abi.Any{})
			return nil
		case string:
			return p.String(x)
		case int:
			p.Int(int64(x))
			return nil
		case int64:
			p.Int(x)
			return nil
		case float64:
			p.Float(x)
			return nil
		case bool:
			p.Bool(x)
			return nil
		}
	}
	if p.Flat() && c.Direct == directBytes {
		return p.Bytes(*(*[]byte)(x))
	}
	t, err := EncodeIn(c, x, outer)
	if err == nil && p.Flat() {
		return putFlat(p, t)
	}
	if err == nil {
		err = t.CheckEscape()
	}
	if err == nil {
		p.Put(t)
	}
	return err
}

// putFlat adds a value to a result in flat form. A container has added its own parts.
func putFlat(p *calls.Pack, t values.AnyView) error {
	if t.Value.TypeIndex == callbacks.Flat {
		return nil
	}
	v, err := t.Own()
	if err == nil {
		p.Own(v)
	}
	return err
}

// ReturnFlat returns the value at x from a callback whose caller takes flat forms.
func ReturnFlat(a *callbacks.Args, c *Codec, x unsafe.Pointer) error {
	p := calls.NewFlat(a.FlattensAny())
	defer p.Close()
	if err := Pack(p, c, x, &Nest{flat: p}); err != nil {
		return a.WrongResult(err)
	}
	p.Return(a)
	return nil
}

// PutFlat packs the value at x as argument i of a callee that takes flat forms. A value without parts is packed as for
// every other callee.
func PutFlat(c *calls.Call, i int, of *Codec, x unsafe.Pointer) {
	p := calls.NewFlat(true)
	t, err := EncodeIn(of, x, &Nest{flat: p})
	if err == nil && t.Value.TypeIndex == callbacks.Flat {
		c.PutFlat(i, p)
		return
	}
	p.Close()
	c.Put(i, t, err)
}

// scalarPart is an element of a tuple that is a number, a bool or a text.
type scalarPart struct {
	kind directPack
	at   uintptr
}

const maxScalars = 8

// SetScalars says of which codecs the elements of a tuple are, and where they are.
func (c *Codec) SetScalars(items []*Codec, offsets []uintptr) {
	parts := make([]scalarPart, len(items))
	for i, item := range items {
		parts[i] = scalarPart{item.Direct, offsets[i]}
		if k := item.Direct; k != directInt && k != directFloat && k != directBool && k != directString || len(items) > maxScalars {
			return
		}
	}
	c.scalars = parts
}

// ReturnScalars is ReturnFlat for a tuple of few numbers, bools and texts, which the compiler can
// leave on the stack. It returns false for all other values.
func ReturnScalars(a *callbacks.Args, c *Codec, x unsafe.Pointer) bool {
	if len(c.scalars) == 0 {
		return false
	}
	var values [1 + maxScalars]abi.Any
	var room [256]byte
	text := room[:0]
	values[0] = abi.Any{TypeIndex: callbacks.FlatTuple, Bits: uint64(len(c.scalars))}
	for i, part := range c.scalars {
		v, x := &values[i+1], unsafe.Add(x, part.at)
		switch part.kind {
		case directInt:
			*v = abi.Any{TypeIndex: abi.TypeInt, Bits: *(*uint64)(x)}
		case directFloat:
			*v = abi.Any{TypeIndex: abi.TypeFloat, Bits: *(*uint64)(x)}
		case directBool:
			*v = abi.Any{TypeIndex: abi.TypeBool, Bits: BoolBits(*(*bool)(x))}
		case directString:
			s := *(*string)(x)
			if uint64(len(s)) > math.MaxUint32 {
				return false
			}
			*v = abi.Any{TypeIndex: abi.TypeRawStr, Small: uint32(len(s)), Bits: uint64(len(text))}
			text = append(text, s...)
		}
	}
	a.ReturnFlat(values[:1+len(c.scalars)], text)
	return true
}

// directPack marks the codecs that Pack does without.
type directPack uint8

const (
	directString directPack = iota + 1 // a string
	directInt                          // an int64
	directFloat                        // a float64
	directBool                         // a bool
	directBytes                        // bytes, which are not packed without a codec but in flat form
	DirectAny                          // any, whose value may be a scalar or a string
)

// arrayTemp is an Array that nobody else refers to.
func arrayTemp(handle uintptr) values.AnyView {
	return values.AnyView{Value: abi.Any{TypeIndex: abi.TypeArray, Bits: uint64(handle)}, Owned: true}
}

// scalarArray makes an Array of scalars, in place where that is possible.
func scalarArray[N any](items []N, outer *Nest, fill func(cells []abi.Any, items []N)) (values.AnyView, error) {
	if p := outer.parts(); p != nil {
		p.Begin(callbacks.FlatList, len(items))
		fill(p.Grow(len(items)), items)
		return flatView, nil
	}
	array, all := objects.NewArray(len(items))
	if array != 0 {
		fill(all, items)
		t := arrayTemp(array)
		t.Scalars = true
		return t, nil
	}
	all = make([]abi.Any, len(items))
	fill(all, items)
	return Packed(&NewArray, len(items), func(p *calls.Pack) error {
		for _, v := range all {
			p.Any(v)
		}
		return nil
	})
}

func fillInts[N int | int32 | int64](all []abi.Any, items []N) {
	all = all[:len(items)]
	for i, x := range items {
		all[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(int64(x))}
	}
}

func fillFloats[N float32 | float64](all []abi.Any, items []N) {
	all = all[:len(items)]
	for i, x := range items {
		all[i] = abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(float64(x))}
	}
}

func fillBools(all []abi.Any, items []bool) {
	all = all[:len(items)]
	for i, x := range items {
		all[i] = abi.Any{TypeIndex: abi.TypeBool, Bits: BoolBits(x)}
	}
}

// stringArray makes an Array of strings in one crossing: the library makes the
// String objects.
func stringArray(f *calls.Func, items []string, outer *Nest) (values.AnyView, error) {
	return PackedIn(outer, f, len(items), func(p *calls.Pack) error {
		for i, s := range items {
			if err := p.String(s); err != nil {
				return failure.Annotate("element "+Itoa(i), err)
			}
		}
		return nil
	})
}

// EncodeArray makes an Array of the items.
func EncodeArray[E any](items []E, outer *Nest) (values.AnyView, error) {
	if _, err := NewArray.Handle(); err != nil {
		return values.AnyView{}, err
	}
	switch s := any(&items).(type) {
	case *[]int64:
		return scalarArray(*s, outer, fillInts[int64])
	case *[]int:
		return scalarArray(*s, outer, fillInts[int])
	case *[]int32:
		return scalarArray(*s, outer, fillInts[int32])
	case *[]float64:
		return scalarArray(*s, outer, fillFloats[float64])
	case *[]float32:
		return scalarArray(*s, outer, fillFloats[float32])
	case *[]bool:
		return scalarArray(*s, outer, fillBools)
	}
	return EncodeBy(&NewArray, items, outer)
}

// EncodeBy makes a container of the items by calling f.
func EncodeBy[E any](f *calls.Func, items []E, outer *Nest) (values.AnyView, error) {
	switch s := any(&items).(type) {
	case *[]int64:
		return PackedIn(outer, f, len(*s), func(p *calls.Pack) error {
			for _, x := range *s {
				p.Int(x)
			}
			return nil
		})
	case *[]string:
		return stringArray(f, *s, outer)
	}
	return encodeItems(f, items, outer)
}

func encodeItems[E any](f *calls.Func, items []E, outer *Nest) (values.AnyView, error) {
	inner, err := outer.Enter(reflect.TypeFor[[]E](), unsafe.Pointer(unsafe.SliceData(items)), len(items))
	if err != nil {
		return values.AnyView{}, err
	}
	c := For[E]()
	return PackedIn(outer, f, len(items), func(p *calls.Pack) error {
		for i := range items {
			if err := Pack(p, c, unsafe.Pointer(&items[i]), inner); err != nil {
				return failure.Annotate("element "+Itoa(i), err)
			}
		}
		return nil
	})
}

// Packed makes a container by calling f with what fill adds.
func Packed(f *calls.Func, n int, fill func(p *calls.Pack) error) (values.AnyView, error) {
	fn, err := f.Handle()
	if err != nil {
		return values.AnyView{}, err
	}
	p := calls.NewPack(n)
	defer p.Close()
	if err := fill(p); err != nil {
		return values.AnyView{}, err
	}
	v, err := p.Apply(fn)
	return values.AnyView{Value: v, Owned: true}, err
}

// PackedIn is Packed for a container inside outer. In a result in flat form, the parts of a
// container follow its head.
func PackedIn(outer *Nest, f *calls.Func, n int, fill func(p *calls.Pack) error) (values.AnyView, error) {
	p := outer.parts()
	if p == nil {
		return Packed(f, n, fill)
	}
	switch f {
	case &Maps.Create:
		p.Begin(callbacks.FlatMap, n/2)
	case &NewTuple:
		p.Begin(callbacks.FlatTuple, n)
	default:
		p.Begin(callbacks.FlatList, n)
	}
	return flatView, fill(p)
}

// flatView stands for a container whose parts are in a result in flat form.
var flatView = values.AnyView{Value: abi.Any{TypeIndex: callbacks.Flat}}

// Apply calls a Function object with n packed values.
func Apply(fn uintptr, n int, item func(i int) (values.AnyView, error)) (abi.Any, error) {
	p := calls.NewPack(n)
	defer p.Close()
	for i := range n {
		t, err := item(i)
		if err != nil {
			return abi.Any{}, err
		}
		p.Put(t)
	}
	return p.Apply(fn)
}

// Cells views the elements of an Array or a List.
func Cells(o *objects.Object, what string) []abi.Any {
	Alive(o, what)
	cell := capi.PointerTo[abi.SeqCell](o.Handle() + abi.ObjectSize)
	if cell.Size == 0 {
		return nil
	}
	return unsafe.Slice(capi.PointerTo[abi.Any](cell.Data), cell.Size)
}

// Alive panics with an *Error if a method of a type got no object.
func Alive(o *objects.Object, kind string) {
	if o.Handle() == 0 {
		panic(noReceiver(failure.KindRuntime, kind, o))
	}
}

// Element reads a cell.
func Element[T any](v *abi.Any, from objects.Reading) (T, error) {
	var x T
	switch p := any(&x).(type) {
	case *int64:
		if v.TypeIndex == abi.TypeInt {
			*p = int64(v.Bits)
			return x, nil
		}
	case *float64:
		if v.TypeIndex == abi.TypeFloat {
			*p = math.Float64frombits(v.Bits)
			return x, nil
		}
	case *bool:
		if v.TypeIndex == abi.TypeBool {
			*p = v.Bits != 0
			return x, nil
		}
	case *string:
		if text, ok := capi.BorrowString(v); ok {
			*p = string(text)
			return x, nil
		}
	}
	return elementByCodec[T](v, from)
}

func elementByCodec[T any](v *abi.Any, from objects.Reading) (T, error) {
	x := new(T)
	err := For[T]().Decode(*v, from, unsafe.Pointer(x))
	return *x, err
}

// ElementAt reads element i of a sequence; what names it in the panic of a wrong index
// or type.
func ElementAt[T any](o *objects.Object, what string, i int) T {
	all := Cells(o, what)
	if i < 0 || i >= len(all) {
		panic(failure.Errorf(failure.KindIndex, "%s: index %d out of range with %d elements", what, i, len(all)))
	}
	x, err := Element[T](&all[i], objects.ReadOwned())
	if err != nil {
		panic(failure.Annotate(what+"["+Itoa(i)+"]", err))
	}
	runtime.KeepAlive(o)
	return x
}

// Scalars returns the elements of an Array, the index of their type and what becomes 0
// when the Array is released, if a T is what lies in their payload; nil for other Ts.
func Scalars[T any](o *objects.Object) ([]abi.Any, abi.TypeIndex, *uintptr) {
	switch any((*T)(nil)).(type) {
	case *int64:
		return Cells(o, "Array"), abi.TypeInt, o.HandleAddr()
	case *float64:
		return Cells(o, "Array"), abi.TypeFloat, o.HandleAddr()
	}
	return nil, 0, nil
}

// Payload views the payload of a cell as a T, which the type of the cell allows.
func Payload[T any](v *abi.Any) *T { return (*T)(unsafe.Pointer(&v.Bits)) }

// SomeElements ranges over a sequence from element i on.
func SomeElements[T any](o *objects.Object, what string, i int, yield func(int, T) bool) {
	loan := objects.BorrowScope{Counted: true}
	defer loan.End()
	from := objects.ReadBorrowed(&loan)
	r := NewStringReader[T]()
	for all := Cells(o, what); i < len(all); i++ {
		x, err := r.Read(&all[i], len(all)-i, from)
		if err != nil {
			panic(failure.Annotate(what+"["+Itoa(i)+"]", err))
		}
		if !yield(i, x) {
			return
		}
		loan.End()
		if i == len(all)-1 && o.Handle() == 0 {
			return // released at the last step
		}
		all = Cells(o, what) // a List may have changed
	}
}

// CopyTo reads elements into dst.
func CopyTo[T any](o *objects.Object, what string, dst []T) (n int, err error) {
	defer Catch(&err)
	defer runtime.KeepAlive(o)
	all := Cells(o, what)
	all = all[:min(len(all), len(dst))]
	n = readAll(all, false, any(&dst))
	for ; n < len(all); n++ {
		if dst[n], err = Element[T](&all[n], objects.ReadOwned()); err != nil {
			return n, failure.Annotate(what+"["+Itoa(n)+"]", err)
		}
	}
	return n, nil
}

// SliceOf reads a sequence into a new slice; nil gives nil.
func SliceOf[T any](o *objects.Object, what string) ([]T, error) {
	if _, ended := o.Ended(); ended {
		return nil, noReceiver(failure.KindRuntime, what, o)
	}
	if o == nil {
		return nil, nil
	}
	defer runtime.KeepAlive(o)
	all := Cells(o, what)
	s := make([]T, len(all))
	i := readAll(all, false, any(&s))
	for ; i < len(all); i++ {
		x, err := Element[T](&all[i], objects.ReadOwned())
		if err != nil {
			Abandon(reflect.ValueOf(s))
			return nil, failure.Annotate(what+"["+Itoa(i)+"]", err)
		}
		s[i] = x
	}
	return s, nil
}

// readAll reads elements into the slice that p points to, which has room for all,
// if it is one of numbers, bools or strings. It returns how many were of that
// type, from the first. Ints become float64 if they are converted.
func readAll(all []abi.Any, convert bool, p any) int {
	switch p := p.(type) {
	case *[]int:
		return readInts(*p, all)
	case *[]int32:
		return readInts(*p, all)
	case *[]float32:
		for i := range all {
			x := math.Float64frombits(all[i].Bits)
			if all[i].TypeIndex != abi.TypeFloat || math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) {
				return i
			}
			(*p)[i] = float32(x)
		}
	case *[]int64:
		return readPayloads(*p, all, abi.TypeInt)
	case *[]time.Duration:
		return readPayloads(*p, all, abi.TypeInt)
	case *[]float64:
		i := readPayloads(*p, all, abi.TypeFloat)
		for ; convert && i < len(all); i++ {
			switch all[i].TypeIndex {
			case abi.TypeInt:
				(*p)[i] = float64(int64(all[i].Bits))
			case abi.TypeFloat:
				(*p)[i] = math.Float64frombits(all[i].Bits)
			default:
				return i
			}
		}
		return i
	case *[]bool:
		for i := range all {
			if all[i].TypeIndex != abi.TypeBool {
				return i
			}
			(*p)[i] = all[i].Bits != 0
		}
	case *[]string:
		text := joinStrings(all)
		for i := range all {
			t, ok := capi.BorrowString(&all[i])
			if !ok {
				return i
			}
			(*p)[i], text = text[:len(t)], text[len(t):]
		}
	default:
		return 0
	}
	return len(all)
}

// readInts copies the ints before the first cell that is of another type or does not fit N to dst, which
// has room for all, and returns how many these are.
func readInts[N int | int32](dst []N, all []abi.Any) int {
	for i := range all {
		x := int64(all[i].Bits)
		if all[i].TypeIndex != abi.TypeInt || int64(N(x)) != x {
			return i
		}
		dst[i] = N(x)
	}
	return len(all)
}

// readPayloads copies the payloads of the cells before the first of another type to dst,
// which has room for all, and returns how many these are. It takes eight at a time, which
// halves the work of one.
func readPayloads[N int64 | float64 | time.Duration](dst []N, all []abi.Any, index abi.TypeIndex) int {
	i := 0
	for ; i <= len(all)-8; i += 8 {
		c, d := all[i:][:8], dst[i:][:8]
		if (c[0].TypeIndex^index)|(c[1].TypeIndex^index)|(c[2].TypeIndex^index)|(c[3].TypeIndex^index)|
			(c[4].TypeIndex^index)|(c[5].TypeIndex^index)|(c[6].TypeIndex^index)|(c[7].TypeIndex^index) != 0 {
			break
		}
		d[0], d[1], d[2], d[3] = *Payload[N](&c[0]), *Payload[N](&c[1]), *Payload[N](&c[2]), *Payload[N](&c[3])
		d[4], d[5], d[6], d[7] = *Payload[N](&c[4]), *Payload[N](&c[5]), *Payload[N](&c[6]), *Payload[N](&c[7])
	}
	for ; i < len(all) && all[i].TypeIndex == index; i++ {
		dst[i] = *Payload[N](&all[i])
	}
	return i
}

// joinStrings copies the texts among cells, one behind the other.
func joinStrings(all []abi.Any) string {
	n := 0
	for i := range all {
		t, _ := capi.BorrowString(&all[i])
		n += len(t)
	}
	if n == 0 {
		return ""
	}
	b := make([]byte, 0, n)
	for i := range all {
		t, _ := capi.BorrowString(&all[i])
		b = append(b, t...)
	}
	return unsafe.String(&b[0], n)
}

var (
	NewArray = calls.Func{Name: "ffi.Array"}
	NewTuple = calls.Func{Name: "ffi.Array"} // for an Array that is a tuple
	NewList  = calls.Func{Name: "ffi.List"}
)

// CreateOf returns the function that makes a container of an index.
func CreateOf(t abi.TypeIndex) *calls.Func {
	if kind := MapKindOf(t); kind != nil {
		return &kind.Create
	}
	if crossing.Mutable(t) {
		return &NewList
	}
	return &NewArray
}

// Heap makes the compiler put the elements of s on the heap, which does not
// move.
func Heap[T any](s []T) { capi.Escape(unsafe.Pointer(unsafe.SliceData(s))) }
