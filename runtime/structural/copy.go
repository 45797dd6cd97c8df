package structural

import (
	gomaps "maps"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var deepCopy = codec.NewLibraryFunc("ffi.DeepCopy", "0.1.9")

// DeepCopy copies x and everything that it refers to. Objects shared within x are shared
// within the copy, and cycles stay cycles; strings, shapes and members of enums stay the
// same objects. nil stays nil. It fails with ErrInternal if something in x cannot be
// copied, such as a function or a tensor.
func DeepCopy[T any](x T) (T, error) {
	var none T
	var o codec.PackedArgs
	defer o.Close()
	v, err := o.Pack(x)
	if err != nil {
		return none, err
	}
	out, err := deepCopy.Call(v)
	if err != nil {
		return none, err
	}
	return codec.Take[T](out)
}

// Clone copies an object; the copy refers to the same objects as x. An Array, a Map or a
// Shape, which cannot change, is the same object with another reference. nil stays nil.
// It fails with ErrType if the type has no copy constructor.
func Clone[P tvmffi.ObjectType[P]](x P) (P, error) {
	var none P
	if objects.StateOf(x) == nil {
		return none, nil
	}
	o, err := codec.Live(x)
	if err != nil {
		return none, err
	}
	defer runtime.KeepAlive(o)
	v, err := shallowCopy(o)
	if err != nil {
		return none, err
	}
	return codec.Take[P](v)
}

// shallowCopy returns an owned copy of a live object.
func shallowCopy(o *objects.Object) (abi.Any, error) {
	v := abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())}
	class, mutable := crossing.ClassOf(v.TypeIndex), crossing.Mutable(v.TypeIndex)
	switch {
	case class == crossing.Text, class.Container() && !mutable, v.TypeIndex == abi.TypeShape, v.TypeIndex == abi.TypeBigInt:
		return values.Owned(v)
	case class == crossing.Sequence:
		t, err := codec.Packed(codec.CreateOf(v.TypeIndex), 0, func(p *calls.Pack) error {
			all, _ := codec.Elements(v)
			for _, x := range all {
				p.Any(x)
			}
			return nil
		})
		return t.Value, err
	case class == crossing.Mapping:
		return copyMapping(v)
	}
	attribute, ok := capi.TypeAttribute(v.TypeIndex, "__ffi_shallow_copy__")
	if !ok || attribute.TypeIndex != abi.TypeFunction {
		return abi.Any{}, failure.Errorf(failure.KindType, "Type `%s` does not support copy. The underlying C++ type is not copy-constructible.", capi.KeyOf(v.TypeIndex))
	}
	return failure.Apply(uintptr(attribute.Bits), []abi.Any{v})
}

func copyMapping(v abi.Any) (out abi.Any, err error) {
	defer codec.Catch(&err)
	t, err := codec.Packed(codec.CreateOf(v.TypeIndex), 0, func(args *calls.Pack) error {
		codec.Parts(v, func(p codec.Part) bool {
			for _, x := range []abi.Any{p.Key, p.Value} { // the entries end with the step
				args.Put(values.AnyView{Value: objects.Share(x), Owned: true})
			}
			return true
		})
		return nil
	})
	return t.Value, err
}

// Replace returns a copy of x, made by [Clone], with the fields in changes; x is not
// changed. Fields that are read-only may be replaced too. An unknown field is
// ErrAttribute, a value of the wrong type ErrType.
func Replace[P tvmffi.ObjectType[P]](x P, changes map[string]any) (P, error) {
	var none P
	from, err := codec.Live(x)
	if err != nil {
		return none, err
	}
	defer runtime.KeepAlive(from)
	names := slices.Sorted(gomaps.Keys(changes))
	index := from.TypeIndex()
	for _, name := range names {
		if fields.Of(index, name) == nil {
			return none, failure.Errorf(failure.KindAttr, "%s has no field %q", capi.KeyOf(index), name)
		}
	}
	v, err := shallowCopy(from)
	if err != nil {
		return none, err
	}
	to := objects.Own(uintptr(v.Bits))
	if len(names) > 0 && to.Handle() == from.Handle() {
		to.Release()
		return none, failure.Errorf(failure.KindType, "%s has no fields that can be replaced", capi.KeyOf(index))
	}
	for _, name := range names {
		value := changes[name]
		t, err := codec.For[any]().Encode(unsafe.Pointer(&value))
		if err := fields.Of(index, name).Init(to, t, err); err != nil {
			to.Release()
			return none, err
		}
	}
	return codec.Wrap[P](to), nil
}
