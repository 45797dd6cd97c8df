package codec

import (
	"math"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Holds reports whether the live object o is a t, with elements of the types that t names if
// t is a container. C++ asks the same of an alternative of a Variant, where the class alone
// cannot tell an Array of ints from one of strings.
func Holds(o *objects.Object, t reflect.Type) bool {
	defer runtime.KeepAlive(o)
	return testOf(t)(abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())})
}

// scalarIndex returns the index that the values of t have if no other value is a t, otherwise none.
func scalarIndex(t reflect.Type) (index abi.TypeIndex, ok bool) {
	switch t {
	case reflect.TypeFor[int64]():
		return abi.TypeInt, true
	case reflect.TypeFor[float64]():
		return abi.TypeFloat, true
	}
	return 0, false
}

// testOf returns what tells whether a borrowed value is a t.
func testOf(t reflect.Type) func(v abi.Any) bool {
	if index, ok := scalarIndex(t); ok {
		return func(v abi.Any) bool { return v.TypeIndex == index }
	}
	class, c := ClassOf(t), Of(t)
	switch {
	case t.Kind() == reflect.Interface, c.Variant, c.Direct == DirectAny, c.Name == "Any":
		return func(abi.Any) bool { return true }
	case t.Kind() == reflect.Func:
		return func(v abi.Any) bool { return v.TypeIndex == abi.TypeFunction }
	case t == reflect.TypeFor[string]():
		return func(v abi.Any) bool { return v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeSmallStr }
	case behind(t).Kind() == reflect.Float32:
		return func(v abi.Any) bool { return fitsFloat32(v) || v.TypeIndex != abi.TypeFloat && decodes(c, v, t) }
	case class == nil:
		return func(v abi.Any) bool { return decodes(c, v, t) }
	}
	inside := insideOf(c)
	return func(v abi.Any) bool {
		switch {
		case !v.TypeIndex.IsObject():
			return v.TypeIndex == abi.TypeNone
		case v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeBytes: // a short one is not an object either
			return false
		}
		ok, err := class.Accepts(v.TypeIndex)
		return ok && err == nil && v.Bits != 0 && inside(v)
	}
}

// behind returns what optional values of a type point to.
func behind(t reflect.Type) reflect.Type {
	for depth := 0; t.Kind() == reflect.Pointer && depth < 8; depth++ {
		t = t.Elem()
	}
	return t
}

// fitsFloat32 reports whether a borrowed value is a float that a float32 is, bit for bit. A container of float32 has no other
// floats: a number that is rounded when it is read would not be found, and would be another one for the next reader.
func fitsFloat32(v abi.Any) bool {
	return v.TypeIndex == abi.TypeFloat && math.Float64bits(float64(float32(math.Float64frombits(v.Bits)))) == v.Bits
}

// decodes reports whether a borrowed value can be read as a t, for a t that is not an object type.
func decodes(c *Codec, v abi.Any, t reflect.Type) bool {
	var loan objects.BorrowScope
	defer loan.End()
	return c.Decode(v, objects.ReadBorrowed(&loan).Checking(), unsafe.Pointer(reflect.New(t).Pointer())) == nil
}

// insideOf returns what tells whether a container has parts of the types that its codec names.
func insideOf(c *Codec) func(v abi.Any) bool {
	tests := testsOf(c.Parts)
	return func(v abi.Any) bool { return allFit(v, c.Parts, tests) }
}

func testsOf(parts []reflect.Type) []func(abi.Any) bool {
	tests := make([]func(abi.Any) bool, len(parts))
	for i, t := range parts {
		tests[i] = testOf(t)
	}
	return tests
}

// allFit reports whether the parts of a borrowed container pass the tests of its elements, or of its
// keys and values, which are of the types parts.
func allFit(v abi.Any, parts []reflect.Type, tests []func(abi.Any) bool) (ok bool) {
	ok = true
	switch len(tests) {
	case 1:
		all, _ := Elements(v)
		if index, scalar := scalarIndex(parts[0]); scalar { // without a call for each
			for i := range all {
				if all[i].TypeIndex != index {
					return false
				}
			}
			return true
		}
		for i := 0; i < len(all) && ok; i++ {
			ok = tests[0](all[i])
		}
	case 2:
		ReadEntries(v, func(key, x abi.Any) bool {
			ok = tests[0](key) && tests[1](x)
			return ok
		})
	}
	return ok
}
