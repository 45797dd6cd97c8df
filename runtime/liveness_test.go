//go:build tvmffi_liveness

package tvmffi_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// The uses of the tests TestLiveness are the last uses of their objects. Nothing else refers
// to these, and the collector runs in each of them, so an object that the use does not keep
// alive is gone. The makers below are not inlined: no variable of a test keeps what they made.

func got[T any](v T, err error) T { return runtimetest.Got(v, err) }

// done returns the text of an error, and nil if there is none.
func done(err error) any {
	if err != nil {
		return err.Error()
	}
	return nil
}

const (
	textA = "the first text of more than seven bytes"
	textB = "the second text of more than seven bytes"
)

//go:noinline
func text(s string) string { return strings.Clone(s) }

//go:noinline
func data(s string) []byte { return []byte(s) }

//go:noinline
func ints() *tvmffi.Array[int64] { return got(tvmffi.NewArray[int64](11, 12, 13)) }

//go:noinline
func floats() *tvmffi.Array[float64] { return got(tvmffi.NewArray(1.5, 2.5)) }

//go:noinline
func texts() *tvmffi.Array[string] { return got(tvmffi.NewArray(textA, textB)) }

//go:noinline
func box(n int64) *runtimetest.Box { return got(runtimetest.NewBox(n)) }

//go:noinline
func subBox(n int64) *runtimetest.Box { return got(runtimetest.NewSubBox(n)) }

//go:noinline
func boxes() *tvmffi.Array[*runtimetest.Box] { return got(tvmffi.NewArray(box(1), box(2))) }

//go:noinline
func list() *tvmffi.List[int64] { return got(tvmffi.NewList[int64](21, 22, 23)) }

//go:noinline
func textList() *tvmffi.List[string] { return got(tvmffi.NewList(textA, textB)) }

//go:noinline
func table() *tvmffi.Map[string, int64] {
	return got(tvmffi.NewMap(tvmffi.MapOf(map[string]int64{textA: 1})))
}

//go:noinline
func floatTable() *tvmffi.Map[float64, string] {
	return got(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[float64, string]{1.5, textA})))
}

//go:noinline
func xTable() *tvmffi.Map[string, int64] {
	return got(tvmffi.NewMap(tvmffi.MapOf(map[string]int64{"x": 1})))
}

//go:noinline
func xDict() *tvmffi.Dict[string, int64] {
	return got(tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"x": 1})))
}

//go:noinline
func dict() *tvmffi.Dict[string, int64] {
	return got(tvmffi.NewDict(tvmffi.MapOf(map[string]int64{textA: 1})))
}

//go:noinline
func shape() *tvmffi.Shape { return got(tvmffi.NewShape(31, 32, 33)) }

//go:noinline
func function(name string) *tvmffi.Function { return got(tvmffi.Lookup(name)) }

// adder is a Function to which the registry does not refer.
//
//go:noinline
func adder() *tvmffi.Function {
	return got(tvmffi.As[*tvmffi.Function](got(function("calls.adder").Call(int64(5)))))
}

//go:noinline
func goFunc(f any) *tvmffi.Function { return got(tvmffi.FuncOf(f)) }

//go:noinline
func opaque() *tvmffi.Opaque { return got(tvmffi.NewOpaque(textA)) }

//go:noinline
func bigInt() *big.Int { return new(big.Int).Lsh(big.NewInt(7), 100) }

//go:noinline
func anyOf[T any](x T) tvmffi.Any { return got(tvmffi.AnyOf(x)) }

// i64s returns the fields i64 of boxes.
func i64s(boxes ...*runtimetest.Box) (list []int64) {
	for _, b := range boxes {
		list = append(list, b.I64())
	}
	return list
}

// call is the result of a global function in its natural type.
func call(name string, args ...any) any { return got(runtimetest.Call(name, args...)).Value() }

