package exportrt_test

import (
	"errors"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

// exported makes a Function of what generated code exports.
func exported(tb testing.TB, name string, signature any, call func(*bindrt.Args) error) *tvmffi.Function {
	tb.Helper()
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(tb))); err != nil {
		tb.Fatal(err)
	}
	l := exportrt.Exports{Name: "test", Prefix: "exportrt.", Functions: []exportrt.Function{{Name: name, Func: signature, Call: call}}}
	if err := l.Register(); err != nil {
		tb.Fatal(err)
	}
	f, err := tvmffi.Lookup("exportrt." + name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		f.Release()
		if _, err := tvmffi.Unregister("exportrt." + name); err != nil {
			tb.Error(err)
		}
	})
	return f
}

// TestAny: containers are Go values where an exported func takes any value.
func TestAny(t *testing.T) {
	var got any
	f := exported(t, "any", func(any) {}, func(a *bindrt.Args) error {
		got = bindrt.Arg[any](a, 0)
		return a.Check(1)
	})
	for _, c := range []struct{ x, want any }{
		{[]any{1, "x", []string{"y"}, nil}, []any{int64(1), "x", []any{"y"}, nil}},
		{map[string]any{"k": map[int]bool{1: true}, "e": []int{}}, map[string]any{"k": map[any]any{int64(1): true}, "e": []any{}}},
	} {
		v, err := f.Call(c.x)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v arrives as %#v, %v", c.x, got, err)
		}
		v.Release()
	}
}

// TestNearest: an int becomes the float32 that is nearest to it. By way of a float64 it would be rounded twice.
func TestNearest(t *testing.T) {
	var got any
	var read func(a *bindrt.Args) any
	f := exported(t, "nearest", func(any) {}, func(a *bindrt.Args) error {
		got = read(a)
		return a.Check(1)
	})
	const n, low, want = 1<<60 + 1<<36 + 1, 1<<53 + 1, 1<<60 + 1<<37 // n lies just above the middle of two floats
	large, up := new(big.Int).Lsh(big.NewInt(n), 10), float32(want*1024.0)
	single := func(a *bindrt.Args) any { return bindrt.Arg[float32](a, 0) }
	singles := func(a *bindrt.Args) any { return bindrt.Arg[[]float32](a, 0) }
	half := func(a *bindrt.Args) any { return bindrt.Arg[complex64](a, 0) }
	for _, c := range []struct {
		read    func(*bindrt.Args) any
		x, want any
	}{
		{single, n, float32(want)}, {single, -n, float32(-want)}, {single, large, up}, {single, uint64(1<<63 + 1<<39 + 1), float32(1<<63 + 1<<40)},
		{singles, []any{n, 0.5, large, true}, []float32{want, 0.5, up, 1}},
		{func(a *bindrt.Args) any { return *bindrt.Arg[*float32](a, 0) }, n, float32(want)},
		{half, n, complex64(want)}, {half, large, complex(up, 0)}, {half, []any{n, -n}, complex64(complex(want, -want))}, {half, []any{0.5, n}, complex64(complex(0.5, want))},
		{func(a *bindrt.Args) any { return bindrt.Arg[float64](a, 0) }, low, float64(1 << 53)},
	} {
		read = c.read
		v, err := f.Call(c.x)
		v.Release()
		if err != nil && strings.Contains(err.Error(), "no integers beyond those of int64: version 0.1.14 is the first") {
			continue // an older library
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v arrives as %v, %v, want %v", c.x, got, err, c.want)
		}
	}
}

// TestBorrowed_bytes: bytes stand for a slice of uint8 that is lent, and are copied.
func TestBorrowed_bytes(t *testing.T) {
	var got []uint8
	f := exported(t, "borrowed", func([]uint8) {}, func(a *bindrt.Args) error {
		got = exportrt.Borrowed[uint8](a, 0)
		return a.Check(1)
	})
	for _, x := range []string{"", "ab", "more than eight"} {
		v, err := f.Call([]byte(x))
		v.Release()
		if err != nil || string(got) != x {
			t.Errorf("%q arrives as %q, %v", x, got, err)
		}
	}
}

