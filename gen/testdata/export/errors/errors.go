// Package errors holds every mistake that an export can have; the comment beside
// each is part of the error. The tests read it, go build does not.
package errors

import (
	"context"
	"iter"
	"math/big"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

//tvmffi:exprot // want `unknown directive //tvmffi:exprot: there are export, object, method`
func Misspelled() {}

//tvmffi:export
func unexported() {} // want `func unexported is not exported: write it with a capital letter`

//tvmffi:export
func Generic[T any](x T) T { return x } // want `func Generic is generic: export a func for each instance`

//tvmffi:export one two // want `//tvmffi:export takes one name, and after it defaults such as n=3, and lend: remove "two`
func TwoNames() {}

//tvmffi:export a.b // want `is not a valid C symbol`
func Dotted() {}

//tvmffi:export same
func Same() {}

//tvmffi:export same
func Other() {} // want `Other and Same are both exported as same: give one another name`

//tvmffi:export
func Channel(c chan int) {} // want `parameter c of Channel: type chan int has no counterpart in TVM-FFI: return an iter.Seq, or use a func or a slice`

//tvmffi:export d=soon // want `parameter d of Delay: the default "soon" is not a duration: write one such as 1.5s, or a number of nanoseconds`
func Delay(d time.Duration) {}

//tvmffi:export d=1s1.5ns // want `parameter d of Pause: the default "1s1.5ns" has a part of a nanosecond, which a duration cannot have`
func Pause(d time.Duration) {}

//tvmffi:export lend // want `lend has no effect: Waves has no parameter or result such as []float32, a slice of ints or floats`
func Waves(x []complex128) {}

//tvmffi:export
func Nested(m map[string][]chan int) {} // want `parameter m of Nested: type chan int`

//tvmffi:export
func Keys(m map[float64]int) {} // want `keys of type float64: a map of TVM-FFI that Go makes`

//tvmffi:export
func Nine() (a, b, c, d, e, f, g, h, i int64) { return } // want `Nine has 9 results: a tuple has at most 8; return a struct with tags`

//tvmffi:export
func BadSecond() (int64, chan int, error) { return 0, nil, nil } // want `result 2 of BadSecond: type chan int`

//tvmffi:export b=1 // want `Unknown has no parameter "b" for a default: it has a, c`
func Unknown(a, _, c int64) {}

//tvmffi:export a=1 // want `NoNames has no parameter "a" for a default: it has none with a name`
func NoNames(int64) {}

//tvmffi:export a=1 // want `parameter b of NotTrailing has no default, but a before it has one: add b=VALUE`
func NotTrailing(a, b int64) {}

//tvmffi:export a=300 // want `parameter a of TooLarge: the default "300" does not fit int8`
func TooLarge(a int8) {}

//tvmffi:export a=18446744073709551616 // want `parameter a of Unsigned: the default "18446744073709551616" does not fit uint64`
func Unsigned(a uint64) {}

//tvmffi:export a=x // want `parameter a of BadValue: the default "x" is not a valid float64`
func BadValue(a float64) {}

const (
	large       = 300
	whole int32 = 1
	part        = 1.5
	huge        = 1e400
)

var variable = 1

//tvmffi:export a=large // want `parameter a of LargeConstant: the default "300" does not fit int8`
func LargeConstant(a int8) {}

//tvmffi:export a=whole // want `parameter a of OtherConstant: the default "whole" is not a valid int64`
func OtherConstant(a int64) {}

//tvmffi:export a=part // want `parameter a of PartConstant: the default "part" is not a valid int64`
func PartConstant(a int64) {}

//tvmffi:export a=huge // want `parameter a of HugeConstant: the default "huge" is not a valid float64`
func HugeConstant(a float64) {}

//tvmffi:export a=variable // want `parameter a of NotConstant: the default "variable" is not a valid int`
func NotConstant(a int) {}

// Sheen has text constants.
type Sheen string

// Matt is the only Sheen.
const Matt Sheen = "matt"

//tvmffi:export a=Mat // want `parameter a of NotSheen: the default "Mat" is not a constant of Sheen: write matt`
func NotSheen(a Sheen) {}

//tvmffi:export a=1+1 // want `parameter a of Expression: the default "1+1" is not a valid int`
func Expression(a int) {}

//tvmffi:export
func Unnamed(a []struct { // want `parameter a of Unnamed: a struct without a name: declare a type`
	X int `ffi:"x"`
}) {
}

//tvmffi:export a=nil // want `parameter a of NoNil: the default "nil" is not a valid int64`
func NoNil(a int64) {}

//tvmffi:export a=1 // want `parameter a of ListDefault: a directive cannot hold a default of type []int64: remove a=`
func ListDefault(a []int64) {}

//tvmffi:export a=nil // want `parameter a of NilMap: other languages have no nil of type map[string]int64: give it the type *map[string]int64, or remove a=`
func NilMap(a map[string]int64) {}

//tvmffi:export a=1 a=2 // want `parameter a of TwoDefaults has two defaults: remove one`
func TwoDefaults(a int64) {}

//tvmffi:export xs=1 // want `parameter xs of Variadic is variadic, and so empty by default: remove xs=`
func Variadic(xs ...int64) {}

//tvmffi:export args=1 // want `AnyArgs takes any arguments, which have no defaults: remove args=`
func AnyArgs(args ...any) {}

//tvmffi:export a="x // want `the text of a= has no end: write it as in Go`
func NoEnd(a string) {}

//tvmffi:export lend // want `lend has no effect: LendsNothing has no parameter or result such as []float32, a slice of ints or floats`
func LendsNothing(a string) []string { return nil }

//tvmffi:export lend // want `lend of LendsObject: the object that it returns could keep x, which is memory of the caller, after the call: remove lend, or take x as a *tvmffi.Tensor and read it by tvmffi.Slice`
func LendsObject(x []float64) *Index { return nil }

//tvmffi:export lend // want `lend of LendsObjects: the object that it returns could keep x`
func LendsObjects(x []float64) map[string][]*Index { return nil }

//tvmffi:export lend // want `lend of LendsLater: the object that it returns could keep x`
func LendsLater(x []float64) iter.Seq[*Index] { return nil }

//tvmffi:export
func Sequence(s iter.Seq[int64]) {} // want `parameter s of Sequence: type iter.Seq[int64] can only be a result of a func or a method: use a slice, or a func`

//tvmffi:export
func Sequences() []iter.Seq[int64] { return nil } // want `the result of Sequences: type iter.Seq[int64] can only be a result`

//tvmffi:export
func ChannelSequence() iter.Seq2[int64, chan int] { return nil } // want `the result of ChannelSequence: type chan int`

//tvmffi:export
func ErrorFirst() (error, int) { return nil, 0 } // want `ErrorFirst returns an error that is not its last result: put error last`

//tvmffi:export
func CallbackErrorFirst(f func() (error, int)) {} // want `parameter f of CallbackErrorFirst: a func value returns an error that is not its last result: put error last`

//tvmffi:export
func ContextLast(a int64, ctx context.Context) {} // want `parameter ctx of ContextLast is a context.Context: there can be one`

// tvmffi:export // want `this comment is not a directive: write //tvmffi:export, without a space`
func Spaced() {}

// tvmffi: export // want `this comment is not a directive: write //tvmffi:export, without a space`
func SpacedVerb() {}

// tvmffi:exprot // want `this comment is not a directive: there are //tvmffi:export, object, method`
func SpacedMisspelled() {}

// tvmffi: a comment that begins with these words is one.
// //tvmffi:export is one as well
func Prose() {
	//tvmffi: export // want `this comment is not a directive: write //tvmffi:export, without a space`

	//tvmffi: // want `this comment is not a directive: there are //tvmffi:export, object, method`
}

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
func When(t time.Location) {} // want `struct time.Location of another package has no counterpart in TVM-FFI: take or return what it has`

//tvmffi:export
func Callback(f func(chan int) error) {} // want `parameter f of Callback: type chan int`

//tvmffi:export
func Endless(x endless[int64]) {} // want `field Next of endless[[][][][][][][]int64]: it holds ever larger instances of itself: go build shows it`

type endless[T any] struct {
	Next *endless[[]T] `ffi:"next"`
}

//tvmffi:export
func Broken(x missing) {} // want `parameter x of Broken: its type has an error: undefined: missing`

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

//tvmffi:object // want `type Number is not a struct`
type Number int

//tvmffi:object // want `type Alias is an alias: put //tvmffi:object where the type is declared`
type Alias = Exported

//tvmffi:object // want `type hidden is not exported`
type hidden struct{}

//tvmffi:object // want `type Box is generic`
type Box[T any] struct{ V T }

//tvmffi:object a..b // want `"a..b" is not a type key`
type BadKey struct{}

//tvmffi:object parent=Base // want `parent=Base is not a type key such as lib.Base: a parent that is a Go struct is embedded`
type BadParent struct{}

//tvmffi:object sealed=yes // want `unknown option "sealed=yes" of //tvmffi:object`
type BadOption struct{}

//tvmffi:object structural=forest // want `structural=forest: the kinds are tree, var, dag, const-tree and singleton`
type BadKind struct{}

//tvmffi:object
type Fields struct {
	Good     int64    `ffi:"good"`
	bad      int64    `ffi:"bad"`  // want `field bad of Fields has a tag but is not exported`
	Ugly     chan int `ffi:"ugly"` // want `field Ugly of Fields: type chan int`
	Mute     chan int // want `field Mute of Fields has no tag, so an object has no room for it, and what a method or a constructor sets is lost: write `ffi:"name"` behind it, `ffi:"-"` if each call may begin with its zero value, or make Fields opaque`
	lost     int      // want `field lost of Fields has no tag`
	Left     chan int `ffi:"-"` // is left out
	_        int
	Untagged // want `field Untagged of Fields has no tag`
	Half

	Number  *big.Int    `ffi:"number"`  // want `field Number of Fields: a field of an object has at most 64 bits: write int64, or a string with the digits`
	Twice   **int64     `ffi:"twice"`   // want `field Twice of Fields: type **int64: write *int64, of which nil is None`
	Handler *func()     `ffi:"handler"` // want `field Handler of Fields: type *func(): write func(), of which nil is None`
	Any     *any        `ffi:"any"`     // want `field Any of Fields: type *any: write any, of which nil is None`
	Value   *tvmffi.Any `ffi:"value"`   // want `field Value of Fields: type *tvmffi.Any: write tvmffi.Any, which may hold None`
}

// Untagged is embedded in an object, and none of its fields has a tag.
type Untagged struct{ N int }

// Half is embedded in an object, and one of its fields has no tag.
type Half struct {
	Tagged int64 `ffi:"tagged"`
	Bare   int64 // want `field Bare of Fields has no tag`
}

//tvmffi:repr
func (f *Fields) String() string { return "" } // want `Fields.String must be func (x Fields) String() string, with the struct as its receiver`

//tvmffi:equal
func (f Fields) Equal(other int64) bool { return false } // want `Fields.Equal must be func (x Fields) Equal(other T) bool`

//tvmffi:method n=1 // want `Defaults has no parameter "n" for a default: it has x`
func (f Fields) Defaults(x int64) {}

//tvmffi:method
func (f Fields) ContextLast(a int64, ctx context.Context) {} // want `parameter ctx of ContextLast is a context.Context: there can be one`

//tvmffi:method
func (f Fields) Wait(ctx context.Context) {}

//tvmffi:method wait_async
func (f Fields) Later() {} // want `Fields.Later is exported as wait_async, which is the name of the asynchronous form of Fields.Wait`

//tvmffi:export
func Wait(ctx context.Context) {}

//tvmffi:export
func WaitAsync() {} // want `WaitAsync is exported as wait_async, which is the name of the asynchronous form of Wait, a func with a context: give one another name`

//tvmffi:object lib.Same
type Same1 struct{}

//tvmffi:object lib.Same
type Same2 struct{} // want `Same2 and Same1 both have the key lib.Same`

//tvmffi:object finl // want `"finl" is neither an option nor a type key: the options are opaque, parent=KEY, final, frozen, kwonly and structural=KIND; a key has a dot`
type Finl struct{}

//tvmffi:object
type Tags struct {
	inner
	Option   int64           `ffi:"a,defualt=3"`                    // want `field Option of Tags: the tag has an unknown option "defualt=3": there are optional, kwonly`
	Text     int64           `ffi:"b,default=three"`                // want `field Text of Tags: the default "three" is not a valid int64`
	Sheen    Sheen           `ffi:"s,default=Matt"`                 // want `field Sheen of Tags: the default "Matt" is not a constant of Sheen: write matt`
	Small    *int8           `ffi:"c,default=300"`                  // want `the default "300" does not fit int8`
	Unsigned uint64          `ffi:"i,default=18446744073709551616"` // want `field Unsigned of Tags: the default "18446744073709551616" does not fit uint64`
	NotLast  uint            `ffi:"d,default=3,def"`                // want `the default "3,def" is not a valid uint: default= takes the rest of the tag, so put it last`
	List     []int64         `ffi:"e,default=1"`                    // want `a tag cannot hold a default of type []int64: remove default=`
	Dtype    tvmffi.DataType `ffi:"f,default=floot32"`              // want `the default "floot32": unknown`
	Nameless int64           `ffi:",optional"`                      // want `the tag has no name that other languages can use: ""`
	Twice    int64           `ffi:"inner"`                          // want `field Twice of Tags: two fields are named inner: rename one`
	Quotes   int64           `ffi:x`                                // want `field Quotes of Tags: the tag ffi:x is malformed: write`
	Out      int64           `ffi:"-,what"`
	Good     tvmffi.DataType `ffi:"g,kwonly,default=float32x4"`
}

type inner struct {
	Inner int64 `ffi:"inner"`
	Bad   int64 `ffi:"bad,bad"` // want `field Bad of Tags: the tag has an unknown option "bad"`
}

//tvmffi:export
func Value(v value) {} // want `parameter v of Value: field X of value: the tag ffi:x is malformed`

type value struct {
	X int64 `ffi:x`
}

//tvmffi:error
type NoError struct{} // want `type NoError is not an error: give it a method Error() string`

//tvmffi:error // want `type noCapital is not exported`
type noCapital struct{ text }

//tvmffi:error // want `type GenericError is generic: declare an error type for each instance`
type GenericError[T any] struct{ text }

//tvmffi:error // want `type AliasError is an alias: put //tvmffi:error where the type is declared`
type AliasError = noCapital

//tvmffi:error a-b // want `"a-b" is not a kind: write letters, digits and _`
type DashError struct{ text }

//tvmffi:error base=Exception // want `base=Exception is not a kind that other languages know: use one of ArithmeticError, AssertionError`
type BadBase struct{ text }

//tvmffi:error base=KeyError base=ValueError // want `two bases for error TwoBases: an error type has one`
type TwoBases struct{ text }

//tvmffi:error base=KeyError final // want `unknown option "final" of //tvmffi:error: there is base=KIND`
type OptionError struct{ text }

//tvmffi:error KeyError // want `KeyError is a kind that exists: choose another one, and write base=KeyError`
type TakenKind struct{ text }

//tvmffi:error lib.Gone
type GoneError struct{ text }

//tvmffi:error lib.Gone
type LostError struct{ text } // want `LostError and GoneError both have the kind lib.Gone: give one another kind`

//tvmffi:error LikeType
type KeyOfType struct{ text } // want `error KeyOfType has the kind LikeType, which is the key of the type LikeType`

//tvmffi:object
type LikeType struct{}

//tvmffi:object
//tvmffi:error // want `two directives for one declaration: remove one`
type Both struct{ text }

// pointing embeds a pointer to a struct with tags.
type pointing struct{ *Half }

//tvmffi:error
type FieldsError struct {
	text
	*pointing          // want `field pointing of FieldsError: it embeds the pointer *pointing, whose fields would be left out: embed the struct itself, or give the field a tag`
	C         chan int `ffi:"c"`             // want `field C of FieldsError: type chan int has no counterpart`
	hide      int      `ffi:"hide"`          // want `field hide of FieldsError has a tag but is not exported`
	Args      []string `ffi:"args"`          // want `field Args of FieldsError: errors of other languages already have args`
	Dash      int      `ffi:"a-b"`           // want `"a-b" is not a name in other languages`
	Same      int      `ffi:"x"`             //
	More      int      `ffi:"x"`             // want `two fields are named x: rename one`
	Big       int8     `ffi:"b,default=300"` // want `the default "300" does not fit int8`
}

//tvmffi:error
type FloatError float64 // want `error FloatError is a float64: only structs, strings and integers cross as errors`

func (FloatError) Error() string { return "" }

//tvmffi:error
type ListError []string // want `error ListError is a []string: only structs, strings and integers cross as errors`

func (ListError) Error() string { return "" }

//tvmffi:error // want `//tvmffi:error belongs above a type: func AnError has //tvmffi:export`
func AnError() {}

type text struct{}

func (text) Error() string { return "" }

//tvmffi:export // want `stands alone: put it directly above a func, struct or import`

var _ = unexported

//tvmffi:export n=-1 // want `parameter n of Huge: the default "-1" is not a valid uint64`
func Huge(n uint64) {}
