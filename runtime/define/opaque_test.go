package define_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// tally has fields that no other language could have.
type tally struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *tally) add(name string, n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[name] += n
	return c.n[name]
}

// meter is a tally: its parent is not at its start.
type meter struct {
	unit string
	tally
}

// shelf has a tally as a field.
type shelf struct {
	Tally *tally            `ffi:"tally,optional"`
	All   map[string]*tally `ffi:"all"`
}

var (
	tallyType = define.Opaque[tally]("gotest.Tally", define.Method("add", (*tally).add), define.Doc("A tally."))
	meterType = define.Opaque[meter]("gotest.Meter", define.Method("unit", func(m *meter) string { return m.unit }))
	shelfType = define.Object[shelf]("gotest.Shelf", define.Method("tally_of", func(s shelf) *tally { return s.Tally }))
)

func loadOpaque(t testing.TB) {
	t.Helper()
	runtimetest.LoadDefine(t)
	for _, register := range []func() error{tallyType.Register, meterType.Register, shelfType.Register} {
		if err := register(); err != nil {
			t.Fatal(err)
		}
	}
}

// function makes a Function of a Go func, which ends with the test.
func function(t testing.TB, f any) *tvmffi.Function {
	t.Helper()
	fn := must(tvmffi.FuncOf(f))
	t.Cleanup(fn.Release)
	return fn
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// objectOf returns the object of a pointer, as another language gets it.
func objectOf(t testing.TB, x any) *tvmffi.Object {
	t.Helper()
	echo := function(t, func(v tvmffi.Any) tvmffi.Any { return v })
	return must(tvmffi.As[*tvmffi.Object](must(echo.Call(x))))
}

// TestOpaque: wherever a pointer goes, Go gets the same pointer and others the same object.
func TestOpaque(t *testing.T) {
	loadOpaque(t)
	x, y := new(tally), new(tally)
	o := objectOf(t, x)
	if tvmffi.TypeKey(o) != "gotest.Tally" {
		t.Error(tvmffi.TypeKey(o))
	}
	same := func(what string, v any, err error) {
		t.Helper()
		other, ok := v.(*tvmffi.Object)
		if err != nil || !ok || !tvmffi.Same(o, other) {
			t.Errorf("%s: %v, %v", what, v, err)
		}
	}
	again, err := function(t, func() *tally { return x }).Call()
	same("result", must(tvmffi.As[*tvmffi.Object](again)), err)
	list, err := function(t, func() []*tally { return []*tally{y, x, nil} }).Call()
	array := must(tvmffi.As[*tvmffi.Array[*tvmffi.Object]](list))
	same("slice", array.At(1), err)
	table, err := function(t, func() map[string]*tally { return map[string]*tally{"x": x} }).Call()
	same("map", must(tvmffi.As[map[string]*tvmffi.Object](table))["x"], err)
	s := must(shelfType.New(shelf{Tally: x, All: map[string]*tally{"x": x}}))
	if v := s.Value(); v.Tally != x || v.All["x"] != x {
		t.Error("the fields are", v)
	}
	for _, v := range []any{o, x, s.Value().Tally} {
		into := function(t, func(c *tally, all []*tally, of map[string]*tally) bool {
			return c == x && slices.Equal(all, []*tally{x, y, nil}) && of["x"] == x
		})
		if ok, err := into.Call(v, []any{v, y, nil}, map[string]any{"x": v}); err != nil || ok.Value() != true {
			t.Error(ok, err)
		}
	}
	if none, err := function(t, func(c *tally) *tally { return c }).Call(nil); err != nil || none.Value() != nil {
		t.Error(none, err)
	}
	called, err := function(t, func(f func(*tally) (*tally, error)) (bool, error) {
		c, err := f(x)
		return c == x, err
	}).Call(function(t, func(v tvmffi.Any) tvmffi.Any { return v }))
	if err != nil || called.Value() != true {
		t.Error("callback:", called, err)
	}
	if x.add("a", 2) != 2 {
		t.Error("the methods of Go do not work")
	}
}

// TestOpaque_parents: a method of the parent gets the embedded struct.
func TestOpaque_parents(t *testing.T) {
	loadOpaque(t)
	m := &meter{unit: "m"}
	o := objectOf(t, m)
	if tvmffi.TypeKey(o) != "gotest.Meter" {
		t.Error(tvmffi.TypeKey(o))
	}
	get := function(t, func(c *tally) bool { return c == &m.tally })
	if ok, err := get.Call(o); err != nil || ok.Value() != true {
		t.Error(ok, err)
	}
	_, err := function(t, func(*meter) {}).Call(new(tally))
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected gotest.Meter, got gotest.Tally")
}

// TestOpaque_ends: the object and the Go value end, in Go and in native code, and the pointer
// gets a new object after that.
func TestOpaque_ends(t *testing.T) {
	loadOpaque(t)
	echo := function(t, func(c *tally) *tally { return c })
	x := new(tally)
	must(echo.Call(x)).Release()
	before := runtimetest.SettledGoValues()
	leaktest.Check(t)
	const rounds = 100_000
	for range rounds {
		must(echo.Call(new(tally))).Release()
		must(echo.Call(x)).Release()
	}
	if n := runtimetest.SettledGoValues() - before; n > 0 {
		t.Errorf("%d values are left", n)
	}
	if n := objects.LivePeers(); n != 0 {
		t.Errorf("%d pointers are left", n)
	}
	y := new(tally)
	w, handle := weak.Make(y), objectOf(t, y).TVMFFIObject().Detach()
	purego.SyscallN(capi.API.ObjectDecRef, handle) // native code does not enter Go
	runtimetest.Collect(t, "the tally that native code released", func() bool { return w.Value() == nil })
	runtime.KeepAlive(x)
}

// TestOpaque_race: goroutines return and release the object of one pointer at once.
func TestOpaque_race(t *testing.T) {
	loadOpaque(t)
	x := new(tally)
	echo := function(t, func(c *tally) *tally {
		if c != x {
			t.Error("another pointer")
		}
		return x
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				v := must(echo.Call(x))
				if must(tvmffi.As[*tally](v)) != x {
					t.Error("another pointer")
				}
				v.Release()
			}
		})
	}
	all.Wait()
}

