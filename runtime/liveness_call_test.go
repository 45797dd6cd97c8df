//go:build tvmffi_liveness

package tvmffi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// bound is a Go func as generated code makes it of a Function.
//
//go:noinline
func bound() func(int64) (int64, error) {
	fn := adder()
	return bindrt.Bind(fn, func(x int64) (int64, error) {
		var c bindrt.Call1
		c.BeginFunction(bindrt.Ref(fn), 1)
		c.Int(0, x)
		return c.DoInt()
	})
}

func TestLivenessArguments(t *testing.T) {
	runtimetest.Load(t)
	long := strings.Repeat("long ", 1000)
	count := runtimetest.GlobalFunc("calls.length", "")
	echo := runtimetest.GlobalFunc("calls.echo", "")
	echoTwice := func(name string, x, y any) any { return fmt.Sprint(call(name, x), call(name, y)) }
	runtimetest.Alive(t, []runtimetest.Use{
		{"an object", func() any { return got(runtimetest.EchoBox(box(7))).I64() }, int64(7)},
		{"a receiver", func() any { return got(box(7).Add(1)) }, int64(8)},
		{"PutObject", func() any {
			var c bindrt.Call1
			c.Begin(echo, 1)
			bindrt.PutObject(&c.Call, 0, box(7))
			return got(bindrt.DoObject[runtimetest.Box](&c.Call, &runtimetest.BoxType)).I64()
		}, int64(7)},
		{"a Put object", func() any {
			var c bindrt.Call1
			c.Begin(echo, 1)
			bindrt.Put(&c.Call, 0, box(7))
			return got(bindrt.DoObject[runtimetest.Box](&c.Call, &runtimetest.BoxType)).I64()
		}, int64(7)},
		{"three objects", func() any {
			var c bindrt.Call3
			c.Begin(runtimetest.GlobalFunc("calls.nop3_objects", ""), 3)
			c.Object(0, bindrt.Ref(box(1)))
			c.Object(1, bindrt.Ref(box(2)))
			c.Object(2, bindrt.Ref(box(3)))
			return done(c.Do())
		}, nil},
		{"a text of the block", func() any {
			var c bindrt.Call8
			c.Begin(count, 1)
			c.String(0, text(textA))
			return got(c.DoInt())
		}, int64(len(textA))},
		{"a long text", func() any {
			var c bindrt.Call8
			c.Begin(echo, 1)
			c.String(0, text(long))
			return got(c.DoString())
		}, long},
		{"a text with a NUL", func() any {
			var c bindrt.Call8
			c.Begin(echo, 1)
			c.String(0, text(long+"\x00"+long))
			return got(c.DoString())
		}, long + "\x00" + long},
		{"bytes", func() any {
			var c bindrt.Call4
			c.Begin(echo, 1)
			c.Bytes(0, data(long))
			return string(got(bindrt.Do[[]byte](&c.Call)))
		}, long},
		{"bytes beside the block", func() any {
			var c bindrt.Call1
			c.Begin(echo, 1)
			c.Bytes(0, data(long))
			return string(got(bindrt.Do[[]byte](&c.Call)))
		}, long},
		{"Put bytes", func() any {
			var c bindrt.Call1
			c.Begin(echo, 1)
			bindrt.Put(&c.Call, 0, data(long))
			return string(got(bindrt.Do[[]byte](&c.Call)))
		}, long},
		{"a frame of any size", func() any {
			var c bindrt.CallN
			c.Begin(runtimetest.GlobalFunc("calls.type_indices", ""), 40)
			for i := range 20 {
				c.Object(2*i, bindrt.Ref(box(7)))
				c.Bytes(2*i+1, data(long))
			}
			return len(got(bindrt.Do[[]int64](&c.Call)))
		}, 40},
		{"CallPacked", func() any {
			return got(tvmffi.As[*runtimetest.Box](got(bindrt.CallPacked(echo, []any{box(7)})))).I64()
		}, int64(7)},
		{"CallPackedMethod", func() any {
			return got(bindrt.CallPackedMethod(runtimetest.BoxMethod("add", ""), bindrt.Ref(box(7)), []any{int64(1)})).Value()
		}, int64(8)},
		{"Function.Call", func() any { return got(adder().Call(int64(1))).Value() }, int64(6)},
		{"Function.Call of a Go func", func() any { return got(goFunc(func(x int64) int64 { return x + 1 }).Call(int64(1))).Value() }, int64(2)},
		{"a func of generated code", func() any { return got(bound()(1)) }, int64(6)},
		{"a func of generated code as an argument", func() any { return call("calls.apply", bound(), int64(1)) }, int64(6)},
		{"Bind", func() any {
			f := adder()
			f1 := bindrt.Bind(f, func(x int64) (int64, error) { return got(tvmffi.As[int64](got(f.Call(x)))), nil })
			return call("calls.apply", f1, int64(1))
		}, int64(6)},
		{"an argument that is an object", func() any { return call("calls.echo", box(7)).(*tvmffi.Object).String() != "" }, true},
		{"objects of all types", func() any {
			return fmt.Sprint(call("calls.echo", ints()), call("calls.echo", list()), call("calls.echo", shape()), call("calls.echo", table()))
		}, `(11, 12, 13) [21, 22, 23] Shape(31, 32, 33) {"` + textA + `": 1}`},
		{"an Any", func() any { return echoTwice("calls.echo", anyOf(ints()), anyOf(text(textA))) }, "(11, 12, 13)" + textA},
		{"a Variant", func() any { return echoTwice("calls.echo", tvmffi.VariantOf(ints()), tvmffi.VariantOf(text(textA))) }, "(11, 12, 13)" + textA},
		{"texts and bytes", func() any {
			return fmt.Sprint(call("calls.echo", text(long)), string(call("calls.echo", data(long)).([]byte)))
		}, long + long},
		{"a slice of objects", func() any {
			return i64s(got(tvmffi.As[[]*runtimetest.Box](got(runtimetest.Call("calls.echo_boxes", []*runtimetest.Box{box(1), box(2)}))))...)
		}, []int64{1, 2}},
		{"Of objects", func() any {
			return i64s(got(tvmffi.As[[]*runtimetest.Box](got(runtimetest.Call("calls.echo_boxes", tvmffi.Of(box(1), box(2))))))...)
		}, []int64{1, 2}},
		{"a slice of any", func() any { return fmt.Sprint(call("calls.echo", []any{ints(), text(textA), []any{list()}})) }, `((11, 12, 13), "` + textA + `", ([21, 22, 23],))`},
		{"a map of objects", func() any { return fmt.Sprint(call("calls.echo", map[string]any{text(textA): ints()})) }, `{"` + textA + `": (11, 12, 13)}`},
		{"Pairs of objects", func() any {
			return fmt.Sprint(call("calls.echo", tvmffi.PairsOf(tvmffi.Pair[string, *tvmffi.Array[int64]]{text(textA), ints()})))
		}, `{"` + textA + `": (11, 12, 13)}`},
		{"a tuple of objects", func() any {
			return fmt.Sprint(call("calls.echo", tvmffi.Tuple2[*tvmffi.Array[int64], string]{ints(), text(textA)}))
		}, `((11, 12, 13), "` + textA + `")`},
		{"a struct of objects", func() any { return call("calls.echo", pair()).(*tvmffi.Map[tvmffi.Any, tvmffi.Any]).Len() }, 4},
		{"a pointer to a struct of objects", func() any { p := pair(); return call("calls.echo", &p).(*tvmffi.Map[tvmffi.Any, tvmffi.Any]).Len() }, 4},
		{"a pointer to a text", func() any { s := text(textA); return call("calls.echo", &s) }, textA},
		{"a Function", func() any { return call("calls.apply", adder(), int64(1)) }, int64(6)},
		{"a Go func of a Function", func() any {
			return call("calls.apply", got(tvmffi.As[func(int64) (int64, error)](anyOf(adder()))), int64(1))
		}, int64(6)},
		{"Move", func() any {
			return got(tvmffi.As[*runtimetest.Box](got(runtimetest.Call("calls.echo", tvmffi.Move(box(7)))))).I64()
		}, int64(7)},
		{"Move of two references", func() any {
			b := box(7)
			return got(tvmffi.As[*runtimetest.Box](got(runtimetest.Call("calls.echo", tvmffi.Move(tvmffi.Retain(b)))))).I64() + b.I64()
		}, int64(14)},
		{"Register", func() any {
			got(0, tvmffi.Register("liveness.box", func(b *runtimetest.Box) int64 { return b.I64() }))
			defer tvmffi.Unregister("liveness.box")
			return call("liveness.box", box(7))
		}, int64(7)},
	})
}

