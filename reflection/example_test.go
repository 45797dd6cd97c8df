package reflection_test

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	"github.com/tvmffi-go/tvmffi/reflection"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The examples use a library with the types garden.Plant and garden.Rose.
func newRose() *tvmffi.Object {
	load(nativetest.Example{})
	t, err := reflection.TypeByKey("garden.Rose")
	if err != nil {
		panic(err)
	}
	rose, err := t.New(reflection.Kwargs{"color": "red", "petals": 40})
	if err != nil {
		panic(err)
	}
	return rose
}

func ExampleTypeOf() {
	rose := newRose()
	defer rose.Release()
	t := reflection.TypeOf(rose)
	fmt.Println(t, "is a", t.Parent())
	for _, f := range t.Fields() {
		fmt.Printf("%s %s: %s\n", f.Name(), f.Type(), f.Doc())
	}
	// Output:
	// garden.Rose is a garden.Plant
	// height float: The height in metres.
	// color ffi.String: The colour of the petals.
	// petals int: How many petals are left.
}

func ExampleValueOf() {
	rose := newRose()
	defer rose.Release()
	v := reflection.ValueOf(rose)
	left, err := v.Call("pluck", 3)
	fmt.Println(left, err)
	fmt.Println(v.Set("height", 0.5))
	fmt.Println(v.Set("color", "blue"))
	color, err := reflection.Get[string](rose, "color")
	fmt.Println(color, err)
	fmt.Println(v)
	// Output:
	// 37 <nil>
	// <nil>
	// AttributeError: field garden.Rose.color is read-only
	// red <nil>
	// garden.Rose(height=0.5, color="red", petals=37)
}

// A field that is found once reads many objects.
func ExampleField() {
	rose := newRose()
	defer rose.Release()
	petals, err := reflection.TypeOf(rose).FieldByName("petals")
	if err != nil {
		panic(err)
	}
	fmt.Println(petals.Int(rose), petals.HasDefault(), petals.Size())
	// Output: 40 true 8
}

// Any object can be saved by its fields, as with the attribute visitor of TVM.
func ExampleValue_Fields() {
	rose := newRose()
	defer rose.Release()
	for f, v := range reflection.ValueOf(rose).Fields() {
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
	// height = float 1
	// color = text "red"
	// petals = int 40
}

func ExampleWalk() {
	rose := newRose()
	defer rose.Release()
	bed, err := tvmffi.NewMap(tvmffi.MapOf(map[string]any{"middle": []any{rose, rose}, "name": "front"}))
	if err != nil {
		panic(err)
	}
	defer bed.Release()
	w := reflection.Walk(bed)
	for path, v := range w.All() {
		if v.TypeKey() == "garden.Rose" {
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
	// <root>["name"] ffi.String
	// <nil>
}
