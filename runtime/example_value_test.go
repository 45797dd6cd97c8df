package tvmffi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Value returns what an Any holds in its natural Go type.
func ExampleAny_Value() {
	newArray, err := tvmffi.Lookup("ffi.Array")
	if err != nil {
		log.Fatal(err)
	}
	defer newArray.Release()
	result, err := newArray.Call(1, "two", 3.5, []int64{4})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()

	array, ok := result.Value().(*tvmffi.Array[tvmffi.Any])
	if !ok {
		log.Fatal("the result is not an array")
	}
	for _, x := range array.All() {
		switch x := x.Value().(type) {
		case int64:
			fmt.Println("int", x)
		case string:
			fmt.Println("string", x)
		case float64:
			fmt.Println("float", x)
		case tvmffi.ObjectRef:
			fmt.Println("object", tvmffi.TypeKey(x))
		}
	}
	// Output:
	// int 1
	// string two
	// float 3.5
	// object ffi.Array
}

// As reads a value as the type that it has. Convert makes the conversions that the library
// makes for parameters.
func ExampleAs() {
	v, err := tvmffi.AnyOf(3)
	if err != nil {
		log.Fatal(err)
	}
	n, err := tvmffi.As[int32](v)
	fmt.Println(n, err)

	_, err = tvmffi.As[float64](v)
	fmt.Println(errors.Is(err, tvmffi.ErrType))

	x, err := tvmffi.Convert[float64](v)
	fmt.Println(x, err)
	// Output:
	// 3 <nil>
	// true
	// 3 <nil>
}

// A pointer stands for a value that may be None.
func ExampleAs_optional() {
	for _, x := range []any{nil, 7} {
		v, err := tvmffi.AnyOf(x)
		if err != nil {
			log.Fatal(err)
		}
		n, err := tvmffi.As[*int64](v)
		if err != nil {
			log.Fatal(err)
		}
		if n == nil {
			fmt.Println("None")
		} else {
			fmt.Println(*n)
		}
	}
	// Output:
	// None
	// 7
}

// Cast goes from a general type to the type of the object. Both pointers share one
// reference.
func ExampleCast() {
	l, err := tvmffi.NewList("a", "b")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Release()

	var x tvmffi.ObjectRef = l // a function may return any object
	if _, ok := tvmffi.Cast[*tvmffi.Tensor](x); !ok {
		fmt.Println("it is not a tensor")
	}
	if list, ok := tvmffi.Cast[*tvmffi.List[string]](x); ok {
		fmt.Println("it is a list of", list.Len())
	}
	// Output:
	// it is not a tensor
	// it is a list of 2
}

// A Scope releases many objects at once. Without it, each object has a Release of its own,
// or is left to the garbage collector.
func ExampleScope() {
	var s tvmffi.Scope
	defer s.Release()

	a, err := tvmffi.NewArray(1, 2)
	s.Add(a) // ignores nil, so it may stand before the check
	if err != nil {
		log.Fatal(err)
	}
	b, err := tvmffi.NewArray(3, 4)
	s.Add(b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a, b, s.Len())
	// Output: (1, 2) (3, 4) 2
}

// Release ends a reference, as Close ends a file. The use of a released object is an error.
func ExampleObject_Release() {
	a, err := tvmffi.NewArray(1, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Len())
	a.Release()
	a.Release() // does nothing

	_, err = a.Slice()
	fmt.Println(err != nil)
	// Output:
	// 2
	// true
}

// The arguments of a callback end when it returns. Retain keeps one.
func ExampleRetain() {
	var kept *tvmffi.Array[int64]
	keep, err := tvmffi.FuncOf(func(a *tvmffi.Array[int64]) { kept = tvmffi.Retain(a) })
	if err != nil {
		log.Fatal(err)
	}
	defer keep.Release()
	if _, err := keep.Call([]int64{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	defer kept.Release()
	fmt.Println(kept)
	// Output: (1, 2, 3)
}

// A callback gives an array that it made to its caller, which then has the only reference.
func ExampleMove() {
	pair, err := tvmffi.FuncOf(func(n int64) (tvmffi.Moved, error) {
		a, err := tvmffi.NewArray(n, n+1)
		if err != nil {
			return tvmffi.Moved{}, err
		}
		return tvmffi.Move(a), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	defer pair.Release()
	result, err := pair.Call(3)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	fmt.Println(result)
	// Output: (3, 4)
}

// Native code carries a Go value and gives it back.
func ExampleNewOpaque() {
	type session struct{ user string }
	x, err := tvmffi.NewOpaque(&session{user: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	if s, ok := tvmffi.OpaqueAs[*session](x); ok {
		fmt.Println(s.user)
	}
	// Output: ada
}

// Equal compares contents, whatever language made them.
func ExampleEqual() {
	a, err := tvmffi.NewArray[any](1, "two")
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	same, err := tvmffi.Equal(a, []any{1, "two"})
	if errors.Is(err, errors.ErrUnsupported) {
		same, err = true, nil // libtvm_ffi is older than 0.1.12
	}
	fmt.Println(same, err)
	// Output: true <nil>
}

// Repr prints any value as the library prints it.
func ExampleRepr() {
	text, err := tvmffi.Repr([]any{1, "two", nil, map[string]bool{"ok": true}})
	fmt.Println(text, err)
	// Output: (1, "two", None, {"ok": True}) <nil>
}

func ExampleParseDataType() {
	t, err := tvmffi.ParseDataType("float32x4")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Bits, t.Lanes, t.ItemSize(), t.Scalar() == tvmffi.Float32)
	// Output: 32 4 16 true
}

func ExampleParseDevice() {
	d, err := tvmffi.ParseDevice("cuda:1")
	fmt.Println(d == tvmffi.CUDA(1), d, err)
	// Output: true cuda:1 <nil>
}

// The parser of the library makes objects of the library.
func ExampleParseJSON() {
	v, err := tvmffi.ParseJSON[*tvmffi.Map[string, tvmffi.Any]]([]byte(`{"name": "rose", "sizes": [1, 2.5]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer v.Release()
	fmt.Println(v)
	text, err := tvmffi.StringifyJSON(v, 0)
	fmt.Println(string(text), err)
	// Output:
	// {"name": "rose", "sizes": (1, 2.5)}
	// {"name":"rose","sizes":[1,2.5]} <nil>
}

// An Any takes any part of a JSON text.
func ExampleAny_UnmarshalJSON() {
	var v struct{ Sizes tvmffi.Any }
	if err := json.Unmarshal([]byte(`{"Sizes":[1,2,{"k":null}]}`), &v); err != nil {
		log.Fatal(err)
	}
	defer v.Sizes.Release()
	text, err := json.Marshal(v)
	fmt.Println(string(text), err)
	// Output: {"Sizes":[1,2,{"k":null}]} <nil>
}