type pairOfBoxes struct {
	A *runtimetest.Box               `ffi:"a"`
	B []*runtimetest.Box             `ffi:"b"`
	C *tvmffi.Array[string]          `ffi:"c"`
	D map[string]*tvmffi.List[int64] `ffi:"d"`
}

//go:noinline
func pair() pairOfBoxes {
	return pairOfBoxes{box(1), []*runtimetest.Box{box(2), box(3)}, texts(), map[string]*tvmffi.List[int64]{"x": list()}}
}

func TestLivenessContainers(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Alive(t, []runtimetest.Use{
		{"Array.Len", func() any { return ints().Len() }, 3},
		{"Array.At", func() any { return ints().At(2) }, int64(13)},
		{"Array.At of texts", func() any { return texts().At(1) }, textB},
		{"Array.At of objects", func() any { return boxes().At(1).I64() }, int64(2)},
		{"Array.Slice", func() any { return got(ints().Slice()) }, []int64{11, 12, 13}},
		{"Array.Slice of texts", func() any { return got(texts().Slice()) }, []string{textA, textB}},
		{"Array.Slice of objects", func() any { return i64s(got(boxes().Slice())...) }, []int64{1, 2}},
		{"Array.CopyTo", func() any { s := make([]int64, 3); return fmt.Sprint(got(ints().CopyTo(s)), s) }, "3 [11 12 13]"},
		{"Array.CopyTo of texts", func() any { s := make([]string, 2); return fmt.Sprint(got(texts().CopyTo(s)), s) }, "2 [" + textA + " " + textB + "]"},
		{"Array.CopyTo of objects", func() any { s := make([]*runtimetest.Box, 2); got(boxes().CopyTo(s)); return i64s(s...) }, []int64{1, 2}},
		{"Array.Contains", func() any { return got(ints().Contains(13)) }, true},
		{"Array.Contains of texts", func() any { return got(texts().Contains(textB)) }, true},
		{"Array.All", func() any {
			sum := int64(0)
			for _, x := range ints().All() {
				sum += x + call("calls.echo", int64(0)).(int64)
			}
			return sum
		}, int64(36)},
		{"Array.All of floats", func() any {
			sum := 0.
			for _, x := range floats().All() {
				sum += x + call("calls.echo", 0.).(float64)
			}
			return sum
		}, 4.},
		{"Array.All of texts", func() any {
			var all []string
			for _, x := range texts().All() {
				all = append(all, call("calls.echo", x).(string))
			}
			return all
		}, []string{textA, textB}},
		{"Array.All of objects", func() any {
			var all []int64
			for _, x := range boxes().All() {
				all = append(all, x.I64(), got(x.Add(10)))
			}
			return all
		}, []int64{1, 11, 2, 12}},
		{"Array.String", func() any { return ints().String() }, "(11, 12, 13)"},
		{"Concat", func() any {
			return got(got(tvmffi.Concat(texts(), texts())).Slice())
		}, []string{textA, textB, textA, textB}},
		{"NewArray of objects", func() any { return i64s(got(got(tvmffi.NewArray(box(4), box(5))).Slice())...) }, []int64{4, 5}},
		{"NewArray of arrays", func() any { return got(got(tvmffi.NewArray(texts())).At(0).Slice()) }, []string{textA, textB}},
		{"NewArray of slices of objects", func() any {
			a := got(tvmffi.NewArray([]*runtimetest.Box{box(4)}, []*runtimetest.Box{box(5)}))
			return i64s(append(a.At(0), a.At(1)...)...)
		}, []int64{4, 5}},
		{"NewArray of any", func() any {
			return fmt.Sprint(got(got(tvmffi.NewArray[any](texts(), box(4).I64(), text(textA), anyOf(list()))).Slice()))
		}, `[("` + textA + `", "` + textB + `") 4 ` + textA + ` [21, 22, 23]]`},
		{"NewList of objects", func() any { return i64s(got(got(tvmffi.NewList(box(4), box(5))).Slice())...) }, []int64{4, 5}},
		{"NewMap of objects", func() any {
			return i64s(got(tvmffi.NewMap(tvmffi.MapOf(map[string]*runtimetest.Box{textA: box(4)}))).MustGet(textA))
		}, []int64{4}},
		{"NewMap with objects as keys", func() any {
			for k, v := range got(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[*runtimetest.Box, *runtimetest.Box]{box(4), box(5)}))).All() {
				return i64s(k, v)
			}
			return nil
		}, []int64{4, 5}},
		{"List.Len", func() any { return list().Len() }, 3},
		{"List.At", func() any { return list().At(2) }, int64(23)},
		{"List.Slice", func() any { return got(list().Slice()) }, []int64{21, 22, 23}},
		{"List.Slice of texts", func() any { return got(textList().Slice()) }, []string{textA, textB}},
		{"List.CopyTo", func() any { s := make([]int64, 2); return fmt.Sprint(got(list().CopyTo(s)), s) }, "2 [21 22]"},
		{"List.Contains", func() any { return got(list().Contains(22)) }, true},
		{"List.All", func() any {
			var all []string
			for _, x := range textList().All() {
				all = append(all, call("calls.echo", x).(string))
			}
			return all
		}, []string{textA, textB}},
		{"List.Append", func() any { return done(list().Append(1)) }, nil},
		{"List.Append of objects", func() any {
			l := got(tvmffi.NewList[*runtimetest.Box]())
			got(0, l.Append(box(6)))
			got(0, l.Append(box(7), box(8)))
			return i64s(got(l.Slice())...)
		}, []int64{6, 7, 8}},
		{"List.Append of more", func() any { return done(list().Append(1, 2, 3)) }, nil},
		{"List.Insert", func() any { return done(list().Insert(1, 5)) }, nil},
		{"List.Set", func() any { return done(list().Set(1, 5)) }, nil},
		{"List.Pop", func() any { return got(list().Pop()) }, int64(23)},
		{"List.PopAt", func() any { return got(list().PopAt(1)) }, int64(22)},
		{"List.Delete", func() any { return done(list().Delete(1)) }, nil},
		{"List.DeleteRange", func() any { return done(list().DeleteRange(0, 2)) }, nil},
		{"List.Replace", func() any { return done(list().Replace(0, 2, 1, 2, 3)) }, nil},
		{"List.Reverse", func() any { return done(list().Reverse()) }, nil},
		{"List.Clear", func() any { return done(list().Clear()) }, nil},
		{"List.Reserve", func() any { return done(list().Reserve(100)) }, nil},
		{"Map.Len", func() any { return table().Len() }, 1},
		{"Map.Get", func() any { v, ok := table().Get(text(textA)); return fmt.Sprintln(v, ok) }, "1 true\n"},
		{"Map.Get of a float", func() any { v, ok := floatTable().Get(1.5); return fmt.Sprintln(v, ok) }, textA + " true\n"},
		{"Map.MustGet", func() any { return table().MustGet(text(textA)) }, int64(1)},
		{"Map.Has", func() any { return table().Has(text(textA)) }, true},
		{"Map.Has of a float", func() any { return floatTable().Has(1.5) }, true},
		{"Map.Has not", func() any { return table().Has(text(textB)) }, false},
		{"Map.Map", func() any { return got(table().Map()) }, map[string]int64{textA: 1}},
		{"Map.All", func() any {
			for k, v := range table().All() {
				return fmt.Sprint(call("calls.echo", k), " ", v)
			}
			return nil
		}, textA + " 1"},
		{"Map.Keys", func() any {
			for k := range table().Keys() {
				return k
			}
			return nil
		}, textA},
		{"Map.Values", func() any {
			for v := range table().Values() {
				return v
			}
			return nil
		}, int64(1)},
		{"Dict.Len", func() any { return dict().Len() }, 1},
		{"Dict.Get", func() any { v, ok := dict().Get(text(textA)); return fmt.Sprintln(v, ok) }, "1 true\n"},
		{"Dict.MustGet", func() any { return dict().MustGet(text(textA)) }, int64(1)},
		{"Dict.Has", func() any { return dict().Has(text(textA)) }, true},
		{"Dict.Set", func() any { return done(dict().Set(text(textB), 2)) }, nil},
		{"Dict.Delete", func() any { return got(dict().Delete(text(textA))) }, true},
		{"Dict.Clear", func() any { return done(dict().Clear()) }, nil},
		{"Dict.Map", func() any { return got(dict().Map()) }, map[string]int64{textA: 1}},
		{"Dict.All", func() any {
			for k, v := range dict().All() {
				return fmt.Sprint(call("calls.echo", k), " ", v)
			}
			return nil
		}, textA + " 1"},
		{"Dict.Keys", func() any {
			for k := range dict().Keys() {
				return k
			}
			return nil
		}, textA},
		{"Dict.Values", func() any {
			for v := range dict().Values() {
				return v
			}
			return nil
		}, int64(1)},
		{"Shape.Len", func() any { return shape().Len() }, 3},
		{"Shape.At", func() any { return shape().At(1) }, int64(32)},
		{"Shape.Slice", func() any { return shape().Slice() }, []int64{31, 32, 33}},
	})
}

