package codec

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/schema"
)

// The library compares objects by their fields. So all tensors are equal to it, all functions, all errors, and all objects of a
// type that registers no field: it sees nothing in which they could differ. Here such an object is equal to itself alone, and an
// error to those with its kind and its message.

// Alike reports whether f, which compares the contents of two values, is right that they are equal: the objects in which the
// library sees nothing are the same ones.
func Alike(x, y any) (alike bool, err error) {
	defer Catch(&err)
	var o PackedArgs
	defer o.Close()
	a, err := o.Pack(x)
	if err != nil {
		return false, err
	}
	b, err := o.Pack(y)
	if err != nil {
		return false, err
	}
	return new(twins).alike(a, b), nil
}

// twins goes through two values that are equal to the library.
type twins struct{ seen map[[2]uintptr]bool }

func (t *twins) alike(a, b abi.Any) bool {
	if !a.TypeIndex.IsObject() || a.TypeIndex != b.TypeIndex || a.Bits == b.Bits {
		return true
	}
	switch class := crossing.ClassOf(a.TypeIndex); {
	case a.TypeIndex == abi.TypeError:
		return sameError(uintptr(a.Bits), uintptr(b.Bits))
	case class == crossing.Leaf:
		return a.TypeIndex == abi.TypeBigInt || a.TypeIndex == abi.TypeShape
	case class < crossing.Sequence:
		return true
	}
	pair := [2]uintptr{uintptr(a.Bits), uintptr(b.Bits)}
	if t.seen[pair] {
		return true
	}
	if objects.Strong(pair[0]) > 1 {
		if t.seen == nil {
			t.seen = map[[2]uintptr]bool{}
		}
		t.seen[pair] = true
	}
	if all, ok := Elements(a); ok {
		others, _ := Elements(b)
		for i := range min(len(all), len(others)) {
			if !t.alike(all[i], others[i]) {
				return false
			}
		}
		return true
	}
	if MapKindOf(a.TypeIndex) != nil {
		return t.entries(a, b)
	}
	return t.fields(a, b)
}

// entries is alike for maps. The library found each key in both, but perhaps in another order.
func (t *twins) entries(a, b abi.Any) bool {
	var keys map[string]abi.Any
	ReadEntries(b, func(key, x abi.Any) bool {
		if x.TypeIndex.IsObject() {
			if keys == nil {
				keys = map[string]abi.Any{}
			}
			keys[content(key)] = x
		}
		return true
	})
	alike := true
	ReadEntries(a, func(key, x abi.Any) bool {
		if x.TypeIndex.IsObject() {
			if other, ok := keys[content(key)]; ok {
				alike = t.alike(x, other)
			}
		}
		return alike
	})
	return alike
}

// fields is alike for objects with fields. Those of a type with its own comparison are what that says.
func (t *twins) fields(a, b abi.Any) bool {
	for _, own := range []string{"__ffi_eq__", "__ffi_compare__"} {
		if _, ok := capi.TypeAttribute(a.TypeIndex, own); ok {
			return true
		}
	}
	readers := FieldsOf(a.TypeIndex)
	if len(readers) == 0 {
		return !objects.IsNode(uintptr(a.Bits)) && empty(a.TypeIndex)
	}
	for i := range readers {
		r := &readers[i]
		if !r.HasParts() || schema.Flags(r.Info.Flags)&schema.FlagCompareOff != 0 {
			continue
		}
		x, owned, err := r.Peek(uintptr(a.Bits))
		if err != nil {
			panic(err)
		}
		if owned {
			defer Release(x)
		}
		y, owned, err := r.Peek(uintptr(b.Bits))
		if err != nil {
			panic(err)
		}
		if owned {
			defer Release(y)
		}
		if !t.alike(x, y) {
			return false
		}
	}
	return true
}

// sameError reports whether two errors have one kind and one message.
func sameError(a, b uintptr) bool {
	x, y := capi.PointerTo[abi.ErrorCell](a+abi.ObjectSize), capi.PointerTo[abi.ErrorCell](b+abi.ObjectSize)
	return capi.GoString(x.Kind) == capi.GoString(y.Kind) && capi.GoString(x.Message) == capi.GoString(y.Message)
}

// empty reports whether the objects of a type without fields have no memory of their own either.
func empty(index abi.TypeIndex) bool {
	info := capi.InfoOf(index)
	if info == nil || info.Metadata == 0 {
		return false
	}
	return capi.PointerTo[abi.TypeMetadata](info.Metadata).TotalSize == abi.ObjectSize
}
