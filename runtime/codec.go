package tvmffi

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// codec converts values of one Go type. There is one for every type that a
// generated signature may hold, and it is the only place where Go values and
// native values meet, but for the scalars of the call frames.
type codec struct {
	// name says in errors what is expected.
	name string
	// encode packs the value at p. What the packed value points to is in Temp.Keep.
	encode func(p unsafe.Pointer) (core.Temp, error)
	// absent says why the Go type has no counterpart, nil for all others.
	absent error
	// form says what pack does by itself.
	form form
	// within is encode for a value inside of others, where that matters; see nested.
	within func(p unsafe.Pointer, outer *nest) (core.Temp, error)
	// decode reads v, borrowed, into the value at p. from lends the objects, such as
	// those of a callback; without it each object gets a reference of its own.
	decode func(v abi.Any, from core.Lender, p unsafe.Pointer) error
}

var codecs sync.Map // reflect.Type -> *codec

func codecOf(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	c := makeCodec(t)
	codecs.Store(t, c)
	return c
}

func encodeTyped(t reflect.Type, p unsafe.Pointer) (core.Temp, error) { return codecOf(t).encode(p) }

func decodeTyped(v abi.Any, from core.Lender, t reflect.Type, p unsafe.Pointer) error {
	return codecOf(t).decode(v, from, p)
}

// encode packs x by its static type.
func encode[T any](x T) (core.Temp, error) {
	return codecOf(reflect.TypeFor[T]()).encode(unsafe.Pointer(&x))
}

// decode reads a borrowed value as a T.
func decode[T any](v abi.Any) (T, error) { return decodeFrom[T](v, nil) }

func decodeFrom[T any](v abi.Any, from core.Lender) (x T, err error) {
	err = codecOf(reflect.TypeFor[T]()).decode(v, from, unsafe.Pointer(&x))
	return x, err
}

// take reads an owned value as a T and releases it.
func take[T any](v abi.Any) (T, error) {
	x, err := decode[T](v)
	release(v)
	return x, err
}

func release(v abi.Any) {
	if v.TypeIndex.IsObject() {
		core.DecRef(uintptr(v.Bits))
	}
}

func wrongType(want string, got abi.Any) error {
	return errorf(core.KindType, "expected %s, got %s", want, core.KeyOf(got.TypeIndex))
}

// scalar makes the codec of a type whose values fit the payload of a value.
func scalar[T any](name string, index abi.TypeIndex, bits func(T) uint64, value func(uint64) T) *codec {
	return &codec{
		name: name,
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			return core.Temp{Value: abi.Any{TypeIndex: index, Bits: bits(*(*T)(p))}}, nil
		},
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) (err error) {
			if v.TypeIndex != index {
				if v, err = loosened(v, from, index, name); err != nil {
					return err
				}
			}
			*(*T)(p) = value(v.Bits)
			return nil
		},
	}
}

// basicCodec builds the codec of a type that stands for a value of the library
// by itself; nil for other types.
func basicCodec(t reflect.Type) *codec {
	switch t {
	case reflect.TypeFor[bool]():
		return scalar("bool", abi.TypeBool, boolBits, func(b uint64) bool { return b != 0 })
	case reflect.TypeFor[int64]():
		return scalar("int", abi.TypeInt, func(v int64) uint64 { return uint64(v) }, func(b uint64) int64 { return int64(b) })
	case reflect.TypeFor[float64]():
		return scalar("float", abi.TypeFloat, math.Float64bits, math.Float64frombits)
	case reflect.TypeFor[DataType]():
		return scalar("DataType", abi.TypeDataType, DataType.bits, dataTypeOf)
	case reflect.TypeFor[Device]():
		return scalar("Device", abi.TypeDevice, Device.bits, deviceOf)
	case reflect.TypeFor[Pointer]():
		return pointerCodec
	case reflect.TypeFor[string]():
		c := textCodec("ffi.String", abi.TypeSmallStr, abi.TypeStr, abi.TypeRawStr)
		c.form = formText
		return c
	case reflect.TypeFor[[]byte]():
		return bytesCodec
	case reflect.TypeFor[*big.Int]():
		return bigIntCodec()
	case reflect.TypeFor[*Error]():
		return errorCodec[*Error]()
	case reflect.TypeFor[error]():
		return errorCodec[error]()
	case reflect.TypeFor[Any]():
		return anyCodec()
	}
	return nil
}

