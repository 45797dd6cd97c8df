package tvmffi_test

import (
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func ExampleNewArray() {
	a, err := tvmffi.NewArray("red", "green", "blue")
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	for i, color := range a.All() {
		fmt.Println(i, color)
	}
	fmt.Println(a.Len(), a.At(1))
	// Output:
	// 0 red
	// 1 green
	// 2 blue
	// 3 green
}

// A function returns an array as an object. Slice copies its elements to Go.
func ExampleArray_Slice() {
	newArray, err := tvmffi.Lookup("ffi.Array")
	if err != nil {
		log.Fatal(err)
	}
	defer newArray.Release()
	result, err := newArray.Call(3, 1, 2)
	if err != nil {
		log.Fatal(err)
	}
	a, err := tvmffi.As[*tvmffi.Array[int64]](result)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	numbers, err := a.Slice()
	fmt.Println(numbers, err)
	// Output: [3 1 2] <nil>
}

// Of passes Go values where an array is expected. The array lives as long as the call.
func ExampleOf() {
	size, err := tvmffi.Lookup("ffi.ArraySize")
	if err != nil {
		log.Fatal(err)
	}
	defer size.Release()
	fmt.Println(size.Call(tvmffi.Of(1.5, 2.5, 3.5)))
	// Output: 3 <nil>
}

func ExampleNewMap() {
	m, err := tvmffi.NewMap(tvmffi.MapOf(map[string]int64{"tulip": 7, "rose": 40}))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Release()
	for name, petals := range m.All() {
		fmt.Println(name, petals)
	}
	_, ok := m.Get("daisy")
	fmt.Println(m.Len(), ok)
	// Output:
	// rose 40
	// tulip 7
	// 2 false
}

// MapOf passes a Go map where a map is expected. The map lives as long as the call.
func ExampleMapOf() {
	size, err := tvmffi.Lookup("ffi.MapSize")
	if err != nil {
		log.Fatal(err)
	}
	defer size.Release()
	fmt.Println(size.Call(tvmffi.MapOf(map[string]float64{"height": 1.5, "width": 0.5})))
	// Output: 2 <nil>
}

// PairsOf keeps the order of the entries, and its keys may have any type.
func ExamplePairsOf() {
	m, err := tvmffi.NewMap(tvmffi.PairsOf(
		tvmffi.Pair[float64, string]{Key: 2.5, Value: "first"},
		tvmffi.Pair[float64, string]{Key: 0.5, Value: "second"},
	))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Release()
	fmt.Println(m)
	// Output: {2.5: "first", 0.5: "second"}
}

// A List can be changed. All references to it share its elements.
func ExampleNewList() {
	l, err := tvmffi.NewList(1, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Release()
	if err := l.Append(3, 4); err != nil {
		log.Fatal(err)
	}
	if err := l.Set(0, 10); err != nil {
		log.Fatal(err)
	}
	fmt.Println(l)
	// Output: [10, 2, 3, 4]
}

// A Dict can be changed. All references to it share its entries.
func ExampleNewDict() {
	d, err := tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"rose": 3}))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Release()
	if err := d.Set("tulip", 5); err != nil {
		log.Fatal(err)
	}
	was, err := d.Delete("rose")
	fmt.Println(d, was, err)
	// Output: {"tulip": 5} true <nil>
}

func ExampleNewShape() {
	s, err := tvmffi.NewShape(2, 3, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Release()
	fmt.Println(s.Len(), s.At(1), s.Slice())
	// Output: 3 3 [2 3 4]
}

// A tuple is an array whose elements have their own types.
func ExampleTuple2() {
	divide, err := tvmffi.FuncOf(func(x, y int64) tvmffi.Tuple2[int64, int64] {
		return tvmffi.Tuple2[int64, int64]{A: x / y, B: x % y}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer divide.Release()
	result, err := divide.Call(17, 5)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	both, err := tvmffi.As[tvmffi.Tuple2[int64, int64]](result)
	fmt.Println(both.A, both.B, err)
	// Output: 3 2 <nil>
}

// A struct with tags becomes a map.
func ExampleMarshalMap() {
	type config struct {
		Name  string  `ffi:"name"`
		Sizes []int64 `ffi:"sizes,optional"`
	}
	m, err := tvmffi.MarshalMap(config{Name: "small", Sizes: []int64{8, 16}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Release()
	fmt.Println(m)

	var back config
	if err := tvmffi.UnmarshalMap(m, &back); err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.Name, back.Sizes)
	// Output:
	// {"name": "small", "sizes": (8, 16)}
	// small [8 16]
}
