package tvmffi_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A program that loads libtvm_ffi at its start reports a missing library there, and not at
// the first use.
func ExampleLoad() {
	err := tvmffi.Load()
	if errors.Is(err, tvmffi.ErrNotFound) {
		log.Fatal(err) // lists all places that were searched, and what to do
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("loaded:", tvmffi.LibraryPath() != "")
	// Output: loaded: true
}

// The package apache-tvm-ffi has a testing library beside libtvm_ffi. Like every library,
// it registers functions when it is loaded. It is called libtvm_ffi_testing.so on Linux, and
// tvm_ffi_testing.dll on Windows.
func ExampleLoadLibrary() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}
	addOne, err := tvmffi.Lookup("testing.add_one")
	if err != nil {
		log.Fatal(err)
	}
	defer addOne.Release()
	result, err := addOne.Call(41)
	fmt.Println(result, err)
	// Output: 42 <nil>
}

func ExampleLoadModule() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	module, err := tvmffi.LoadModule(beside)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Release()

	// The functions of a module do not appear in the registry.
	f, err := module.Function("testing_dll_schema_id_int")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Release()
	result, err := f.Call(7)
	fmt.Println(result, err)
	// Output: 7 <nil>
}

// A function is found by its name, whatever language it is written in.
func ExampleLookup() {
	newArray, err := tvmffi.Lookup("ffi.Array") // is in libtvm_ffi
	if err != nil {
		log.Fatal(err)
	}
	defer newArray.Release()

	result, err := newArray.Call(1, "two", 3.5, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	fmt.Println(result)

	_, err = tvmffi.Lookup("ffi.Arry")
	fmt.Println(errors.Is(err, tvmffi.ErrAttribute))
	// Output:
	// (1, "two", 3.5, None)
	// true
}

// Go values become values of TVM-FFI when they are passed. As reads the result.
func ExampleFunction_Call() {
	size, err := tvmffi.Lookup("ffi.ArraySize")
	if err != nil {
		log.Fatal(err)
	}
	defer size.Release()

	result, err := size.Call([]string{"red", "green", "blue"})
	if err != nil {
		log.Fatal(err)
	}
	n, err := tvmffi.As[int](result)
	fmt.Println(n, err)
	// Output: 3 <nil>
}

// Every language in the process finds the func by its name, with its signature and its doc
// comment.
func ExampleRegister() {
	double := func(x int64) int64 { return 2 * x }
	if err := tvmffi.Register("example.double", double, tvmffi.Doc("Twice x.")); err != nil {
		log.Fatal(err)
	}
	defer tvmffi.Unregister("example.double") // most programs keep their functions

	f, err := tvmffi.Lookup("example.double")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Release()
	result, err := f.Call(21)
	fmt.Println(result, err)
	// Output: 42 <nil>
}

func ExampleFuncOf() {
	add, err := tvmffi.FuncOf(func(x, y int64) int64 { return x + y })
	if err != nil {
		log.Fatal(err)
	}
	defer add.Release()

	fmt.Println(add.Call(40, 2))

	_, err = add.Call(40, "two")
	fmt.Println(errors.Is(err, tvmffi.ErrType))
	// Output:
	// 42 <nil>
	// true
}

// A function that is the result of a call becomes a Go func by As.
func ExampleFuncOf_toGo() {
	f, err := tvmffi.FuncOf(func(x, y float64) float64 { return x * y })
	if err != nil {
		log.Fatal(err)
	}
	v, err := tvmffi.AnyOf(f)
	if err != nil {
		log.Fatal(err)
	}
	times, err := tvmffi.As[func(x, y float64) (float64, error)](v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(times(6, 7))
	// Output: 42 <nil>
}

// A Go func is an argument like any other value. Here the library calls it back.
func ExampleFunction_Call_callback() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}
	apply, err := tvmffi.Lookup("testing.apply")
	if err != nil {
		log.Fatal(err)
	}
	defer apply.Release()

	join := func(x, y string) (string, error) { return x + " and " + y, nil }
	fmt.Println(apply.Call(join, "bread", "butter"))
	// Output: bread and butter <nil>
}

// A Packed takes any number of arguments of any types.
func ExamplePacked() {
	count, err := tvmffi.FuncOf(tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
		n := 0
		for _, x := range args {
			if _, ok := x.Value().(string); ok {
				n++
			}
		}
		return n, nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer count.Release()
	fmt.Println(count.Call(1, "two", 3.5, "four"))
	// Output: 2 <nil>
}

// An error of the library has a kind and a message.
func ExampleError() {
	at, err := tvmffi.Lookup("ffi.ArrayGetItem")
	if err != nil {
		log.Fatal(err)
	}
	defer at.Release()

	_, err = at.Call([]int64{10, 20}, 5)
	if failure, ok := errors.AsType[*tvmffi.Error](err); ok {
		fmt.Println("kind:", failure.Kind)
		fmt.Println("has frames:", len(failure.Frames()) > 0)
	}
	// Output:
	// kind: IndexError
	// has frames: true
}

// errors.Is compares the kind of an error.
func ExampleError_Is() {
	at, err := tvmffi.Lookup("ffi.ArrayGetItem")
	if err != nil {
		log.Fatal(err)
	}
	defer at.Release()

	_, err = at.Call([]int64{10, 20}, 5)
	switch {
	case errors.Is(err, tvmffi.ErrIndex):
		fmt.Println("there is no such item")
	case errors.Is(err, tvmffi.ErrType):
		fmt.Println("the argument has another type")
	}
	// Output: there is no such item
}

// A library may have kinds of its own.
func ExampleKindError() {
	errFrozen := tvmffi.KindError("FrozenError")
	f, err := tvmffi.FuncOf(func() error { return tvmffi.NewError("FrozenError", "the pond is frozen") })
	if err != nil {
		log.Fatal(err)
	}
	defer f.Release()
	_, err = f.Call()
	fmt.Println(errors.Is(err, errFrozen), err)
	// Output: true FrozenError: the pond is frozen
}

// The error of a callback keeps its identity on its way through native code.
func ExampleWrapError() {
	errEmpty := errors.New("the can is empty")
	water, err := tvmffi.FuncOf(func() error {
		return tvmffi.WrapError("ValueError", "cannot water", errEmpty)
	})
	if err != nil {
		log.Fatal(err)
	}
	defer water.Release()

	_, err = water.Call()
	fmt.Println(errors.Is(err, tvmffi.ErrValue), errors.Is(err, errEmpty))
	// Output: true true
}