func boolBits(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

var pointerCodec = &codec{
	name: "void*",
	encode: func(p unsafe.Pointer) (core.Temp, error) {
		return core.Temp{Value: abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64((*Pointer)(p).Address)}}, nil
	},
	decode: func(v abi.Any, _ core.Lender, p unsafe.Pointer) error {
		if v.TypeIndex != abi.TypeOpaquePtr && v.TypeIndex != abi.TypeNone {
			return wrongType("void*", v)
		}
		(*Pointer)(p).Address = uintptr(v.Bits)
		return nil
	},
}

func textCodec(name string, small, heap, raw abi.TypeIndex) *codec {
	return &codec{
		name: name,
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			v, err := core.NewString(*(*string)(p))
			return core.Temp{Value: v, Owned: true}, err
		},
		decode: func(v abi.Any, _ core.Lender, p unsafe.Pointer) error {
			s, ok := core.TextOf(v)
			if !ok || v.TypeIndex != small && v.TypeIndex != heap && v.TypeIndex != raw {
				return wrongType(name, v)
			}
			*(*string)(p) = s
			return nil
		},
	}
}

var bytesCodec = &codec{
	name: "ffi.Bytes",
	encode: func(p unsafe.Pointer) (core.Temp, error) {
		v, err := core.NewBytes(*(*[]byte)(p))
		return core.Temp{Value: v, Owned: true}, err
	},
	decode: func(v abi.Any, _ core.Lender, p unsafe.Pointer) error {
		s, ok := core.TextOf(v)
		if !ok || v.TypeIndex != abi.TypeSmallBytes && v.TypeIndex != abi.TypeBytes && v.TypeIndex != abi.TypeByteArrayPtr {
			return wrongType("ffi.Bytes", v)
		}
		*(*[]byte)(p) = []byte(s)
		return nil
	},
}

// errorCodec makes the codec of errors as values; nil is None.
func errorCodec[T error]() *codec {
	return &codec{
		name: "ffi.Error",
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			err := *(*T)(p)
			if e, ok := any(err).(*Error); any(err) == nil || ok && e == nil {
				return core.Temp{}, nil
			}
			handle, failed := nativeError(err)
			return core.Temp{Value: abi.Any{TypeIndex: abi.TypeError, Bits: uint64(handle)}, Owned: true}, failed
		},
		decode: func(v abi.Any, _ core.Lender, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				var none T
				*(*T)(p) = none
				return nil
			}
			if v.TypeIndex != abi.TypeError {
				return wrongType("ffi.Error", v)
			}
			core.IncRef(uintptr(v.Bits))
			*(*T)(p) = errorOf(uintptr(v.Bits)).(T)
			return nil
		},
	}
}

// goErrorCodec packs an error of a Go type; it comes back inside an *Error.
func goErrorCodec(t reflect.Type) *codec {
	c := noCodec(t, "decode it as *tvmffi.Error")
	c.encode = func(p unsafe.Pointer) (core.Temp, error) {
		err := reflect.NewAt(t, p).Elem().Interface().(error)
		return encode(err)
	}
	return c
}

// makeCodec builds the codec of a type. A type without one gets a codec that
// fails with the reason, so that a wrong argument is an error of its call.
func makeCodec(t reflect.Type) *codec {
	c := ownCodec(t)
	if t.Kind() != reflect.Interface && t.Implements(valuerType) && !t.Implements(reflect.TypeFor[ObjectRef]()) {
		return valuerCodec(t, c)
	}
	return c
}

// ownCodec is makeCodec for what a type is by itself.
func ownCodec(t reflect.Type) *codec {
	if c := basicCodec(t); c != nil {
		return c
	}
	switch {
	case t.Implements(reflect.TypeFor[temporary]()):
		return argumentCodec(t)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[variantValue]()):
		return variantCodec(t)
	case t.Implements(reflect.TypeFor[tupleValue]()) && t.Kind() == reflect.Struct:
		return tupleCodec(t)
	}
	if t.Kind() != reflect.Interface && t.Implements(errorType) {
		return goErrorCodec(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if class := classOf(t); class != nil {
			return objectCodec(class)
		}
		if t.Implements(reflect.TypeFor[ObjectRef]()) {
			return argumentCodec(t) // a struct of the user's around an object
		}
		return optionalCodec(t)
	case reflect.Interface:
		return argumentCodec(t)
	case reflect.Func:
		return funcCodec(t)
	case reflect.Slice, reflect.Array:
		return sliceCodec(t)
	case reflect.Map:
		return goMapCodec(t)
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return numberCodec(t)
	case reflect.UnsafePointer:
		return pointerCodec
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[ObjectRef]()) {
			return argumentCodec(t) // likewise
		}
		if fields := taggedFields(t); len(fields) > 0 {
			return structCodec(t, fields)
		}
	}
	return noCodec(t, "this type has no counterpart in TVM-FFI")
}

