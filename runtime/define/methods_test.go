package define_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

type hooked struct {
	A int64 `ffi:"a"`
	B int64 `ffi:"b,readonly"`
}

func TestDefineHooks(t *testing.T) {
	runtimetest.LoadDefine(t)
	runtimetest.NeedFunctions(t, "ffi.RecursiveEq")
	hookedType := define.Object[hooked]("gotest.Hooked",
		define.Repr(func(h hooked) string { return fmt.Sprintf("<%d>", h.A) }),
		define.EqualBy(func(a, b hooked) bool { return a.A%10 == b.A%10 }),
		define.HashBy(func(h *define.Instance[hooked]) int64 { return h.Value().A % 10 }),
		define.CompareBy(func(a, b hooked) int {
			if a.A < 0 {
				panic(errHook)
			}
			return int(a.A - b.A)
		}),
		define.Method("set_b", func(h *hooked) { h.B++ }),
		define.Final())
	a, err := hookedType.New(hooked{A: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	b, _ := hookedType.New(hooked{A: 13})
	defer b.Release()
	bad, _ := hookedType.New(hooked{A: -1})
	defer bad.Release()
	if s := a.String(); s != "<3>" {
		t.Errorf("String: %s, want <3>", s)
	}
	if v := runtimetest.MustCall(t, "ffi.RecursiveEq", a, b).Value(); v != true {
		t.Errorf("RecursiveEq of 3 and 13 is %v, want true", v)
	}
	if v, w := runtimetest.MustCall(t, "ffi.RecursiveHash", a).Value(), runtimetest.MustCall(t, "ffi.RecursiveHash", b).Value(); v != w {
		t.Errorf("RecursiveHash of 3 and 13 is %v and %v, want the same", v, w)
	}
	if v := runtimetest.MustCall(t, "ffi.RecursiveLt", a, b).Value(); v != true {
		t.Errorf("RecursiveLt of 3 and 13 is %v, want true", v)
	}
	_, err = runtimetest.Call("ffi.RecursiveLt", bad, b)
	if !errors.Is(err, errHook) {
		t.Error(err)
	}
	_, err = runtimetest.Call("define.method", "gotest.Hooked", "set_b", a)
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "gotest.Hooked.b is read-only")
	runtimetest.WantError(t, define.FieldOf(hookedType, func(h *hooked) *int64 { return &h.B }).Set(a, 1), tvmffi.ErrAttribute, "read-only")
	runtimetest.WantError(t, a.SetValue(hooked{}), tvmffi.ErrAttribute, "read-only")
	type child struct {
		hooked
		C int64 `ffi:"c"`
	}
	runtimetest.WantError(t, define.Object[child]("gotest.ChildOfFinal").Register(), tvmffi.ErrType, "gotest.Hooked is final")
}

// Methods may be variadic, whatever the receiver is.
func TestDefineVariadicMethods(t *testing.T) {
	runtimetest.LoadDefine(t)
	type bag struct {
		Sum int64 `ffi:"sum"`
	}
	total := func(numbers []int64) (n int64) {
		for _, x := range numbers {
			n += x
		}
		return n
	}
	bags := define.Object[bag]("gotest.Bag",
		define.Method("put", func(b *bag, numbers ...int64) int64 { b.Sum += total(numbers); return b.Sum }),
		define.Method("with", func(b bag, numbers ...int64) int64 { return b.Sum + total(numbers) }),
		define.StaticMethod("of", func(numbers ...int64) bag { return bag{total(numbers)} }))
	b, err := bags.New(bag{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	for _, c := range []struct {
		method string
		args   []any
		want   int64
	}{
		{"put", []any{b}, 0},
		{"put", []any{b, 1, 2, 3}, 6},
		{"put", []any{b, 4}, 10},
		{"with", []any{b, 5, 5}, 20},
	} {
		if got := runtimetest.MustCall(t, "define.method", append([]any{"gotest.Bag", c.method}, c.args...)...).Value(); got != c.want {
			t.Errorf("%s%v: %v, want %d", c.method, c.args, got, c.want)
		}
	}
	made := runtimetest.Must[*define.Instance[bag]](t)(tvmffi.As[*define.Instance[bag]](runtimetest.MustCall(t, "define.method", "gotest.Bag", "of", 7, 8)))
	defer made.Release()
	if n := made.Value().Sum; n != 15 {
		t.Errorf("the sum is %d, want 15", n)
	}
	_, err = runtimetest.Call("define.method", "gotest.Bag", "put", b, 1, "two")
	runtimetest.WantError(t, err, tvmffi.ErrType, "argument 2: expected int, got ffi.SmallStr")
	if n := b.Value().Sum; n != 10 {
		t.Errorf("the call that failed left the sum %d, want 10", n)
	}
}

func TestDefineMethods(t *testing.T) {
	p := runtimetest.NewPoint(t, runtimetest.Point{X: 3, Y: 4, Name: "p"})
	defer p.Release()
	runtimetest.MustCall(t, "define.method", "gotest.Point", "move", p, 10)
	if pointX.Get(p) != 13 {
		t.Errorf("after move x is %d, want 13", pointX.Get(p))
	}
	scaled := runtimetest.MustCall(t, "define.method", "gotest.Point", "scaled", p, 2)
	defer scaled.Release()
	if v, err := tvmffi.As[runtimetest.Point](scaled); err != nil || v.X != 26 || v.Y != 8 {
		t.Errorf("scaled returned %+v, %v, want x 26 and y 8", v, err)
	}
	origin := runtimetest.MustCall(t, "define.method", "gotest.Point", "origin")
	defer origin.Release()
	if tvmffi.TypeKey(origin.Value().(tvmffi.ObjectRef)) != "gotest.Point" {
		t.Errorf("origin returned %v, want a gotest.Point", origin)
	}
	if v := runtimetest.MustCall(t, "define.method", "gotest.Point", "same", p, p).Value(); v != true {
		t.Errorf("same returned %v, want true", v)
	}
	_, err := runtimetest.Call("define.method", "gotest.Point", "norm", 3)
	runtimetest.WantError(t, err, tvmffi.ErrType, "gotest.Point")
	text := runtimetest.MustCall(t, "define.describe", "gotest.Point").Value().(string)
	for _, want := range []string{
		"size 80 doc A point.\n",
		`x at 24 size 8 flags 1 static 1 {"type_schema":"{\"type\":\"int\"}"} to the right`,
		`name at 40 size 16 flags 3 static -1`,
		`next at 72 size 8 flags 3 static 64 {"type_schema":"{\"type\":\"Optional\",\"args\":[{\"type\":\"gotest.Point\"}]}"}`,
		`norm flags 0 {"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":\"float\"}],\"params\":[{\"type\":\"gotest.Point\"}]}}"} The distance from zero.`,
		"dx : int\n    how far",
		`origin flags 4 {"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":\"gotest.Point\"}],\"params\":[]}}"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nis not in\n%s", want, text)
		}
	}
}

type counter struct {
	N int64 `ffi:"n"`
}

type counterState struct {
	mu   sync.Mutex
	seen map[string]int
}

func TestDefineState(t *testing.T) {
	runtimetest.LoadDefine(t)
	counterType := define.Object[counter]("gotest.Counter", define.State[counterState](),
		define.Method("see", func(c *define.Instance[counter], name string) (int64, error) {
			s, err := define.StateOf[counterState](c)
			if err != nil {
				return 0, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.seen == nil {
				s.seen = map[string]int{}
			}
			s.seen[name]++
			return int64(s.seen[name]), nil
		}))
	if err := counterType.Register(); err != nil {
		t.Fatal(err)
	}
	before := runtimetest.SettledGoValues()
	c := runtimetest.MustCall(t, "define.create", "gotest.Counter")
	runtimetest.MustCall(t, "define.method", "gotest.Counter", "see", c, "a")
	if v := runtimetest.MustCall(t, "define.method", "gotest.Counter", "see", c, "a").Value(); v != int64(2) {
		t.Errorf("the second call of see returned %v, want 2", v)
	}
	copied := runtimetest.MustCall(t, "define.copy", c)
	if v := runtimetest.MustCall(t, "define.method", "gotest.Counter", "see", copied, "a").Value(); v != int64(1) {
		t.Errorf("the first call of see on a copy returned %v, want 1: it has a state of its own", v)
	}
	_, err := define.StateOf[int](c.Value().(tvmffi.ObjectRef))
	runtimetest.WantError(t, err, tvmffi.ErrType, "counterState", "not a int")
	if n := objects.LiveCallbacks() - before; n != 2 {
		t.Errorf("%d states are held, want 2", n)
	}
	runtime.GC()
	if v := runtimetest.MustCall(t, "define.method", "gotest.Counter", "see", c, "a").Value(); v != int64(3) {
		t.Errorf("the third call of see returned %v, want 3", v)
	}
	c.Release()
	copied.Release()
	if n := objects.LiveCallbacks() - before; n != 0 {
		t.Errorf("%d states are left", n)
	}
	testDerivedState(t)
	p := runtimetest.NewPoint(t, runtimetest.Point{Name: "p"})
	defer p.Release()
	_, err = define.StateOf[int](p)
	runtimetest.WantError(t, err, tvmffi.ErrType, "have no Go state")
}

// Objects of a type that another language derived have a state too. It ends with the
// object, whichever side drops the last reference.
func testDerivedState(t *testing.T) {
	t.Helper()
	if f, err := tvmffi.Lookup("ffi._PyClassRegisterTypeAttrColumns"); err != nil {
		if v := capi.Version(); v.Minor != 1 || v.Patch >= 12 {
			t.Error(err)
		}
		t.Log("this libtvm_ffi has no classes of Python: ", err)
		return
	} else {
		f.Release()
	}
	runtimetest.MustCall(t, "define.derive", "gotest.DerivedCounter", "gotest.Counter")
	before := runtimetest.SettledGoValues()
	for range 3 {
		x := runtimetest.MustCall(t, "define.new", "gotest.DerivedCounter")
		for want := range 2 {
			if v := runtimetest.MustCall(t, "define.method", "gotest.Counter", "see", x, "a").Value(); v != int64(want+1) {
				t.Errorf("see returned %v, want %d", v, want+1)
			}
		}
		copied := runtimetest.MustCall(t, "define.copy", x)
		if v := runtimetest.MustCall(t, "define.method", "gotest.Counter", "see", copied, "a").Value(); v != int64(1) {
			t.Errorf("the first call of see on a copy returned %v, want 1: it has a state of its own", v)
		}
		if n := objects.LiveCallbacks() - before; n != 2 {
			t.Errorf("%d states are held, want 2", n)
		}
		array := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](x, copied))
		x.Release()
		copied.Release()
		if n := objects.LiveCallbacks() - before; n != 2 {
			t.Errorf("%d states are held while C++ has the objects, want 2", n)
		}
		array.Release()
		if n := objects.LiveCallbacks() - before; n != 0 {
			t.Errorf("%d states are left", n)
		}
	}
}
