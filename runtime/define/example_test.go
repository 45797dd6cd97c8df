package define_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// Vector becomes a type that every language in the process can use.
type Vector struct {
	X int64 `ffi:"x" doc:"to the right"`
	Y int64 `ffi:"y,default=0" doc:"upwards"`
}

// Norm returns the distance from zero.
func (v Vector) Norm() float64 { return math.Hypot(float64(v.X), float64(v.Y)) }

// VectorType is the type example.Vector of [Vector].
var VectorType = define.Object[Vector]("example.Vector",
	define.Doc("A vector of the plane."),
	define.Method("norm", Vector.Norm, tvmffi.Doc("The distance from zero.")))

// vectorX reads and writes one field.
var vectorX = define.FieldOf(VectorType, func(v *Vector) *int64 { return &v.X })

// An object type that is made of a Go struct. Other languages construct, read and print its
// objects without entering Go.
func Example() {
	v, err := VectorType.New(Vector{X: 3, Y: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer v.Release()
	fmt.Println(v)
	fmt.Println(v.Value().Norm())

	if err := vectorX.Set(v, 5); err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Value())

	// An object of the type comes back from a call as an Instance.
	f, err := tvmffi.FuncOf(func(v *define.Instance[Vector]) bool { return v.Value().X == 5 })
	if err != nil {
		log.Fatal(err)
	}
	defer f.Release()
	fmt.Println(f.Call(v))
	_, err = f.Call("a string")
	fmt.Println(errors.Is(err, tvmffi.ErrType))
	// Output:
	// example.Vector(x=3, y=4)
	// 5
	// {5 4}
	// true <nil>
	// true
}