// callee is what the generator writes for a func parameter.
func callee(a *bindrt.Args, i int) func(int64) (int64, error) {
	return exportrt.Callee(a, i, func(fn *tvmffi.Function) func(int64) (int64, error) {
		return func(x int64) (r int64, err error) {
			var c bindrt.Call1
			c.BeginFunction(bindrt.Ref(fn), 1)
			c.Int(0, x)
			if err := c.Do(); err != nil {
				return r, err
			}
			return c.IntResult()
		}
	})
}

// A func parameter borrows its Function, goes back as the Function that it was made of, and
// ends with the call. RetainFunc keeps it, until the collector finds that nobody has it.
func TestCallee(t *testing.T) {
	var lent, kept func(int64) (int64, error)
	inside := func() {}
	keep := exported(t, "keep", func(func(int64) (int64, error)) {}, func(a *bindrt.Args) error {
		lent = callee(a, 0)
		kept = tvmffi.RetainFunc(lent)
		inside()
		return a.Check(1)
	})
	functionOf := func(f any) *tvmffi.Function {
		t.Helper()
		fn, err := tvmffi.FuncOf(f)
		if err != nil {
			t.Fatal(err)
		}
		return fn
	}
	fn := functionOf(func(x int64) (int64, error) { return 2 * x, nil })
	defer fn.Release()
	same := func(what string, f any) {
		t.Helper()
		back := functionOf(f)
		if !tvmffi.Same(back, fn) {
			t.Errorf("%s: another Function came back", what)
		}
		back.Release()
	}
	inside = func() {
		if n := bindrt.Ref(fn).UseCount(); n != 2 {
			t.Errorf("%d references, want 2: ours and one of the kept func", n)
		}
		if x, err := lent(4); err != nil || x != 8 {
			t.Error(x, err)
		}
		same("the lent func", lent)
	}
	call := func(arg *tvmffi.Function) {
		t.Helper()
		if v, err := keep.Call(arg); err != nil {
			t.Fatal(v, err)
		}
	}
	call(fn)
	ended := func(err error) {
		t.Helper()
		if !errors.Is(err, tvmffi.ErrRuntime) || !strings.Contains(err.Error(), "tvmffi.Retain keeps") {
			t.Errorf("%v, want an error with tvmffi.Retain", err)
		}
	}
	_, err := lent(4)
	ended(err)
	_, err = tvmffi.FuncOf(lent)
	ended(err)
	func() {
		defer func() { ended(recover().(error)) }()
		tvmffi.RetainFunc(lent)
	}()
	if x, err := kept(4); err != nil || x != 8 {
		t.Error(x, err)
	}
	same("the kept func", kept)
	same("a kept func that is retained again", tvmffi.RetainFunc(kept))
	// Another func of the same code calls another Function.
	other := functionOf(func(x int64) (int64, error) { return 3 * x, nil })
	first := kept
	inside = func() {}
	call(other)
	if x, err := kept(4); err != nil || x != 12 {
		t.Error(x, err)
	}
	if x, err := first(4); err != nil || x != 8 {
		t.Error(x, err)
	}
	other.Release()
	runtime.KeepAlive(first)
	first, kept = nil, nil
	runtimetest.Collect(t, "references that are not ours", func() bool { objects.GuardRecent(); return bindrt.Ref(fn).UseCount() == 1 })
}