func TestLivenessValues(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Alive(t, []runtimetest.Use{
		{"Retain", func() any { return tvmffi.Retain(box(3)).I64() }, int64(3)},
		{"Same", func() any { return tvmffi.Same(box(3), box(3)) }, false},
		{"Same of one", func() any { b := box(3); return tvmffi.Same(b, tvmffi.Retain(b)) }, true},
		{"Cast", func() any {
			b, ok := tvmffi.Cast[*runtimetest.SubBox](subBox(3))
			return fmt.Sprint(b.AsCallsBox().I64(), ok)
		}, "3 true"},
		{"Upcast", func() any { return tvmffi.Upcast[*runtimetest.Box](subBox(3)).I64() }, int64(3)},
		{"TypeKey", func() any { return tvmffi.TypeKey(subBox(3)) }, "calls.SubBox"},
		{"Object.String", func() any { return texts().String() }, `("` + textA + `", "` + textB + `")`},
		{"Object.Release", func() any { box(3).Release(); return nil }, nil},
		{"memstat.UseCount", func() any { return memstat.UseCount(box(3)) }, 1},
		{"OpaqueAs", func() any { v, ok := tvmffi.OpaqueAs[string](opaque()); return fmt.Sprintln(v, ok) }, textA + " true\n"},
		{"AnyOf an object", func() any { return got(tvmffi.As[*runtimetest.Box](got(tvmffi.AnyOf(box(3))))).I64() }, int64(3)},
		{"AnyOf a slice of objects", func() any {
			return i64s(got(tvmffi.As[[]*runtimetest.Box](got(tvmffi.AnyOf([]*runtimetest.Box{box(3), box(4)}))))...)
		}, []int64{3, 4}},
		{"AnyOf a func", func() any {
			return got(got(tvmffi.As[*tvmffi.Function](got(tvmffi.AnyOf(func(x int64) int64 { return x + 1 })))).Call(int64(1))).Value()
		}, int64(2)},
		{"AnyOf a Go func of a Function", func() any {
			f := got(tvmffi.As[func(int64) (int64, error)](anyOf(adder())))
			return got(got(tvmffi.As[*tvmffi.Function](got(tvmffi.AnyOf(f)))).Call(int64(1))).Value()
		}, int64(6)},
		{"AnyOf an Any", func() any { return got(tvmffi.As[*runtimetest.Box](anyOf(anyOf(box(3))))).I64() }, int64(3)},
		{"AnyOf an error", func() any {
			return fmt.Sprint(got(tvmffi.AnyOf[error](tvmffi.NewError("ValueError", text(textA)))).Value())
		}, "ValueError: " + textA},
		{"Any.Value of an object", func() any { return anyOf(ints()).Value().(*tvmffi.Array[tvmffi.Any]).Len() }, 3},
		{"Any.String", func() any { return anyOf(ints()).String() }, "(11, 12, 13)"},
		{"Any.TypeKey", func() any { return anyOf(subBox(1)).TypeKey() }, "calls.SubBox"},
		{"Any.Release", func() any { anyOf(subBox(1)).Release(); return nil }, nil},
		{"Any.MarshalJSON", func() any { return string(got(anyOf(texts()).MarshalJSON())) }, `["` + textA + `","` + textB + `"]`},
		{"As a slice", func() any { return got(tvmffi.As[[]string](anyOf(texts()))) }, []string{textA, textB}},
		{"As an object", func() any { return got(tvmffi.As[*tvmffi.Array[string]](anyOf(texts()))).At(0) }, textA},
		{"As objects", func() any { return i64s(got(tvmffi.As[[]*runtimetest.Box](anyOf(boxes())))...) }, []int64{1, 2}},
		{"As a map", func() any { return got(tvmffi.As[map[string]int64](anyOf(table()))) }, map[string]int64{textA: 1}},
		{"As an Any", func() any { return got(tvmffi.As[*runtimetest.Box](got(tvmffi.As[tvmffi.Any](anyOf(box(3)))))).I64() }, int64(3)},
		{"As a func", func() any { return got(got(tvmffi.As[func(int64) (int64, error)](anyOf(adder())))(1)) }, int64(6)},
		{"As a Variant", func() any {
			b, ok := tvmffi.VariantAs[*runtimetest.Box](got(tvmffi.As[tvmffi.Variant](anyOf(box(3)))))
			return fmt.Sprint(b.I64(), ok)
		}, "3 true"},
		{"Convert", func() any { return got(tvmffi.Convert[[]float64](anyOf(ints()))) }, []float64{11, 12, 13}},
		{"Variant.TypeKey", func() any { return got(tvmffi.As[tvmffi.Variant](anyOf(subBox(1)))).TypeKey() }, "calls.SubBox"},
		{"Variant.MarshalJSON", func() any { return string(got(tvmffi.VariantOf(texts()).MarshalJSON())) }, `["` + textA + `","` + textB + `"]`},
		{"Object.MarshalJSON", func() any { return string(got(texts().MarshalJSON())) }, `["` + textA + `","` + textB + `"]`},
		{"json.Marshal", func() any { return string(got(json.Marshal([]any{texts(), anyOf(texts())}))) }, `[["` + textA + `","` + textB + `"],["` + textA + `","` + textB + `"]]`},
		{"StringifyJSON", func() any { return string(got(tvmffi.StringifyJSON(texts(), 0))) }, `["` + textA + `","` + textB + `"]`},
		{"ParseJSON", func() any { return got(tvmffi.ParseJSON[[]string](data(`["` + textA + `"]`))) }, []string{textA}},
		{"Repr", func() any { return got(tvmffi.Repr(ints())) }, "(11, 12, 13)"},
		{"Compare", func() any { return got(tvmffi.Compare(texts(), texts())) }, 0},
		{"Equal", func() any { return got(tvmffi.Equal(texts(), texts())) }, true},
		{"Hash", func() any { return got(tvmffi.Hash(texts())) == got(tvmffi.Hash(texts())) }, true},
		{"ParseDataType", func() any {
			_, err := tvmffi.ParseDataType(text("custom[no such type]"))
			return err.Error()
		}, "ValueError: Function dtype.get_custom_type_code not found"},
		{"DataType.String", func() any { return got(tvmffi.ParseDataType(text("float32x4"))).String() }, "float32x4"},
		{"a big.Int", func() any {
			if _, err := runtimetest.Call("calls.echo", bigInt()); err != nil {
				return bigInt() // the loaded libtvm_ffi has none
			}
			return got(tvmffi.As[*big.Int](got(runtimetest.Call("calls.echo", bigInt()))))
		}, bigInt()},
		{"Scope", func() any {
			var s tvmffi.Scope
			s.Add(box(3))
			n := s.Len()
			s.Release()
			return n
		}, 1},
		{"MarshalMap", func() any {
			m := got(tvmffi.MarshalMap(pair()))
			var p pairOfBoxes
			if err := tvmffi.UnmarshalMap(m, &p); err != nil {
				return err
			}
			return fmt.Sprint(i64s(append(p.B, p.A)...), p.C, p.D)
		}, `[2 3 1] ("` + textA + `", "` + textB + `") map[x:[21, 22, 23]]`},
		{"UnmarshalMap", func() any {
			var p struct {
				X int64 `ffi:"x"`
			}
			return []any{done(tvmffi.UnmarshalMap(xTable(), &p)), p.X}
		}, []any{nil, int64(1)}},
		{"UnmarshalMap of a Dict", func() any {
			var p struct {
				X int64 `ffi:"x"`
			}
			return []any{done(tvmffi.UnmarshalMap(xDict(), &p)), p.X}
		}, []any{nil, int64(1)}},
		{"UnmarshalMap of an object", func() any {
			var p struct {
				I int64            `ffi:"i64"`
				T string           `ffi:"text"`
				N []int64          `ffi:"numbers"`
				S int64            `ffi:"i8"`
				M map[string]int64 `ffi:"table"`
			}
			return []any{done(tvmffi.UnmarshalMap(box(3), &p)), fmt.Sprint(p)}
		}, []any{nil, "{3 a text that does not fit into seven bytes [1 2 3] -8 map[one:1 two:2]}"}},
	})
}

