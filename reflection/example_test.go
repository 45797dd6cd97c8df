package reflection_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A program makes an object of a library, reads and writes its fields and calls its
// methods, all by name. The library lies beside libtvm_ffi; on macOS its name ends in
// .dylib.
func Example() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}

	t, err := reflection.TypeByKey("testing.TestObjectBase")
	if err != nil {
		log.Fatal(err)
	}
	x, err := t.New(reflection.Kwargs{"v_i64": 40})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()

	v := reflection.ValueOf(x)
	fmt.Println(v.Call("add_i64", 2))
	fmt.Println(v.Set("v_str", "world"))
	fmt.Println(reflection.Get[string](x, "v_str"))
	// Output:
	// 42 <nil>
	// <nil>
	// world <nil>
}

func ExampleTypeByKey() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}

	t, err := reflection.TypeByKey("testing.TestIntPair")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t, "is a", t.Parent())
	for _, f := range t.Fields() {
		fmt.Printf("%s %s: %s\n", f.Name(), f.Type(), f.Doc())
	}
	// Output:
	// testing.TestIntPair is a ffi.Object
	// a int: Field `a`
	// b int: Field `b`
}

// Every object has a type, containers too.
func ExampleTypeOf() {
	a, err := tvmffi.NewArray(1, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	t := reflection.TypeOf(a)
	fmt.Println(t, "is a", t.Parent())
	// Output: ffi.Array is a ffi.Object
}

// A change that the library would make silently is an error.
func ExampleValue_Set() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}

	t, err := reflection.TypeByKey("testing.TestObjectBase")
	if err != nil {
		log.Fatal(err)
	}
	x, err := t.New(reflection.Kwargs{"v_f64": 0.5})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()

	v := reflection.ValueOf(x)
	fmt.Println(v.Set("v_f64", 1.5))
	err = v.Set("v_i64", "seven")
	fmt.Println(errors.Is(err, tvmffi.ErrType))
	// Output:
	// AttributeError: field testing.TestObjectBase.v_f64 is read-only
	// true
}

// A field that is found once reads many objects.
func ExampleField() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}

	t, err := reflection.TypeByKey("testing.TestObjectBase")
	if err != nil {
		log.Fatal(err)
	}
	count, err := t.FieldByName("v_i64")
	if err != nil {
		log.Fatal(err)
	}
	sum := int64(0)
	for i := range 3 {
		x, err := t.New(reflection.Kwargs{"v_i64": 10 * i})
		if err != nil {
			log.Fatal(err)
		}
		sum += count.Int(x)
		x.Release()
	}
	fmt.Println(sum, count.HasDefault(), count.Size())
	// Output: 30 true 8
}

// Any object can be saved by its fields, as with the attribute visitor of TVM.
func ExampleValue_Fields() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err)
	}
	beside := strings.Replace(tvmffi.LibraryPath(), "tvm_ffi.", "tvm_ffi_testing.", 1)
	if err := tvmffi.LoadLibrary(beside); err != nil {
		log.Fatal(err)
	}

	t, err := reflection.TypeByKey("testing.TestObjectBase")
	if err != nil {
		log.Fatal(err)
	}
	x, err := t.New(reflection.Kwargs{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	for f, v := range reflection.ValueOf(x).Fields() {
		switch x := v.Value().(type) {
		case int64:
			fmt.Printf("%s = int %d\n", f.Name(), x)
		case float64:
			fmt.Printf("%s = float %g\n", f.Name(), x)
		case string:
			fmt.Printf("%s = text %q\n", f.Name(), x)
		case tvmffi.ObjectRef:
			fmt.Printf("%s = object of type %s\n", f.Name(), v.TypeKey())
		}
	}
	// Output:
	// v_i64 = int 10
	// v_f64 = float 10
	// v_str = text "hello"
}

func ExampleWalk() {
	sizes, err := tvmffi.NewArray(1, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer sizes.Release()
	bed, err := tvmffi.NewMap(tvmffi.MapOf(map[string]any{"middle": []any{sizes, nil}, "name": "front"}))
	if err != nil {
		log.Fatal(err)
	}
	defer bed.Release()

	w := reflection.Walk(bed)
	for path, v := range w.All() {
		if x, ok := v.Value().(tvmffi.ObjectRef); ok && tvmffi.Same(x, sizes) {
			fmt.Println(path, "is not looked into")
			w.Skip()
			continue
		}
		fmt.Println(path, v.TypeKey())
	}
	fmt.Println(w.Err())
	// Output:
	// <root> ffi.Map
	// <root>["middle"] ffi.Array
	// <root>["middle"][0] is not looked into
	// <root>["middle"][1] None
	// <root>["name"] ffi.String
	// <nil>
}
