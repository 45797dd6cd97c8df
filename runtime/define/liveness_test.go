//go:build tvmffi_liveness

package define_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

func got[T any](v T, err error) T { return runtimetest.Got(v, err) }

const long = "a text of more than seven bytes"

// everything has a field of each kind.
type everything struct {
	I8    int8                                    `ffi:"i8"`
	U32   uint32                                  `ffi:"u32"`
	I64   int64                                   `ffi:"i64"`
	F32   float32                                 `ffi:"f32"`
	Flag  bool                                    `ffi:"flag"`
	Text  string                                  `ffi:"text"`
	Bytes []byte                                  `ffi:"bytes"`
	Any   any                                     `ffi:"any,optional"`
	Value tvmffi.Any                              `ffi:"value,optional"`
	Ints  []int64                                 `ffi:"ints"`
	Array *tvmffi.Array[string]                   `ffi:"array,optional"`
	Items []*tvmffi.Array[string]                 `ffi:"items"`
	Map   map[string]int64                        `ffi:"map"`
	Func  *tvmffi.Function                        `ffi:"func,optional"`
	Next  *define.Instance[everything]            `ffi:"next,optional"`
	More  map[string]*define.Instance[everything] `ffi:"more"`
}

type state struct{ text string }

var livenessType = define.Object[everything]("gotest.Liveness",
	define.State[state](),
	define.DefaultFunc("ints", func() []int64 { return []int64{1, 2} }),
	define.Default("bytes", []byte(long)),
	define.Default("map", map[string]int64{long: 1}),
	define.Converter("text", func(v tvmffi.Any) (string, error) { return v.String(), nil }),
	define.Attribute("gotest.attribute", []string{long, long}),
	define.Method("sum", func(e everything) int64 { return int64(e.I8) + int64(e.U32) + e.I64 }),
	define.Method("bump", func(e *everything) { e.I64++; e.Array = texts() }),
	define.Method("self", func(e *define.Instance[everything]) *define.Instance[everything] { return e }),
	define.Method("texts", func(e everything) *tvmffi.Array[string] { return e.Array }),
	define.StaticMethod("made", func() everything { return full() }),
)

type converted struct {
	Text string `ffi:"text"`
}

var convertedType = define.Object[converted]("gotest.LivenessConverted", define.Converter("text", func(v tvmffi.Any) (string, error) { return v.String(), nil }))

//go:noinline
func texts() *tvmffi.Array[string] { return got(tvmffi.NewArray(long, long)) }

func full() everything {
	return everything{
		I8: -3, U32: 4, I64: 5, F32: 1.5, Flag: true, Text: strings.Clone(long), Bytes: []byte(long), Any: texts(), Value: got(tvmffi.AnyOf(texts())), Ints: []int64{1, 2},
		Array: texts(), Items: []*tvmffi.Array[string]{texts()}, Map: map[string]int64{strings.Clone(long): 1}, Func: got(tvmffi.FuncOf(func(x int64) int64 { return x + 1 })),
	}
}

//go:noinline
func instance() *define.Instance[everything] { return got(livenessType.New(full())) }

//go:noinline
func nested() *define.Instance[everything] {
	f := full()
	f.Next, f.More = instance(), map[string]*define.Instance[everything]{"x": instance()}
	return got(livenessType.New(f))
}

func field[V any](of func(*everything) *V) define.TypeField[everything, V] {
	return define.FieldOf(livenessType, of)
}

func method(name string) *bindrt.Func {
	return &bindrt.Func{Owner: &bindrt.Type{Key: "gotest.Liveness"}, Name: name}
}

func done(err error) any { return err }