func TestLivenessFields(t *testing.T) {
	runtimetest.Load(t)
	uses := []runtimetest.Use{
		{"Int", func() any { return box(7).I64() }, int64(7)},
		{"Float", func() any { return runtimetest.BoxField("f64", "float").Float(bindrt.Ref(box(7))) }, 0.5},
		{"Float of 4 bytes", func() any { return runtimetest.BoxField("f32", "float").Float(bindrt.Ref(box(7))) }, 0.25},
		{"Bool", func() any { return runtimetest.BoxField("flag", "bool").Bool(bindrt.Ref(box(7))) }, true},
		{"Text", func() any { return runtimetest.BoxField("text", "ffi.String").Text(bindrt.Ref(box(7))) }, "a text that does not fit into seven bytes"},
		{"Text of few bytes", func() any { return runtimetest.BoxField("small", "ffi.String").Text(bindrt.Ref(box(7))) }, "small"},
		{"Child", func() any { b := parent(); return b.Child().String() }, "(11, 12, 13)"},
		{"SetChild", func() any { return done(box(7).SetChild(ints())) }, nil},
		{"SetChild and read", func() any { b := box(7); got(0, b.SetChild(ints())); return b.Child().String() }, "(11, 12, 13)"},
		{"Move to a field", func() any {
			b := box(7)
			got(0, bindrt.SetField(runtimetest.BoxField("any", ""), bindrt.Ref(b), any(tvmffi.Move(ints()))))
			return bindrt.GetField[*tvmffi.Array[int64]](runtimetest.BoxField("any", ""), bindrt.Ref(b)).Len()
		}, 3},
	}
	// Twice, because the first use finds how the field is read.
	for round := range 2 {
		for name, want := range map[string]int64{"i64": 7, "i32": -32, "i16": -16, "i8": -8, "u64": 64, "u32": 4000000000, "u16": 60000, "u8": 200, "constant": 42} {
			f := runtimetest.BoxField(name, "int")
			uses = append(uses, runtimetest.Use{fmt.Sprint(name, round), func() any { return f.Int(bindrt.Ref(box(7))) + f.Int(bindrt.Ref(box(7))) }, 2 * want},
				runtimetest.Use{fmt.Sprint(name, " by its codec", round), func() any { return bindrt.GetField[int64](f, bindrt.Ref(box(7))) }, want})
			if name != "constant" {
				uses = append(uses, runtimetest.Use{fmt.Sprint(name, " set", round), func() any { return done(bindrt.SetField(f, bindrt.Ref(box(7)), int64(5))) }, nil})
			}
		}
	}
	field := func(name string, put, want any) {
		f := runtimetest.BoxField(name, "")
		uses = append(uses, runtimetest.Use{name + " written", func() any {
			b := box(7)
			if err := bindrt.SetField(f, bindrt.Ref(b), put); err != nil {
				return err
			}
			return fmt.Sprint(bindrt.GetField[tvmffi.Any](f, bindrt.Ref(b)))
		}, want}, runtimetest.Use{name + " set", func() any { return done(bindrt.SetField(f, bindrt.Ref(box(7)), put)) }, nil})
	}
	field("f64", 1.5, "1.5")
	field("f32", 1.5, "1.5")
	field("flag", false, "false")
	field("text", text(textA), textA)
	field("bytes", data("bytes of a slice"), "[98 121 116 101 115 32 111 102 32 97 32 115 108 105 99 101]")
	field("any", text(textA), textA)
	field("opt_int", int64(5), "5")
	field("opt_text", text(textA), textA)
	field("numbers", []int64{4, 5}, "(4, 5)")
	field("table", map[string]int64{"x": 1}, `{"x": 1}`)
	field("dtype", tvmffi.BFloat16, "bfloat16")
	field("device", tvmffi.CUDA(2), "cuda:2")
	field("pointer", tvmffi.Pointer{Address: 1 << 40}, "{1099511627776}")
	field("variant", text(textA), textA)
	for name, want := range map[string]string{
		"bytes": "[0 1 255]", "any": "7", "opt_int": "None", "opt_text": "None", "numbers": "(1, 2, 3)", "table": `{"one": 1, "two": 2}`, "callback": "None",
		"tensor": "None", "dtype": "float32", "device": "cpu:0", "variant": "1", "text": "a text that does not fit into seven bytes",
	} {
		f := runtimetest.BoxField(name, "")
		uses = append(uses, runtimetest.Use{name + " read", func() any { return fmt.Sprint(bindrt.GetField[tvmffi.Any](f, bindrt.Ref(box(7)))) }, want})
	}
	objects := func(name string, put func() any, use func(tvmffi.Any) any, want any) {
		f := runtimetest.BoxField(name, "")
		uses = append(uses, runtimetest.Use{name + " set to an object", func() any {
			b := box(7)
			if err := bindrt.SetField(f, bindrt.Ref(b), put()); err != nil {
				return err
			}
			return use(bindrt.GetField[tvmffi.Any](f, bindrt.Ref(b)))
		}, want})
	}
	print := func(v tvmffi.Any) any { return v.String() }
	objects("any", func() any { return ints() }, print, "(11, 12, 13)")
	objects("any", func() any { return anyOf(ints()) }, print, "(11, 12, 13)")
	objects("child", func() any { return ints() }, print, "(11, 12, 13)")
	objects("numbers", func() any { return ints() }, print, "(11, 12, 13)")
	objects("table", func() any { return table() }, print, `{"`+textA+`": 1}`)
	objects("callback", func() any { return adder() }, func(v tvmffi.Any) any { return got(got(tvmffi.As[*tvmffi.Function](v)).Call(int64(1))).Value() }, int64(6))
	objects("callback", func() any { return func(x int64) int64 { return x + 2 } }, func(v tvmffi.Any) any { return got(got(tvmffi.As[*tvmffi.Function](v)).Call(int64(1))).Value() }, int64(3))
	objects("tensor", func() any { return numbers(2) }, func(v tvmffi.Any) any { return got(tvmffi.ReadSlice[float32](got(tvmffi.As[*tvmffi.Tensor](v))))[1] }, float32(1))
	runtimetest.LoadTensors(t)
	runtimetest.Alive(t, uses)
}

