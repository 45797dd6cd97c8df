package codec

import (
	"encoding/binary"
	"math"
	"math/big"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Codec converts values of one Go type. There is one for every type that a
// generated signature may hold, and it is the only place where Go values and
// native values meet, but for the scalars of the call frames.
type Codec struct {
	// Schema is the type expression of the type, "" where that follows from its kind.
	Schema string
	// Wire is the type as which the values cross, nil for those that cross as they are.
	Wire reflect.Type
	// takeWire sets the value at p to the one for which the value of the type Wire at w stands.
	takeWire func(w, p unsafe.Pointer) error
	// Parts are the types of the elements of a container.
	Parts []reflect.Type
	// Tuple and Variant mark the structs that stand for these.
	Tuple, Variant bool
	// Name is the expected type, for errors.
	Name string
	// Typed names the type to callers that know it, for values of any type: time, duration, complex, set, or an
	// exported enum. It is empty for all other types.
	Typed string
	// Encode packs the value at p. AnyView.Keep holds what the packed value points to.
	Encode func(p unsafe.Pointer) (values.AnyView, error)
	// Absent is the reason why the Go type has no counterpart, nil if it has one.
	Absent error
	// Direct says what Pack does by itself.
	Direct directPack
	// scalars are the elements of a tuple that ReturnScalars returns, nil for all other types.
	scalars []scalarPart
	// Plain copies the fields of a struct whose fields are all plain; nil for other types.
	Plain *Plain
	// Empty makes the container that nil stands for where a value is not optional; nil for
	// other types.
	Empty *calls.Func
	// Abandon releases the objects in a value that was read in part before an error. It is
	// nil if they follow from the kind of the type.
	Abandon func(v reflect.Value)
	// within packs a value inside others; see Nested.
	within func(p unsafe.Pointer, outer *Nest) (values.AnyView, error)
	// Decode reads v, which is borrowed, into the value at p. from says who owns the
	// objects in it.
	Decode func(v abi.Any, from objects.Reading, p unsafe.Pointer) error
	// misfit returns the error of the first part of a borrowed container that is not what the type says. It
	// is nil for other types.
	misfit func(v abi.Any) error
	// parse reads a text that stands for a value, nil for types whose values have none.
	parse func(text string, p unsafe.Pointer) error
}

// codecs holds the codecs that were made.
var codecs sync.Map // reflect.Type -> *Codec

// recent has some of them again, by the address of the type: a look into codecs takes 15 ns.
var recent [256]atomic.Pointer[recentCodec]

type recentCodec struct {
	of    unsafe.Pointer
	codec *Codec
}

func recentOf(t reflect.Type) (*atomic.Pointer[recentCodec], unsafe.Pointer) {
	of := (*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1]
	at := uintptr(of) / 32
	return &recent[(at^at/256)%256], of
}

// Of returns the codec of a type.
func Of(t reflect.Type) *Codec {
	place, of := recentOf(t)
	before := place.Load()
	if before != nil && before.of == of {
		return before.codec
	}
	c, ok := codecs.Load(t)
	if !ok {
		c, _ = codecs.LoadOrStore(t, makeCodec(t)) // unless Set was called meanwhile
	}
	place.CompareAndSwap(before, &recentCodec{of, c.(*Codec)}) // unless Set replaced it meanwhile
	return c.(*Codec)
}

// Set makes c the codec of a type. Package define adds the codecs of its types.
func Set(t reflect.Type, c *Codec) {
	codecs.Store(t, c)
	place, of := recentOf(t)
	place.Store(&recentCodec{of, c})
}

// Encode packs x by its static type.
func Encode[T any](x T) (values.AnyView, error) {
	return Of(reflect.TypeFor[T]()).Encode(unsafe.Pointer(&x))
}

// Decode reads a borrowed value as a T.
func Decode[T any](v abi.Any) (T, error) { return DecodeFrom[T](v, objects.ReadOwned()) }

// DecodeFrom is [Decode] with a Reading.
func DecodeFrom[T any](v abi.Any, from objects.Reading) (x T, err error) {
	err = Of(reflect.TypeFor[T]()).Decode(v, from, unsafe.Pointer(&x))
	return x, err
}

// Take reads an owned value as a T and releases it.
func Take[T any](v abi.Any) (T, error) {
	x, err := Decode[T](v)
	Release(v)
	return x, err
}

// Scalar makes the codec of a type whose values fit the payload of a value.
func Scalar[T any](name string, index abi.TypeIndex, bits func(T) uint64, value func(uint64) T, parse func(text string) (T, error)) *Codec {
	c := &Codec{
		Name: name,
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			return values.AnyView{Value: abi.Any{TypeIndex: index, Bits: bits(*(*T)(p))}}, nil
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) (err error) {
			if v.TypeIndex != index {
				if text, ok := convertibleString(v, from); ok && parse != nil {
					*(*T)(p), err = parse(text)
					return err
				}
				if v, err = convertScalar(v, from, index, name); err != nil {
					return err
				}
			}
			*(*T)(p) = value(v.Bits)
			return nil
		},
	}
	if parse != nil {
		c.parse = func(text string, p unsafe.Pointer) (err error) {
			*(*T)(p), err = parse(text)
			return err
		}
	}
	return c
}

