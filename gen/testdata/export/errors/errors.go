// Package errors holds every mistake that an export can have; the comment beside
// each is part of the error. The tests read it, go build does not.
package errors

import tvmffi "github.com/tvmffi-go/tvmffi/runtime"

//tvmffi:exprot // want `unknown directive //tvmffi:exprot: there are export, object, method`
func Misspelled() {}

//tvmffi:export
func unexported() {} // want `func unexported is not exported: write it with a capital letter`

//tvmffi:export
func Generic[T any](x T) T { return x } // want `func Generic is generic: export a func for each instance`

//tvmffi:export one two // want `//tvmffi:export takes a name, and "two`
func TwoNames() {}

//tvmffi:export a.b // want `is no name for a C symbol`
func Dotted() {}

//tvmffi:export same
func Same() {}

//tvmffi:export same
func Other() {} // want `Other is exported as same, as Same is: give one another name`

//tvmffi:export
func Channel(c chan int) {} // want `parameter c of Channel: type chan int has no counterpart in TVM-FFI: take a func, or a slice`

//tvmffi:export
func Complex(a complex128) {} // want `type complex128 has no counterpart in TVM-FFI: take two float64`

//tvmffi:export
func Nested(m map[string][]chan int) {} // want `parameter m of Nested: type chan int`

//tvmffi:export
func Keys(m map[float64]int) {} // want `keys of type float64: a map of TVM-FFI that Go makes`

//tvmffi:export
func Variadic(numbers ...int64) {} // want `parameter numbers of Variadic is variadic: TVM-FFI has ...any only; take a slice, []int64`

//tvmffi:export
func Mixed(first int64, rest ...any) {} // want `Mixed takes parameters before ...any`

//tvmffi:export
func Two() (int64, string) { return 0, "" } // want `Two has 2 results: a function of TVM-FFI has one, and an error; return a tvmffi.Tuple2`

//tvmffi:export
func Stringer(s interface{ String() string }) {} // want `cannot be received: take a pointer to an object type`

//tvmffi:export
func Container(a tvmffi.ArrayArg[int64]) {} // want `cannot be received: take a slice`

//tvmffi:export
func ByValue(t tvmffi.Tensor) {} // want `tvmffi.Tensor is used by its pointer: write *tvmffi.Tensor`

//tvmffi:export
func Untagged(u untagged) {} // want `struct untagged has no counterpart in TVM-FFI: give its fields tags`

type untagged struct{ X int64 }

//tvmffi:export
func Callback(f func(chan int) error) {} // want `parameter f of Callback: type chan int`

//tvmffi:export
func Broken(x missing) {} // want `parameter x of Broken: its type has an error: go build tells which`

//tvmffi:method // want `func NoReceiver has no receiver: write //tvmffi:export`
func NoReceiver() {}

//tvmffi:export // want `MethodExported is a method: write //tvmffi:method`
func (untagged) MethodExported() {}

//tvmffi:method // want `the type of method Orphan has no directive: write //tvmffi:object above its struct`
func (untagged) Orphan() {}

//tvmffi:object // want `//tvmffi:object belongs above a struct: func NotAStruct`
func NotAStruct() {}

//tvmffi:export // want `//tvmffi:export belongs above a func`
type Exported struct{}

//tvmffi:object // want `type Number is no struct`
type Number int

//tvmffi:object // want `type Alias is an alias: put //tvmffi:object where the struct is declared`
type Alias = Exported

//tvmffi:object // want `type hidden is not exported`
type hidden struct{}

//tvmffi:object // want `type Box is generic`
type Box[T any] struct{ V T }

//tvmffi:object a..b // want `"a..b" is no type key`
type BadKey struct{}

//tvmffi:object parent=Base // want `parent=Base is no type key, such as parent=lib.Base: a parent that is a Go struct is embedded`
type BadParent struct{}

//tvmffi:object sealed=yes // want `unknown option "sealed=yes" of //tvmffi:object`
type BadOption struct{}

//tvmffi:object structural=forest // want `structural=forest: the kinds are tree, var, dag, const-tree and singleton`
type BadKind struct{}

//tvmffi:object
type Fields struct {
	Good int64    `ffi:"good"`
	bad  int64    `ffi:"bad"`  // want `field bad of Fields has a tag but is not exported`
	Ugly chan int `ffi:"ugly"` // want `field Ugly of Fields: type chan int`
	Mute chan int // without a tag it is nobody's business
}

//tvmffi:repr
func (f *Fields) String() string { return "" } // want `Fields.String must be func (x Fields) String() string, with the struct as its receiver`

//tvmffi:equal
func (f Fields) Equal(other int64) bool { return false } // want `Fields.Equal must be func (x Fields) Equal(other T) bool`

//tvmffi:method
func (f Fields) Spread(all ...any) {} // want `method Spread takes any arguments`

//tvmffi:object Fields
type Again struct{} // want `Again has the key Fields, as Fields has`

//tvmffi:export // want `stands alone: put it directly above a func or struct`

var _ = unexported
