package tvmffi

import (
	"cmp"
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// errorCodec returns the codec of errors that are passed as values; nil is None.
func errorCodec[T error]() *codec.Codec {
	return &codec.Codec{
		Name: "ffi.Error",
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			err := *(*T)(p)
			if e, ok := any(err).(*Error); any(err) == nil || ok && e == nil {
				return values.AnyView{}, nil
			}
			if err := cmp.Or(failure.Unsound(err), codec.NeedLibrary()); err != nil {
				return values.AnyView{}, err
			}
			handle, failed := failure.NativeError(err)
			return values.AnyView{Value: abi.Any{TypeIndex: abi.TypeError, Bits: uint64(handle)}, Owned: true}, failed
		},
		Decode: func(v abi.Any, _ objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				var none T
				*(*T)(p) = none
				return nil
			}
			if v.TypeIndex != abi.TypeError {
				return codec.WrongType("ffi.Error", v)
			}
			objects.IncRef(uintptr(v.Bits))
			*(*T)(p) = failure.ErrorOf(uintptr(v.Bits)).(T)
			return nil
		},
	}
}

// goErrorCodec packs an error of a Go type. It comes back wrapped by an *Error.
func goErrorCodec(t reflect.Type) *codec.Codec {
	c := codec.NoCodec(t, "decode it as *tvmffi.Error")
	c.Encode = func(p unsafe.Pointer) (values.AnyView, error) {
		err := reflect.NewAt(t, p).Elem().Interface().(error)
		return codec.Encode(err)
	}
	return c
}

// argumentCodec packs the dynamic value of an interface type: any, the Ref of an object
// type, ArrayArg and MapArg. Only any and ObjectRef can be decoded.
func argumentCodec(t reflect.Type) *codec.Codec {
	c := &codec.Codec{
		Name: t.String(),
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex.IsObject() && t == reflect.TypeFor[any]() {
				x, ok, err := codec.DecodeTyped(v, from)
				if !ok && from.Plain {
					x, ok, err = codec.DecodePlain(v, from)
				}
				if ok {
					*(*any)(p) = x
					return err
				}
			}
			x, err := codec.LendAny[Any](v, from)
			if err != nil {
				return err
			}
			value := reflect.ValueOf(x.Value())
			if !value.IsValid() {
				reflect.NewAt(t, p).Elem().SetZero()
				return nil
			}
			if !value.Type().AssignableTo(t) {
				x.Release()
				return failure.Errorf(failure.KindType, "expected %s, got %s", t, capi.KeyOf(v.TypeIndex))
			}
			reflect.NewAt(t, p).Elem().Set(value)
			return nil
		},
	}
	if t == reflect.TypeFor[any]() {
		c.Direct = codec.DirectAny
	}
	switch {
	case t.Implements(reflect.TypeFor[arrayParameter]()):
		c.Empty = &codec.NewArray
	case t.Implements(reflect.TypeFor[mapParameter]()):
		c.Empty = &codec.Maps.Create
	}
	return c.Nested(func(p unsafe.Pointer, outer *codec.Nest) (values.AnyView, error) {
		return encodeDynamic(reflect.NewAt(t, p).Elem(), outer, t == reflect.TypeFor[any]())
	})
}

// encodeDynamic packs what value, an interface or a temporary, holds. isAny is set for a value of any type.
func encodeDynamic(value reflect.Value, outer *codec.Nest, isAny bool) (values.AnyView, error) {
	outer = outer.Whole() // C++ and Rust see that it is a container of the library
	if value.Kind() == reflect.Interface {
		if value.IsNil() {
			return values.AnyView{}, nil
		}
		value = value.Elem()
	}
	switch x := value.Interface().(type) {
	case temporary:
		return x.encode(outer)
	case ObjectRef:
		if isAny {
			return codec.EncodeDynamicObject(objects.StateOf(x), outer)
		}
		return codec.EncodeObject(objects.StateOf(x))
	}
	holder := reflect.New(value.Type())
	holder.Elem().Set(value)
	if !isAny || outer.Typed() {
		return codec.EncodeIn(codec.Of(value.Type()), holder.UnsafePointer(), outer)
	}
	inner, before := outer.EnterAny()
	t, err := codec.EncodeIn(codec.Of(value.Type()), holder.UnsafePointer(), inner)
	inner.LeaveAny(before)
	return t, err
}