func TestLivenessErrors(t *testing.T) {
	runtimetest.Load(t)
	const textError = "ValueError: " + textA
	failing := func() error {
		_, err := runtimetest.Call("calls.fail_with_cause", "ValueError", text(textA), text(textB), texts())
		return err
	}
	runtimetest.Alive(t, []runtimetest.Use{
		{"Error.ExtraContext", func() any { return failing().(*tvmffi.Error).ExtraContext().String() }, `("` + textA + `", "` + textB + `")`},
		{"Error.Frames", func() any { return len(failing().(*tvmffi.Error).Frames()) }, 0},
		{"Error.Unwrap", func() any { return failing().(*tvmffi.Error).Unwrap().Error() }, "ValueError: " + textB},
		{"Error.Format", func() any { return strings.Contains(fmt.Sprintf("%+v", failing()), textA) }, true},
		{"an error as an argument", func() any { return fmt.Sprint(call("calls.echo", failing())) }, textError},
		{"an error of C out of a callback", func() any {
			_, err := runtimetest.Call("calls.apply", func(int64) error { return failing() }, int64(1))
			return err.Error()
		}, textError},
		{"an error of Go out of a callback", func() any {
			_, err := runtimetest.Call("calls.apply", func(int64) error { return fmt.Errorf("about %w", failing()) }, int64(1))
			return err.Error()
		}, "ValueError: about " + textError},
		{"an error of Go in C", func() any {
			return call("calls.swallow", func() error { return tvmffi.NewError("ValueError", text(textA)) })
		}, "ValueError: " + textA},
		{"a wrapped error in C", func() any {
			return call("calls.swallow", func() error { return tvmffi.WrapError("KeyError", text(textB), failing()) })
		}, "KeyError: " + textB},
		{"a panic in C", func() any {
			return call("calls.swallow", func() { panic(text(textA)) })
		}, "RuntimeError: panic in a Go callback: " + textA},
	})
}