func noCodec(t reflect.Type, why string) *codec {
	err := errorf(core.KindType, "Go type %s: %s", t, why)
	return &codec{
		name:   t.String(),
		absent: err,
		encode: func(unsafe.Pointer) (core.Temp, error) { return core.Temp{}, err },
		decode: func(abi.Any, core.Lender, unsafe.Pointer) error { return err },
	}
}

// classOf returns the object type of a pointer type, nil if it is none.
func classOf(t reflect.Type) *core.Type {
	m, ok := t.MethodByName("TVMFFIType")
	if !ok || m.Type.NumIn() != 2 || m.Type.In(1) != t {
		return nil
	}
	class, _ := m.Func.Call([]reflect.Value{reflect.Zero(t), reflect.Zero(t)})[0].Interface().(*core.Type)
	return class
}

func objectCodec(class *core.Type) *codec {
	return &codec{
		name: class.Key,
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			return encodeObject(*(**core.Object)(p))
		},
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				*(**core.Object)(p) = nil
				return nil
			}
			if v.TypeIndex == abi.TypeDLTensorPtr && class == &typeTensor {
				o, err := lendTensor(v, from)
				*(**core.Object)(p) = o
				return err
			}
			if !v.TypeIndex.IsObject() || v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeBytes {
				return wrongType(class.Key, v) // short texts are no objects, so long ones are none either
			}
			ok, err := class.Accepts(v.TypeIndex)
			if err != nil {
				return err
			}
			if !ok {
				return wrongType(class.Key, v)
			}
			*(**core.Object)(p) = lend(v, from)
			return nil
		},
	}
}

// lend wraps the object in v: borrowed from a callback, else with a reference.
func lend(v abi.Any, from core.Lender) *core.Object {
	if v.Bits == 0 {
		return nil
	}
	if from != nil {
		return from.Borrow(uintptr(v.Bits))
	}
	core.IncRef(uintptr(v.Bits))
	return core.Own(uintptr(v.Bits))
}

func encodeObject(o *core.Object) (core.Temp, error) {
	if o == nil {
		return core.Temp{}, nil
	}
	if why, ended := o.Ended(); ended {
		return core.Temp{}, errorf(core.KindRuntime, "the object %s", why)
	}
	return core.Temp{Value: o.View(), Keep: o}, nil
}

// argumentCodec packs the dynamic value of an interface: any, the Ref of an
// object type, ArrayArg and MapArg. Decoding is possible for any and ObjectRef.
func argumentCodec(t reflect.Type) *codec {
	c := &codec{
		name: t.String(),
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
			x := anyOf(v, from)
			value := reflect.ValueOf(x.Value())
			if !value.IsValid() {
				reflect.NewAt(t, p).Elem().SetZero()
				return nil
			}
			if !value.Type().AssignableTo(t) {
				x.Release()
				return errorf(core.KindType, "expected %s, got %s", t, core.KeyOf(v.TypeIndex))
			}
			reflect.NewAt(t, p).Elem().Set(value)
			return nil
		},
	}
	if t == reflect.TypeFor[any]() {
		c.form = formAny
	}
	return c.nested(func(p unsafe.Pointer, outer *nest) (core.Temp, error) {
		return encodeDynamic(reflect.NewAt(t, p).Elem(), outer)
	})
}

// encodeDynamic packs what value, an interface or a temporary, holds.
func encodeDynamic(value reflect.Value, outer *nest) (core.Temp, error) {
	if value.Kind() == reflect.Interface {
		if value.IsNil() {
			return core.Temp{}, nil
		}
		value = value.Elem()
	}
	switch x := value.Interface().(type) {
	case temporary:
		return x.encode(outer)
	case ObjectRef:
		return encodeObject(stateOf(x))
	}
	holder := reflect.New(value.Type())
	holder.Elem().Set(value)
	return encodeIn(codecOf(value.Type()), holder.UnsafePointer(), outer)
}