//go:noinline
func parent() *runtimetest.Box {
	b := box(7)
	got(0, b.SetChild(ints()))
	return b
}

func TestLivenessCallbacks(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Alive(t, []runtimetest.Use{
		{"a borrowed object", func() any { return call("calls.apply", func(b *runtimetest.Box) int64 { return b.I64() }, box(7)) }, int64(7)},
		{"a borrowed array", func() any {
			return call("calls.apply", func(a *tvmffi.Array[string]) string { return a.At(1) }, texts())
		}, textB},
		{"borrowed arguments", func() any {
			return call("calls.borrow", func(b *runtimetest.Box, s string, a *tvmffi.Array[int64]) string {
				return fmt.Sprint(b.I64(), s, a.At(0))
			}, box(7))
		}, "7text1"},
		{"a retained object", func() any {
			var kept *runtimetest.Box
			got(runtimetest.Call("calls.apply", func(b *runtimetest.Box) { kept = tvmffi.Retain(b) }, box(7)))
			return kept.I64()
		}, int64(7)},
		{"a slice of objects", func() any {
			return call("calls.apply", func(b []*runtimetest.Box) int64 { return b[0].I64() + b[1].I64() }, boxes())
		}, int64(3)},
		{"an Any", func() any { return call("calls.apply", func(x tvmffi.Any) string { return x.String() }, ints()) }, "(11, 12, 13)"},
		{"a func", func() any {
			return call("calls.apply", func(f func(int64) (int64, error)) (int64, error) { return f(1) }, adder())
		}, int64(6)},
		{"a func that is kept", func() any {
			var kept func(int64) (int64, error)
			got(runtimetest.Call("calls.apply", func(f func(int64) (int64, error)) { kept = tvmffi.RetainFunc(f) }, adder()))
			return got(kept(1))
		}, int64(6)},
		{"a Packed func", func() any {
			return call("calls.apply", tvmffi.Packed(func(args []tvmffi.Any) (any, error) { return args[0].String(), nil }), ints())
		}, "(11, 12, 13)"},
		{"a result that is an object", func() any {
			return got(tvmffi.As[*runtimetest.Box](got(runtimetest.Call("calls.apply", func(int64) *runtimetest.Box { return box(8) }, int64(1))))).I64()
		}, int64(8)},
		{"a result that is an Any", func() any {
			return fmt.Sprint(call("calls.apply", func(int64) tvmffi.Any { return anyOf(ints()) }, int64(1)))
		}, "(11, 12, 13)"},
		{"a result that is any", func() any { return fmt.Sprint(call("calls.apply", func(int64) any { return ints() }, int64(1))) }, "(11, 12, 13)"},
		{"a result that is a slice", func() any {
			return fmt.Sprint(call("calls.apply", func(int64) []*tvmffi.Array[int64] { return []*tvmffi.Array[int64]{ints()} }, int64(1)))
		}, "((11, 12, 13),)"},
		{"a result that is a text", func() any { return call("calls.apply", func(int64) string { return text(textA) }, int64(1)) }, textA},
		{"a result that is bytes", func() any {
			return string(call("calls.apply", func(int64) []byte { return data(textA) }, int64(1)).([]byte))
		}, textA},
		{"a result that is a Function", func() any {
			f := call("calls.apply", func(int64) *tvmffi.Function { return adder() }, int64(1)).(*tvmffi.Function)
			return got(f.Call(int64(1))).Value()
		}, int64(6)},
		{"a result that is a Go func", func() any {
			f := call("calls.apply", func(int64) func(int64) int64 { return func(x int64) int64 { return x + 2 } }, int64(1)).(*tvmffi.Function)
			return got(f.Call(int64(1))).Value()
		}, int64(3)},
		{"a result that is a Go func of a Function", func() any {
			f := call("calls.apply", func(int64) func(int64) (int64, error) {
				return got(tvmffi.As[func(int64) (int64, error)](anyOf(adder())))
			}, int64(1)).(*tvmffi.Function)
			return got(f.Call(int64(1))).Value()
		}, int64(6)},
		{"a result of a Packed func", func() any {
			return fmt.Sprint(call("calls.apply", tvmffi.Packed(func([]tvmffi.Any) (any, error) { return ints(), nil }), int64(1)))
		}, "(11, 12, 13)"},
		{"a result that is an argument", func() any {
			return got(tvmffi.As[*runtimetest.Box](got(runtimetest.Call("calls.apply", func(b *runtimetest.Box) *runtimetest.Box { return b }, box(7))))).I64()
		}, int64(7)},
		{"a Go func that C keeps", func() any {
			got(runtimetest.Call("calls.store", func(x int64) int64 { return x + 2 }))
			defer runtimetest.Call("calls.drop")
			return call("calls.call_stored", int64(1))
		}, int64(3)},
		{"a Callback of generated code", func() any {
			var c bindrt.Call2
			c.Begin(runtimetest.GlobalFunc("calls.apply", ""), 2)
			add := int64(2)
			bindrt.Callback(&c.Call, 0, func(x int64) int64 { return x + add }, func(a *bindrt.Args) error { return bindrt.Return(a, bindrt.Arg[*runtimetest.Box](a, 0).I64()+add) })
			c.Object(1, bindrt.Ref(box(7)))
			return got(c.DoInt())
		}, int64(9)},
		{"Return of an object", func() any {
			var c bindrt.Call2
			c.Begin(runtimetest.GlobalFunc("calls.apply", ""), 2)
			bindrt.Callback(&c.Call, 0, func(x int64) *runtimetest.Box { return nil }, func(a *bindrt.Args) error { return bindrt.Return(a, box(8)) })
			return got(bindrt.DoObject[runtimetest.Box](&c.Call, &runtimetest.BoxType)).I64()
		}, int64(8)},
	})
}