// BenchmarkArguments calls an exported function with each form of argument: what a
// string, a func, also one that was not there before, and a tensor cost more than an int.
func BenchmarkArguments(b *testing.B) {
	double := func(x int64) (int64, error) { return 2 * x, nil }
	functions := func(n int) (all []any) {
		for range n {
			fn, err := tvmffi.FuncOf(double)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(fn.Release)
			all = append(all, fn)
		}
		return all
	}
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(b))); err != nil {
		b.Fatal(err)
	}
	tensor, err := tvmffi.FromSlice(make([]float32, 4))
	if err != nil {
		b.Fatal(err)
	}
	defer tensor.Release()
	aFunc := func(a *bindrt.Args) error {
		callee(a, 0)
		return a.Check(1)
	}
	for _, test := range []struct {
		name      string
		signature any
		args      []any
		call      func(*bindrt.Args) error
	}{
		{"int", func(int64) {}, []any{int64(3)}, func(a *bindrt.Args) error {
			bindrt.Arg[int64](a, 0)
			return a.Check(1)
		}},
		{"string", func(string) {}, []any{"eight or more bytes"}, func(a *bindrt.Args) error {
			bindrt.Arg[string](a, 0)
			return a.Check(1)
		}},
		{"tensor", func(*tvmffi.Tensor) {}, []any{tensor}, func(a *bindrt.Args) error {
			bindrt.Arg[*tvmffi.Tensor](a, 0)
			return a.Check(1)
		}},
		{"func", func(func(int64) (int64, error)) {}, functions(1), aFunc},
		{"new_func", func(func(int64) (int64, error)) {}, functions(1000), aFunc},
	} {
		b.Run(test.name, func(b *testing.B) {
			f := exported(b, test.name, test.signature, test.call)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v, err := f.Call(test.args[i%len(test.args)])
				if err != nil {
					b.Fatal(err)
				}
				v.Release()
			}
		})
	}
}

// person is a record.
type person struct {
	Name   string   `ffi:"name"`
	Age    int64    `ffi:"age,default=7"`
	Scores []int64  `ffi:"scores,optional"`
	Friend *person  `ffi:"friend,optional"`
	Tags   []person `ffi:"tags,optional"`
}

// TestArg_record: an entry without a field fails in the cases in which a parameter fails; the error names the nearest field.
func TestArg_record(t *testing.T) {
	runtimetest.Balanced(t)
	var got []person
	f := exported(t, "record", func([]person) {}, func(a *bindrt.Args) error {
		got = bindrt.Arg[[]person](a, 0)
		return a.Check(1)
	})
	dict := runtimetest.Must[*tvmffi.Dict[string, any]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[string, any]{Key: "name", Value: "d"})))
	v, err := f.Call([]any{map[string]any{"name": "a", "friend": map[string]any{"name": "b", "age": 8}, "scores": nil}, dict})
	if want := []person{{Name: "a", Age: 7, Friend: &person{Name: "b", Age: 8}}, {Name: "d", Age: 7}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	v.Release()
	box := runtimetest.MakeBox(t, 3)
	nothing := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1))
	for _, c := range []struct {
		x    any
		want string
	}{
		{map[string]any{"name": "a", "scroes": 1}, `TypeError: record: argument 0[0]: there is no field "scroes"; did you mean scores?`},
		{map[string]any{"nmae": "a"}, `there is no field "nmae"; did you mean name?`},
		{map[string]any{"name": "a", "weight": 1}, `there is no field "weight": person has name, age, scores, friend, tags`},
		{map[string]any{"age": 1}, `TypeError: record: argument 0[0]: the field name is missing: person has name, age, scores, friend, tags`},
		{map[string]any{"name": "a", "friend": map[string]any{"name": "b", "agee": 1}}, `argument 0[0].friend: there is no field "agee"; did you mean age?`},
		{map[string]any{"name": "a", "tags": []any{map[string]any{}}}, "argument 0[0].tags[0]: the field name is missing"},
		{map[any]any{"name": "a", int64(1): 1}, "argument 0[0]: a key: expected a string, got int"},
		{nothing, "argument 0[0]: expected a map (exportrt_test.person in Go), got Array"},
		{"a", "argument 0[0]: expected a map (exportrt_test.person in Go), got string"},
		{box, "TypeError: record: argument 0[0]: calls.Box has no name: person has name, age"},
	} {
		_, err := f.Call([]any{c.x})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.x, err, c.want)
		}
	}
	// What a foreign library returns may have more entries.
	m := runtimetest.Must[*tvmffi.Map[string, any]](t)(tvmffi.NewMap(tvmffi.MapOf(map[string]any{"name": "a", "more": 1})))
	var p person
	if err := tvmffi.UnmarshalMap(m, &p); err != nil || p.Name != "a" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, x := range []interface{ Release() }{m, dict, box, nothing} {
		x.Release()
	}
}
