package tvmffi

import (
	gomaps "maps"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

var deepCopy = newFeature("ffi.DeepCopy", "0.1.9")

// DeepCopy copies x and all that it refers to. What is shared within x is shared
// within the copy, and what contains itself does so in the copy; strings, shapes
// and members of enums stay the same objects. nil stays nil. It fails with
// ErrInternal if something in x cannot be copied, such as a function or a tensor.
func DeepCopy[T any](x T) (T, error) {
	var none T
	var o operands
	defer o.close()
	v, err := o.pack(x)
	if err != nil {
		return none, err
	}
	out, err := deepCopy.call(v)
	if err != nil {
		return none, err
	}
	return take[T](out)
}

// Clone copies an object; the copy refers to the same objects as x does. An Array, a
// Map or a Shape, which cannot change, is the same object with another reference.
// nil stays nil. It fails with ErrType if the type has no copy constructor.
func Clone[P ObjectType[P]](x P) (P, error) {
	var none P
	if stateOf(x) == nil {
		return none, nil
	}
	o, err := live(x)
	if err != nil {
		return none, err
	}
	defer runtime.KeepAlive(o)
	v, err := shallowCopy(o)
	if err != nil {
		return none, err
	}
	return take[P](v)
}

// shallowCopy returns an owned copy of a live object.
func shallowCopy(o *core.Object) (abi.Any, error) {
	v := abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())}
	switch v.TypeIndex {
	case abi.TypeArray, abi.TypeMap, abi.TypeShape, abi.TypeStr, abi.TypeBytes, abi.TypeBigInt:
		return core.Owned(v)
	case abi.TypeList:
		t, err := packed(&newList, 0, func(p *core.Pack) error {
			all, err := sequence(v, "ffi.List")
			for _, x := range all {
				p.Any(x)
			}
			return err
		})
		return t.Value, err
	case abi.TypeDict:
		return copyDict(v)
	}
	attribute, ok := core.TypeAttribute(v.TypeIndex, "__ffi_shallow_copy__")
	if !ok || attribute.TypeIndex != abi.TypeFunction {
		return abi.Any{}, errorf(core.KindType, "Type `%s` does not support copy. The underlying C++ type is not copy-constructible.", core.KeyOf(v.TypeIndex))
	}
	return core.Apply(uintptr(attribute.Bits), []abi.Any{v})
}

func copyDict(v abi.Any) (out abi.Any, err error) {
	defer catch(&err)
	t, err := packed(&dicts.create, 0, func(p *core.Pack) error {
		for k, x := range mapEntries(v) {
			for _, a := range []Any{k, x} {
				if err := pack(p, codecFor[Any](), unsafe.Pointer(&a), nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return t.Value, err
}

// Replace returns a copy of x, made by [Clone], in which the fields named have other
// values; x stays as it is. Fields that are read-only may be replaced too. An
// unknown field is ErrAttribute, a value of the wrong type ErrType.
func Replace[P ObjectType[P]](x P, fields map[string]any) (P, error) {
	var none P
	from, err := live(x)
	if err != nil {
		return none, err
	}
	defer runtime.KeepAlive(from)
	names := slices.Sorted(gomaps.Keys(fields))
	index := from.TypeIndex()
	for _, name := range names {
		if fieldNamed(index, name) == nil {
			return none, errorf(core.KindAttr, "%s has no field %q", core.KeyOf(index), name)
		}
	}
	v, err := shallowCopy(from)
	if err != nil {
		return none, err
	}
	to := core.Own(uintptr(v.Bits))
	if len(names) > 0 && to.Handle() == from.Handle() {
		to.Release()
		return none, errorf(core.KindType, "%s has no fields that can be replaced", core.KeyOf(index))
	}
	for _, name := range names {
		value := fields[name]
		t, err := codecFor[any]().encode(unsafe.Pointer(&value))
		if err := fieldNamed(index, name).Init(to, t, err); err != nil {
			to.Release()
			return none, err
		}
	}
	return wrap[P](to), nil
}