func TestLiveness(t *testing.T) {
	runtimetest.LoadDefine(t)
	got(0, livenessType.Register())
	got(0, convertedType.Register())
	got(0, runtimetest.PointType.Register())
	print := `("` + long + `", "` + long + `")`
	text, i8, i64 := field(func(e *everything) *string { return &e.Text }), field(func(e *everything) *int8 { return &e.I8 }), field(func(e *everything) *int64 { return &e.I64 })
	array, items := field(func(e *everything) **tvmffi.Array[string] { return &e.Array }), field(func(e *everything) *[]*tvmffi.Array[string] { return &e.Items })
	any_, value := field(func(e *everything) *any { return &e.Any }), field(func(e *everything) *tvmffi.Any { return &e.Value })
	next, table := field(func(e *everything) **define.Instance[everything] { return &e.Next }), field(func(e *everything) *map[string]int64 { return &e.Map })
	bytes := field(func(e *everything) *[]byte { return &e.Bytes })
	runtimetest.Alive(t, []runtimetest.Use{
		{"New and Value", func() any {
			v := instance().Value()
			return fmt.Sprint(v.I8, v.U32, v.I64, v.F32, v.Flag, v.Text, string(v.Bytes), v.Ints, v.Map)
		},
			"-3 4 5 1.5 true" + long + long + "[1 2] map[" + long + ":1]"},
		{"Value and its objects", func() any {
			v := instance().Value()
			return fmt.Sprint(v.Array, v.Any, v.Value, v.Items[0], got(v.Func.Call(int64(1))))
		}, print + " " + print + " " + print + " " + print + " 2"},
		{"nested", func() any { v := nested().Value(); return fmt.Sprint(v.Next.Value().Array, v.More["x"].Value().Array) }, print + " " + print},
		{"SetValue", func() any { return done(instance().SetValue(full())) }, nil},
		{"SetValue and read", func() any { x := instance(); got(0, x.SetValue(full())); return x.Value().Array.At(0) }, long},
		{"Get of an int", func() any { return i64.Get(instance()) }, int64(5)},
		{"Get of a small int", func() any { return i8.Get(instance()) }, int8(-3)},
		{"Get of a text", func() any { return text.Get(instance()) }, long},
		{"Get of bytes", func() any { return string(bytes.Get(instance())) }, long},
		{"Get of an object", func() any { return array.Get(instance()).At(1) }, long},
		{"Get of objects", func() any { return items.Get(instance())[0].At(1) }, long},
		{"Get of any", func() any { return fmt.Sprint(any_.Get(instance())) }, print},
		{"Get of an Any", func() any { return value.Get(instance()).String() }, print},
		{"Get of an instance", func() any { return next.Get(nested()).Value().I64 }, int64(5)},
		{"Get of a map", func() any { return table.Get(instance()) }, map[string]int64{long: 1}},
		{"Set of an int", func() any { return done(i64.Set(instance(), 1)) }, nil},
		{"Set of a text", func() any { return done(text.Set(instance(), strings.Clone(long))) }, nil},
		{"Set of an object", func() any { return done(array.Set(instance(), texts())) }, nil},
		{"Set and Get of an object", func() any { x := instance(); got(0, array.Set(x, texts())); return array.Get(x).At(1) }, long},
		{"Set and Get of objects", func() any {
			x := instance()
			got(0, items.Set(x, []*tvmffi.Array[string]{texts()}))
			return items.Get(x)[0].At(1)
		}, long},
		{"Set and Get of any", func() any { x := instance(); got(0, any_.Set(x, texts())); return fmt.Sprint(any_.Get(x)) }, print},
		{"Set and Get of an Any", func() any {
			x := instance()
			got(0, value.Set(x, got(tvmffi.AnyOf(texts()))))
			return value.Get(x).String()
		}, print},
		{"Set and Get of Move", func() any {
			x := instance()
			err := any_.Set(x, tvmffi.Move(texts()))
			return fmt.Sprint(err, any_.Get(x))
		}, "<nil> " + print},
		{"StateOf", func() any { got(define.StateOf[state](instance())).text = long; return nil }, nil},
		{"StateOf twice", func() any {
			x := instance()
			got(define.StateOf[state](x)).text = strings.Clone(long)
			return got(define.StateOf[state](x)).text
		}, long},
		{"a method", func() any { return got(bindrt.CallPackedMethod(method("sum"), bindrt.Ref(instance()), nil)).Value() }, int64(6)},
		{"a method that changes the object", func() any {
			x := instance()
			got(bindrt.CallPackedMethod(method("bump"), bindrt.Ref(x), nil))
			return fmt.Sprint(x.Value().I64, x.Value().Array)
		}, "6 " + print},
		{"a method that changes an object of its own", func() any { return got(bindrt.CallPackedMethod(method("bump"), bindrt.Ref(instance()), nil)).IsNone() }, true},
		{"a method that returns the object", func() any {
			return got(tvmffi.As[*define.Instance[everything]](got(bindrt.CallPackedMethod(method("self"), bindrt.Ref(instance()), nil)))).Value().I64
		}, int64(5)},
		{"a method that returns a field", func() any { return got(bindrt.CallPackedMethod(method("texts"), bindrt.Ref(instance()), nil)).String() }, print},
		{"a static method", func() any {
			return got(tvmffi.As[*define.Instance[everything]](got(runtimetest.Call("define.method", "gotest.Liveness", "made")))).Value().Array.At(1)
		}, long},
		{"the constructor", func() any {
			p := got(tvmffi.As[*define.Instance[runtimetest.Point]](got(runtimetest.Call("define.init", "gotest.Point", int64(5), 1.5, long, texts()))))
			return fmt.Sprint(p.Value().X, p.Value().Tag)
		}, "5 " + print},
		{"the constructor and a converter", func() any {
			return got(tvmffi.As[*define.Instance[converted]](got(runtimetest.Call("define.init", "gotest.LivenessConverted", texts())))).Value().Text
		}, print},
		{"Default", func() any { v := got(livenessType.Default()); return fmt.Sprint(v.Ints, v.Map, string(v.Bytes)) }, "[1 2] map[" + long + ":1]" + long},
		{"fields in C", func() any { return fmt.Sprint(got(runtimetest.Call("define.get", instance(), "array"))) }, print},
		{"a setter in C", func() any {
			x := instance()
			got(runtimetest.Call("define.set", x, "array", texts()))
			return x.Value().Array.At(1)
		}, long},
		{"a converter", func() any {
			x := instance()
			got(runtimetest.Call("define.set", x, "text", texts()))
			return x.Value().Text
		}, print},
		{"a copy", func() any {
			return got(tvmffi.As[*define.Instance[everything]](got(runtimetest.Call("define.copy", instance())))).Value().Array.At(1)
		}, long},
		{"an argument", func() any {
			return got(runtimetest.Call("calls.apply", func(x *define.Instance[everything]) string { return x.Value().Array.At(1) }, instance())).Value()
		}, long},
		{"a struct as an argument", func() any {
			return got(runtimetest.Call("calls.apply", func(x everything) string { return x.Array.At(1) }, instance())).Value()
		}, long},
		{"Register", func() any {
			return done(define.Object[struct {
				A *tvmffi.Array[string] `ffi:"a"`
				B string                `ffi:"b"`
			}]("gotest.LivenessOther", define.Default("a", texts()), define.Default("b", strings.Clone(long)), define.Attribute("gotest.other", texts()),
				define.Method("size", func(x *define.Instance[struct {
					A *tvmffi.Array[string] `ffi:"a"`
					B string                `ffi:"b"`
				}]) int64 {
					return 1
				}, tvmffi.Doc(strings.Clone(long)))).Register())
		}, nil},
		{"a default that is an object", func() any {
			typ := define.Object[struct {
				A *tvmffi.Array[string] `ffi:"a"`
			}]("gotest.LivenessDefault", define.Default("a", texts()), define.Attribute("gotest.other", texts()))
			got(0, typ.Register())
			return got(typ.Default()).A.At(1)
		}, long},
	})
}
