//go:build tvmffi_liveness

package reflection_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func got[T any](v T, err error) T { return runtimetest.Got(v, err) }

const long = "a text that does not fit into seven bytes"

//go:noinline
func texts() *tvmffi.Array[string] { return got(tvmffi.NewArray(long, long)) }

//go:noinline
func textTable() *tvmffi.Map[string, any] {
	return got(tvmffi.NewMap(tvmffi.MapOf(map[string]any{long: texts()})))
}

//go:noinline
func textDict() *tvmffi.Dict[string, any] {
	return got(tvmffi.NewDict(tvmffi.MapOf(map[string]any{long: texts()})))
}

//go:noinline
func texts2() *tvmffi.List[any] { return got(tvmffi.NewList[any](texts(), textTable(), textDict())) }

//go:noinline
func box(n int64) *runtimetest.Box { return got(runtimetest.NewBox(n)) }

//go:noinline
func boxOf(child tvmffi.ObjectRef) *runtimetest.Box {
	b := box(7)
	got(0, b.SetChild(child))
	return b
}

func TestLiveness(t *testing.T) {
	runtimetest.Load(t)
	typ := got(reflection.TypeByKey("calls.Box"))
	pairs := got(reflection.TypeByKey("testing.TestIntPair"))
	print := `("` + long + `", "` + long + `")`
	field := func(name string) *reflection.Field { return got(typ.FieldByName(name)) }
	uses := []runtimetest.Use{
		{"TypeOf", func() any { return reflection.TypeOf(box(7)).Key() }, "calls.Box"},
		{"Field.Int", func() any { return field("i64").Int(box(7)) }, int64(7)},
		{"Field.Int of a byte", func() any { return field("i8").Int(box(7)) }, int64(-8)},
		{"Field.Float", func() any { return field("f64").Float(box(7)) }, 0.5},
		{"Field.Bool", func() any { return field("flag").Bool(box(7)) }, true},
		{"Field.Text", func() any { return field("text").Text(box(7)) }, long},
		{"Field.Get of an int", func() any { return got(field("i64").Get(box(7))).Value() }, int64(7)},
		{"Field.Get of a text", func() any { return got(field("text").Get(box(7))).Value() }, long},
		{"Field.Get of an object", func() any { return got(field("child").Get(boxOf(texts()))).String() }, print},
		{"Field.Set", func() any { return field("i64").Set(box(7), int64(8)) }, nil},
		{"Field.Set of a byte", func() any { return field("i8").Set(box(7), int64(8)) }, nil},
		{"Field.Set of an object", func() any { return field("child").Set(box(7), texts()) }, nil},
		{"Field.Set and Get", func() any {
			b := box(7)
			got(0, field("any").Set(b, texts()))
			return got(field("any").Get(b)).String()
		}, print},
		{"Field.Set and Get of a slice", func() any {
			b := box(7)
			got(0, field("any").Set(b, []any{texts()}))
			return got(field("any").Get(b)).String()
		}, "(" + print + ",)"},
		{"GetAs", func() any { return got(reflection.GetAs[*tvmffi.Array[string]](field("child"), boxOf(texts()))).At(1) }, long},
		{"GetAs of a slice", func() any { return got(reflection.GetAs[[]int64](field("numbers"), box(7))) }, []int64{1, 2, 3}},
		{"Get", func() any { return got(reflection.Get[*tvmffi.Array[string]](boxOf(texts()), "child")).At(1) }, long},
		{"Get of an int", func() any { return got(reflection.Get[int64](box(7), "i64")) }, int64(7)},
		{"Value.Get", func() any { return got(reflection.ValueOf(boxOf(texts())).Get("child")).String() }, print},
		{"Value.Set", func() any { return reflection.ValueOf(box(7)).Set("child", texts()) }, nil},
		{"Value.Call", func() any { return got(reflection.ValueOf(box(7)).Call("add", int64(1))).Value() }, int64(8)},
		{"Value.IsValid", func() any { return reflection.ValueOf(box(7)).IsValid() }, true},
		{"Value.Type", func() any { return reflection.ValueOf(box(7)).Type().Key() }, "calls.Box"},
		{"Value.String", func() any { return reflection.ValueOf(texts()).String() }, print},
		{"Value.Fields", func() any {
			var all []string
			for f, x := range reflection.ValueOf(boxOf(texts())).Fields() {
				if f.Name() == "text" || f.Name() == "child" || f.Name() == "numbers" {
					got(runtimetest.Call("calls.nop"))
					all = append(all, x.String())
				}
			}
			return all
		}, []string{long, print, "(1, 2, 3)"}},
		{"Method.Call", func() any { return got(got(typ.MethodByName("add")).Call(box(7), int64(1))).Value() }, int64(8)},
		{"Method.Call of a static method", func() any {
			return got(tvmffi.As[*runtimetest.Box](got(got(typ.MethodByName("make")).Call(nil, int64(1))))).I64()
		}, int64(1)},
		{"Method.Func", func() any { return got(got(got(typ.MethodByName("add")).Func()).Call(box(7), int64(1))).Value() }, int64(8)},
		{"Construct", func() any { return got(pairs.Construct(int64(1), int64(2))).String() }, "testing.TestIntPair(a=1, b=2)"},
		{"Construct of objects", func() any { return got(reflection.Get[int64](got(typ.Construct(int64(3))), "i64")) }, int64(3)},
		{"Walk", func() any {
			var all []string
			for _, x := range reflection.Walk(texts2()).All() {
				got(runtimetest.Call("calls.nop"))
				all = append(all, fmt.Sprint(len(x.String())))
			}
			return strings.Join(all, " ")
		}, "370 90 41 41 137 90 41 41 137 90 41 41"},
		{"Walk of an object", func() any {
			n := 0
			for _, x := range reflection.Walk(boxOf(texts2())).All() {
				n += len(x.String())
			}
			return n > 100
		}, true},
		{"Path.Of", func() any {
			for path := range reflection.Walk(boxOf(texts2())).All() {
				if strings.Contains(path.String(), "child[0][1]") {
					return got(path.Of(boxOf(texts2()))).String()
				}
			}
			return nil
		}, long},
		{"Path.Of an object", func() any {
			for path, x := range reflection.Walk(boxOf(texts2())).All() {
				if x.String() == print && strings.Contains(path.String(), "[1]") {
					return got(path.Of(boxOf(texts2()))).String()
				}
			}
			return nil
		}, print},
		{"Step.Key", func() any {
			for path := range reflection.Walk(textTable()).All() {
				if path.Depth() == 1 {
					last, _ := path.Last()
					return last.Key().String()
				}
			}
			return nil
		}, long},
		{"Type.RegisterAttribute", func() any {
			got(0, typ.RegisterAttribute("liveness.attribute", texts()))
			v, _ := typ.Attribute("liveness.attribute")
			return v.String()
		}, print},
		{"Type.RegisterAttribute of a slice", func() any { return typ.RegisterAttribute("liveness.slice", []any{texts(), long}) }, nil},
		{"Type.Attribute", func() any { v, _ := typ.Attribute("liveness.attribute"); return v.String() }, print},
	}
	if made, err := reflection.TypeByKey("testing.TestCxxAutoInit"); err == nil {
		if _, err := made.Constructor(); err == nil {
			uses = append(uses, runtimetest.Use{"New", func() any { return got(made.New(reflection.Kwargs{"a": int64(1), "c": int64(3)})).String() }, "testing.TestCxxAutoInit(a=1, b=42, c=3, d=99)"},
				runtimetest.Use{"Constructor.Call", func() any {
					return got(got(made.Constructor()).Call(int64(1), reflection.Kwargs{"c": int64(3)})).String()
				}, "testing.TestCxxAutoInit(a=1, b=42, c=3, d=99)"})
		}
	}
	runtimetest.LoadProgram(t)
	function := got(reflection.TypeByKey("program.Func"))
	if _, err := function.Constructor(); err == nil {
		uses = append(uses, runtimetest.Use{"New of objects", func() any {
			return got(reflection.Get[tvmffi.Any](got(function.New(reflection.Kwargs{"params": texts(), "body": []any{texts()}, "note": texts()})), "note")).String()
		}, print})
	}
	runtimetest.Alive(t, uses)
}