// basicCodec builds the codec of a type that stands for a value of the library
// by itself; nil for other types.
func basicCodec(t reflect.Type) *Codec {
	switch t {
	case reflect.TypeFor[bool]():
		c := Scalar("bool", abi.TypeBool, BoolBits, func(b uint64) bool { return b != 0 }, nil)
		c.Direct = directBool
		return c
	case reflect.TypeFor[int64]():
		c := Scalar("int", abi.TypeInt, func(v int64) uint64 { return uint64(v) }, func(b uint64) int64 { return int64(b) }, nil)
		c.Direct = directInt
		return c
	case reflect.TypeFor[float64]():
		c := Scalar("float", abi.TypeFloat, math.Float64bits, math.Float64frombits, nil)
		c.Direct = directFloat
		return c
	case reflect.TypeFor[string]():
		c := stringCodec("ffi.String", abi.TypeSmallStr, abi.TypeStr, abi.TypeRawStr)
		c.Direct = directString
		return c
	case reflect.TypeFor[*big.Int]():
		return bigIntCodec()
	}
	return nil
}

// BoolBits returns the payload of a bool.
func BoolBits(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func stringCodec(name string, small, heap, raw abi.TypeIndex) *Codec {
	return &Codec{
		Name: name,
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			if err := NeedLibrary(); err != nil {
				return values.AnyView{}, err
			}
			v, err := values.NewString(*(*string)(p))
			return values.AnyView{Value: v, Owned: true}, err
		},
		Decode: func(v abi.Any, _ objects.Reading, p unsafe.Pointer) error {
			s, ok := capi.StringOf(v)
			if !ok || v.TypeIndex != small && v.TypeIndex != heap && v.TypeIndex != raw {
				return WrongType(name, v)
			}
			*(*string)(p) = s
			return nil
		},
	}
}

var bytesCodec = &Codec{
	Name:   "ffi.Bytes",
	Direct: directBytes,
	Encode: func(p unsafe.Pointer) (values.AnyView, error) {
		if err := NeedLibrary(); err != nil {
			return values.AnyView{}, err
		}
		v, err := values.NewBytes(*(*[]byte)(p))
		return values.AnyView{Value: v, Owned: true}, err
	},
	Decode: func(v abi.Any, _ objects.Reading, p unsafe.Pointer) error {
		s, ok := capi.StringOf(v)
		if !ok || v.TypeIndex != abi.TypeSmallBytes && v.TypeIndex != abi.TypeBytes && v.TypeIndex != abi.TypeByteArrayPtr {
			return WrongType("ffi.Bytes", v)
		}
		*(*[]byte)(p) = []byte(s)
		return nil
	},
}