// TestOpaque_pointers: pointers that are not to the start of an allocation, or not to the heap.
func TestOpaque_pointers(t *testing.T) {
	loadOpaque(t)
	echo := function(t, func(c *tally) *tally { return c })
	many := make([]tally, 3)
	for _, x := range []*tally{&many[0], &many[1], &many[2], &globalTally} {
		v := must(echo.Call(x))
		if must(tvmffi.As[*tally](v)) != x {
			t.Error("another pointer")
		}
		v.Release()
	}
}

var globalTally tally

// TestOpaque_refused: what opaque types cannot do is an error that says why.
func TestOpaque_refused(t *testing.T) {
	loadOpaque(t)
	o := objectOf(t, new(tally))
	for _, name := range []string{"ffi.DeepCopy", "ffi.ToJSONGraphString"} {
		runtimetest.NeedFunctions(t, name)
		var args []any
		if name == "ffi.ToJSONGraphString" {
			args = append(args, nil)
		}
		_, err := runtimetest.Call(name, append([]any{o}, args...)...)
		runtimetest.WantError(t, err, tvmffi.ErrType, "an object of gotest.Tally cannot be copied, pickled or written as JSON")
	}
	_, err := function(t, func(*tally) {}).Call(3)
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected gotest.Tally, got int")
	_, err = function(t, func([]*tally) {}).Call([]any{new(tally), "x"})
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 1: expected gotest.Tally, got")

	type (
		plain struct {
			X int64 `ffi:"x"`
		}
		opaque  struct{ x int64 }
		derived struct{ opaque }
		tagged  struct {
			opaque
			Y int64 `ffi:"y"`
		}
		fields struct{ plain }
		two    struct {
			opaque
			*derived
			tally
		}
		given struct{ x int }
		value struct{ x int }
	)
	// Without a value of each, staticcheck takes the fields for unused.
	_ = []any{derived{opaque{1}}, tagged{opaque{1}, 2}, two{opaque{1}, new(derived), tally{}}, given{1}, value{1}}
	_ = define.Object[plain]("gotest.opaque.Plain")
	_ = define.Opaque[opaque]("gotest.opaque.Opaque", define.Final())
	_, err = tvmffi.FuncOf(func(opaque) {})
	runtimetest.WantError(t, err, tvmffi.ErrType, "it is opaque, so it crosses by its pointer: write *define_test.opaque")
	for want, register := range map[string]func() error{
		"is final":                define.Opaque[derived]("gotest.opaque.Derived").Register,
		"is opaque, so a struct":  define.Object[tagged]("gotest.opaque.Tagged").Register,
		"which has fields that":   define.Opaque[fields]("gotest.opaque.Fields").Register,
		"it embeds two types":     define.Opaque[two]("gotest.opaque.Two").Register,
		"it cannot have the":      define.Opaque[given]("gotest.opaque.Given", define.Frozen()).Register,
		"must be *define_test.va": define.Opaque[value]("gotest.opaque.Value", define.Method("m", func(value) {})).Register,
		"is not a struct":         define.Opaque[int]("gotest.opaque.Int").Register,
	} {
		runtimetest.WantError(t, register(), tvmffi.ErrType, want)
	}
}

// BenchmarkOpaque measures a pointer that goes through native code and back.
func BenchmarkOpaque(b *testing.B) {
	loadOpaque(b)
	x := new(tally)
	echo := function(b, func(c *tally) *tally { return c })
	b.ReportAllocs()
	for b.Loop() {
		must(echo.Call(x)).Release()
	}
}