var pointerCodec = &codec.Codec{
	Name: "void*",
	Encode: func(p unsafe.Pointer) (values.AnyView, error) {
		return values.AnyView{Value: abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64((*Pointer)(p).Address)}}, nil
	},
	Decode: func(v abi.Any, _ objects.Reading, p unsafe.Pointer) error {
		if v.TypeIndex != abi.TypeOpaquePtr && v.TypeIndex != abi.TypeNone {
			return codec.WrongType("void*", v)
		}
		(*Pointer)(p).Address = uintptr(v.Bits)
		return nil
	},
}

// anyCodec returns the codec of Any.
func anyCodec() *codec.Codec {
	return &codec.Codec{
		Name:    "Any",
		Abandon: func(v reflect.Value) { v.Interface().(Any).Release() },
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			t, err := (*Any)(p).view()
			t.Keep = (*Any)(p).object
			return t, err
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) (err error) {
			*(*Any)(p), err = codec.LendAny[Any](v, from)
			return err
		},
	}
}

// publicCodec returns the codec of a type of this package, or nil for other types.
func publicCodec(t reflect.Type) *codec.Codec {
	c := publicCodecOf(t)
	if c != nil {
		c.Schema = fixedSchemas[t]
	}
	return c
}

func publicCodecOf(t reflect.Type) *codec.Codec {
	c := publicOwnCodec(t)
	if t.Kind() != reflect.Interface && t.Implements(valuerType) && !t.Implements(reflect.TypeFor[ObjectRef]()) {
		if c == nil {
			c = codec.Own(t)
		}
		return valuerCodec(t, c)
	}
	return c
}

func publicOwnCodec(t reflect.Type) *codec.Codec {
	switch t {
	case reflect.TypeFor[DataType]():
		return codec.Scalar("DataType", abi.TypeDataType, DataType.bits, dataTypeOf, ParseDataType)
	case reflect.TypeFor[Device]():
		return codec.Scalar("Device", abi.TypeDevice, Device.bits, deviceOf, ParseDevice)
	case reflect.TypeFor[Pointer]():
		return pointerCodec
	case reflect.TypeFor[*Error]():
		return errorCodec[*Error]()
	case reflect.TypeFor[error]():
		return errorCodec[error]()
	case reflect.TypeFor[Any]():
		return anyCodec()
	}
	switch {
	case t.Implements(reflect.TypeFor[temporary]()):
		return argumentCodec(t)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[variantValue]()):
		c := variantCodec(t)
		c.Variant = true
		return c
	case t.Implements(reflect.TypeFor[tupleValue]()) && t.Kind() == reflect.Struct, isResults(t):
		c := tupleCodec(t)
		c.Tuple = true
		c.Abandon = func(v reflect.Value) {
			for i := range v.NumField() {
				codec.Abandon(v.Field(i))
			}
		}
		return c
	case t.Kind() != reflect.Interface && t.Implements(codec.ErrorType):
		return goErrorCodec(t)
	case t.Kind() == reflect.Pointer && codec.ClassOf(t) != nil:
		if x, ok := reflect.Zero(t).Interface().(container); ok {
			return codec.ContainerCodec(codec.ClassOf(t), x.create(), x.elementTypes())
		}
		return nil
	case t.Implements(reflect.TypeFor[ObjectRef]()), t.Kind() == reflect.Interface:
		return argumentCodec(t)
	case t.Kind() == reflect.Func:
		return funcCodec(t)
	case t.Kind() == reflect.UnsafePointer:
		return pointerCodec
	}
	return nil
}

func init() { codec.Public = publicCodec }

var fixedSchemas = map[reflect.Type]string{
	reflect.TypeFor[DataType](): "DataType",
	reflect.TypeFor[Device]():   "Device",
	reflect.TypeFor[Pointer]():  "void*",
	reflect.TypeFor[*Error]():   "ffi.Error",
	reflect.TypeFor[error]():    "ffi.Error",
	reflect.TypeFor[Any]():      "Any",
}