// Public makes the codec of a type of package tvmffi, which sets it, and of what is
// defined by such types; nil for all others. It is asked once for each type.
var Public func(t reflect.Type) *Codec

// makeCodec builds the codec of a type. A type without one gets a codec that
// fails with the reason, so that a wrong argument is an error of its call.
func makeCodec(t reflect.Type) *Codec {
	if t.Implements(reflect.TypeFor[interface{ orEmpty() }]()) {
		return orEmptyCodec(Of(t.Field(0).Type), t.Field(0).Type)
	}
	if c := Public(t); c != nil {
		return c
	}
	return Own(t)
}

// Own makes the codec that a type has by itself, without package tvmffi.
func Own(t reflect.Type) *Codec {
	if c := basicCodec(t); c != nil {
		return c
	}
	if t.Kind() == reflect.Pointer {
		if class := ClassOf(t); class != nil {
			return ObjectCodec(class)
		}
		return optionalCodec(t)
	}
	switch KindOf(t) {
	case crossing.KindBytes:
		return bytesCodec
	case crossing.KindSequence:
		return sliceCodec(t)
	case crossing.KindMapping:
		return goMapCodec(t)
	case crossing.KindBool, crossing.KindString, crossing.KindFloat, crossing.KindInt:
		return numberCodec(t)
	case crossing.KindRecord:
		if fields := TaggedFields(t); len(fields) > 0 {
			return StructCodec(t, fields)
		}
	default:
		if c := otherCodec(t); c != nil {
			return c
		}
	}
	return NoCodec(t, "this type has no counterpart in TVM-FFI")
}

// NoCodec returns the codec of a type without a counterpart: it fails with the reason.
func NoCodec(t reflect.Type, why string) *Codec {
	err := failure.Errorf(failure.KindType, "Go type %s: %s", t, why)
	return &Codec{
		Name:   t.String(),
		Absent: err,
		Encode: func(unsafe.Pointer) (values.AnyView, error) { return values.AnyView{}, err },
		Decode: func(abi.Any, objects.Reading, unsafe.Pointer) error { return err },
	}
}

// ClassOf returns the object type of a pointer type, nil if it is not one.
func ClassOf(t reflect.Type) *fields.Type {
	m, ok := t.MethodByName("TVMFFIType")
	if !ok || m.Type.NumIn() != 2 || m.Type.In(1) != t {
		return nil
	}
	class, _ := m.Func.Call([]reflect.Value{reflect.Zero(t), reflect.Zero(t)})[0].Interface().(*fields.Type)
	return class
}

// ObjectCodec returns the codec of pointers to objects of a class; nil is None.
func ObjectCodec(class *fields.Type) *Codec {
	return &Codec{
		Name: class.Key,
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			return EncodeObject(*(**objects.Object)(p))
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				*(**objects.Object)(p) = nil
				return nil
			}
			index := v.TypeIndex
			if index == abi.TypeDLTensorPtr {
				index = abi.TypeTensor // as which it is lent
			}
			if !index.IsObject() || index == abi.TypeStr || index == abi.TypeBytes {
				return WrongType(class.Key, v) // small strings are not objects, so heap strings must not pass as objects
			}
			ok, err := class.Accepts(index)
			if err != nil {
				return err
			}
			if !ok {
				return WrongType(class.Key, v)
			}
			if v.TypeIndex == abi.TypeDLTensorPtr {
				*(**objects.Object)(p), err = lendTensor(v, from, class.Key)
				return err
			}
			*(**objects.Object)(p) = lend(v, from)
			return nil
		},
	}
}

// lend wraps the object in v.
func lend(v abi.Any, from objects.Reading) *objects.Object {
	if v.Bits == 0 {
		return nil
	}
	return from.Wrap(uintptr(v.Bits))
}