// optionalCodec is that of *T for a scalar, a string or a small struct: nil is
// None.
func optionalCodec(t reflect.Type) *codec {
	name := t.String()
	endless := false // a pointer to itself: no value ends it but None
	for u, seen := t, map[reflect.Type]bool{}; u.Kind() == reflect.Pointer && !endless; u = u.Elem() {
		endless, seen[u] = seen[u], true
	}
	inner := sync.OnceValue(func() *codec { return codecOf(t.Elem()) })
	if !recursive(t) {
		name = "Optional<" + inner().name + ">"
	}
	c := &codec{
		name: name,
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				*(*unsafe.Pointer)(p) = nil
				return nil
			}
			if endless {
				return errorf(core.KindType, "expected None, got %s: Go type %s is a pointer to itself", core.KeyOf(v.TypeIndex), t)
			}
			x := reflect.New(t.Elem())
			if err := inner().decode(v, from, x.UnsafePointer()); err != nil {
				return err
			}
			*(*unsafe.Pointer)(p) = x.UnsafePointer()
			return nil
		},
	}
	return c.nested(func(p unsafe.Pointer, outer *nest) (core.Temp, error) {
		x := *(*unsafe.Pointer)(p)
		if x == nil {
			return core.Temp{}, nil
		}
		c := inner()
		if c.within != nil {
			var err error
			if outer, err = outer.enter(t, x, 1); err != nil {
				return core.Temp{}, err
			}
		}
		return encodeIn(c, x, outer)
	})
}

// numberCodec is that of the other number types and of named basic types, with
// a check of the range.
func numberCodec(t reflect.Type) *codec {
	at := func(p unsafe.Pointer) reflect.Value { return reflect.NewAt(t, p).Elem() }
	tooLarge := func(v any) error { return errorf("OverflowError", "%v does not fit %s", v, t) }
	switch kind := t.Kind(); kind {
	case reflect.Bool, reflect.String:
		base := map[reflect.Kind]reflect.Type{reflect.Bool: reflect.TypeFor[bool](), reflect.String: reflect.TypeFor[string]()}
		return codecOf(base[kind])
	case reflect.Float32, reflect.Float64:
		return &codec{
			name: "float",
			encode: func(p unsafe.Pointer) (core.Temp, error) {
				return encode(at(p).Float())
			},
			decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
				x, err := decodeFrom[float64](v, from)
				if err == nil && at(p).OverflowFloat(x) {
					err = tooLarge(x)
				}
				if err == nil {
					at(p).SetFloat(x)
				}
				return err
			},
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &codec{
			name:   "int",
			encode: func(p unsafe.Pointer) (core.Temp, error) { return encode(at(p).Int()) },
			decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
				x, err := decodeFrom[int64](v, from)
				if err == nil && at(p).OverflowInt(x) {
					err = tooLarge(x)
				}
				if err == nil {
					at(p).SetInt(x)
				}
				return err
			},
		}
	}
	return &codec{
		name: "int",
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			x := at(p).Uint()
			if x > math.MaxInt64 {
				return core.Temp{}, errorf("OverflowError", "%d is too large to fit in int64_t", x)
			}
			return encode(int64(x))
		},
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
			x, err := decodeFrom[int64](v, from)
			if err == nil && (x < 0 || at(p).OverflowUint(uint64(x))) {
				err = tooLarge(x)
			}
			if err == nil {
				at(p).SetUint(uint64(x))
			}
			return err
		},
	}
}

// inElement adds the place to an error of an element.
func inElement(place string, err error) error {
	if err == nil {
		return nil
	}
	kind, trace := core.KindType, ""
	if e := asError(err); e != nil {
		kind, trace = e.Kind, e.backtrace()
	}
	return &Error{Kind: kind, Message: fmt.Sprintf("%s: %s", place, message(err)), Backtrace: trace, cause: err, step: stepOf(place)}
}

// message returns the text of err without a kind in front.
func message(err error) string {
	if e := asError(err); e != nil {
		return e.Message
	}
	return err.Error()
}