// EncodeObject packs an object, which stays with the caller; nil is None.
func EncodeObject(o *objects.Object) (values.AnyView, error) {
	if o == nil {
		return values.AnyView{}, nil
	}
	if why, ended := o.Ended(); ended {
		return values.AnyView{}, failure.Errorf(failure.KindRuntime, "the object %s", why)
	}
	return values.AnyView{Value: o.View(), Keep: o}, nil
}

// optionalCodec converts *T for a scalar, a string or a small struct: nil is
// None.
func optionalCodec(t reflect.Type) *Codec {
	name := t.String()
	endless := false // a pointer to itself: no value ends it but None
	for u, seen := t, map[reflect.Type]bool{}; u.Kind() == reflect.Pointer && !endless; u = u.Elem() {
		endless, seen[u] = seen[u], true
	}
	inner := sync.OnceValue(func() *Codec { return Of(t.Elem()) })
	if !Recursive(t) {
		name = "Optional<" + inner().Name + ">"
	}
	c := &Codec{
		Name: name,
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				*(*unsafe.Pointer)(p) = nil
				return nil
			}
			if endless {
				return failure.Errorf(failure.KindType, "expected None, got %s: Go type %s is a pointer to itself", capi.KeyOf(v.TypeIndex), t)
			}
			x := reflect.New(t.Elem())
			if err := inner().Decode(v, from, x.UnsafePointer()); err != nil {
				return err
			}
			*(*unsafe.Pointer)(p) = x.UnsafePointer()
			return nil
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		x := *(*unsafe.Pointer)(p)
		if x == nil {
			return values.AnyView{}, nil
		}
		c := inner()
		if c.within != nil {
			var err error
			if outer, err = outer.Enter(t, x, 1); err != nil {
				return values.AnyView{}, err
			}
		}
		if p := outer.parts(); p != nil {
			return flatView, Pack(p, c, x, outer)
		}
		return EncodeIn(c, x, outer)
	})
}

// numberCodec converts the other number types and of named basic types, with
// a check of the range.
func numberCodec(t reflect.Type) *Codec {
	switch t.Kind() {
	case reflect.Bool:
		return Of(reflect.TypeFor[bool]())
	case reflect.String:
		return Of(reflect.TypeFor[string]())
	case reflect.Float32, reflect.Float64:
		return floatCodec(t)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCodec(t)
	}
	return uintCodec(t)
}

func valueAt(t reflect.Type, p unsafe.Pointer) reflect.Value { return reflect.NewAt(t, p).Elem() }

// overflow is the error of a number, or of the text of one, that t does not hold.
func overflow(v any, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		least := int64(math.MinInt64) >> (64 - t.Bits())
		return failure.Errorf("OverflowError", "expected an int from %d to %d, got %v", least, -(least + 1), v)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return failure.Errorf("OverflowError", "expected an int from 0 to %d, got %v", uint64(math.MaxUint64)>>(64-t.Bits()), v)
	}
	return failure.Errorf("OverflowError", "%v does not fit %s", v, t)
}

func floatCodec(t reflect.Type) *Codec {
	return &Codec{
		Name:   "float",
		Encode: func(p unsafe.Pointer) (values.AnyView, error) { return Encode(valueAt(t, p).Float()) },
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			x, err := decodeFloat(v, from, t.Bits())
			if err != nil {
				return err
			}
			to := valueAt(t, p)
			if to.OverflowFloat(x) {
				return overflow(x, t)
			}
			to.SetFloat(x)
			return nil
		},
	}
}

// decodeFloat reads a number for a float of that many bits. An int becomes the float that is nearest to it: by way of a float64
// it would be rounded twice.
func decodeFloat(v abi.Any, from objects.Reading, bits int) (float64, error) {
	once := bits == 32 && (from.Loose || from.Numbers)
	switch {
	case once && v.TypeIndex == abi.TypeInt:
		return float64(float32(int64(v.Bits))), nil
	case once && v.TypeIndex == abi.TypeBigInt:
		if x, _ := new(big.Float).SetInt(bigInt(v)).Float32(); !math.IsInf(float64(x), 0) {
			return float64(x), nil
		}
	}
	return DecodeFrom[float64](v, from)
}

func intCodec(t reflect.Type) *Codec {
	return &Codec{
		Name:   "int",
		Encode: func(p unsafe.Pointer) (values.AnyView, error) { return Encode(valueAt(t, p).Int()) },
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeBigInt && t.Bits() < 64 {
				return overflow(shown(bigInt(v)), t)
			}
			x, err := DecodeFrom[int64](v, from)
			if err != nil {
				return err
			}
			to := valueAt(t, p)
			if to.OverflowInt(x) {
				return overflow(x, t)
			}
			to.SetInt(x)
			return nil
		},
	}
}

// uintCodec converts unsigned numbers: an int where it fits int64, otherwise a BigInt.
func uintCodec(t reflect.Type) *Codec {
	return &Codec{
		Name: "int",
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			x := valueAt(t, p).Uint()
			if x > math.MaxInt64 {
				if err := NeedLibrary(); err != nil {
					return values.AnyView{}, err
				}
				v, err := values.NewBigInt(binary.LittleEndian.AppendUint64(make([]byte, 0, 16), x)[:16])
				return values.AnyView{Value: v, Owned: true}, err
			}
			return Encode(int64(x))
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			to := valueAt(t, p)
			if v.TypeIndex == abi.TypeBigInt {
				n := bigInt(v)
				if !n.IsUint64() || to.OverflowUint(n.Uint64()) {
					return overflow(shown(n), t)
				}
				to.SetUint(n.Uint64())
				return nil
			}
			x, err := DecodeFrom[int64](v, from)
			if err != nil {
				return err
			}
			if x < 0 || to.OverflowUint(uint64(x)) {
				return overflow(x, t)
			}
			to.SetUint(uint64(x))
			return nil
		},
	}
}

// For returns the codec of T.
func For[T any]() *Codec { return Of(reflect.TypeFor[T]()) }

// ClassFor returns the object type of T, nil if T is not a pointer to one.
// Like ClassOf, but it needs no reflection.
func ClassFor[T any]() *fields.Type {
	var none T
	if x, ok := any(none).(interface{ TVMFFIType(T) *fields.Type }); ok {
		return x.TVMFFIType(none)
	}
	return nil
}

// convertScalar makes a value of the type index, which is called want, of another if the
// library would for a parameter.
func convertScalar(v abi.Any, from objects.Reading, index abi.TypeIndex, want string) (abi.Any, error) {
	if from.Loose || from.Numbers && index == abi.TypeFloat && v.TypeIndex != abi.TypeBool {
		if v.TypeIndex == abi.TypeBigInt && index == abi.TypeFloat {
			return bigFloat(v)
		}
		if converted, ok := values.Convert(v, index); ok {
			return converted, nil
		}
	}
	if value, ok := withoutType(v); ok { // a duration, or a constant
		defer Release(value)
		if value.TypeIndex == index { // so it is not an object
			return value, nil
		}
	}
	if v.TypeIndex == abi.TypeBigInt && index == abi.TypeInt {
		return v, overflow(shown(bigInt(v)), reflect.TypeFor[int64]())
	}
	return v, WrongType(want, v)
}

// convertibleString returns the text of v if what is read from the lender is converted.
func convertibleString(v abi.Any, from objects.Reading) (string, bool) {
	if !from.Loose || v.TypeIndex != abi.TypeSmallStr && v.TypeIndex != abi.TypeStr && v.TypeIndex != abi.TypeRawStr {
		return "", false
	}
	return capi.StringOf(v)
}
