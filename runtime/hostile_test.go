package tvmffi_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// A nil *Error in an error is a mistake that no compiler finds: it comes out as an
// error that says so, also as a panic, where a second one would end the process.
func TestNilErrors(t *testing.T) {
	runtimetest.Balanced(t)
	const text = "a nil *tvmffi.Error: return nil where there is no error"
	var none *tvmffi.Error
	for name, f := range map[string]func(any) error{
		"returned": func(any) error { return none },
		"wrapped":  func(any) error { return fmt.Errorf("outside: %w", none) },
		"panic":    func(any) error { panic(none) },
		"cause":    func(any) error { return tvmffi.WrapError("RuntimeError", text, none) },
	} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		for _, through := range []string{"calls.apply", "calls.on_thread"} {
			_, err := runtimetest.Call(through, fn, 1)
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, text)
			if strings.Contains(fmt.Sprintf("%+v", err), "nil pointer dereference") || errors.Is(err, tvmffi.ErrValue) {
				t.Errorf("%s: the error is %+v, want one without a nil pointer dereference and not of kind ValueError", name, err)
			}
		}
		fn.Release()
	}
	if none.Error() != text || none.Unwrap() != nil || none.Frames() != nil || fmt.Sprintf("%+v", none) != text {
		t.Error("the methods of a nil *Error")
	}
	one := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1))
	err := structural.Walk(one, structural.PreOrder, structural.On(func(int64) error { return none }))
	if !runtimetest.Older(t, "0.1.14", err) {
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, text)
	}
	one.Release()
	runtimetest.DropGarbage(t)
}

type (
	// step is the func of a state machine, which returns the next one.
	step func(int64) step
	// option takes others of its kind.
	option     func(...option)
	twice      func(twice) (int64, chan int)
	visitor    func([]visitor, *visitor, tvmffi.Tuple1[visitor]) map[string]visitor
	onlyStars  *onlyStars
	starOfStar **starOfStar
)

// The codec of a Go type that contains itself does not look for its end.
func TestTypesInThemselves(t *testing.T) {
	runtimetest.Balanced(t)
	var done []int64
	var first step
	first = func(n int64) step {
		if done = append(done, n); n == 3 {
			return nil
		}
		return first
	}
	back, err := tvmffi.As[step](runtimetest.MustCall(t, "calls.echo", func(n int64) step { return first(n) }))
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); back != nil; n++ {
		back = back(n)
	}
	if !reflect.DeepEqual(done, []int64{1, 2, 3}) {
		t.Errorf("steps %v", done)
	}
	if _, err := tvmffi.MetadataOf(first); err != nil {
		t.Error(err)
	}
	v, err := runtimetest.Call("calls.echo", visitor(func([]visitor, *visitor, tvmffi.Tuple1[visitor]) map[string]visitor { return nil }))
	if err != nil {
		t.Error(err)
	}
	v.Release()
	taken := 0
	opt, err := tvmffi.As[option](runtimetest.MustCall(t, "calls.echo", option(func(options ...option) { taken = len(options) })))
	if err != nil {
		t.Fatal(err)
	}
	if opt(opt, opt, nil); taken != 3 {
		t.Errorf("%d options", taken)
	}

	// A func type that no Function can have is found when it is used.
	_, err = runtimetest.Call("calls.echo", twice(func(twice) (int64, chan int) { return 0, nil }))
	runtimetest.WantError(t, err, tvmffi.ErrType, "result 2: Go type chan int")
	_, err = tvmffi.As[twice](runtimetest.MustCall(t, "calls.adder", 1))
	runtimetest.WantError(t, err, tvmffi.ErrType, "result 2: Go type chan int")

	_, err = tvmffi.As[onlyStars](runtimetest.MustCall(t, "calls.echo", 1))
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected None, got int: Go type tvmffi_test.onlyStars is a pointer to itself")
	_, err = tvmffi.Convert[[]starOfStar](runtimetest.MustCall(t, "calls.echo", []int64{1}))
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: expected None, got int: Go type tvmffi_test.starOfStar is a pointer to itself")
	if none, err := tvmffi.As[starOfStar](runtimetest.MustCall(t, "calls.echo", starOfStar(nil))); err != nil || none != nil {
		t.Errorf("a nil pointer came back as %v, %v, want nil", none, err)
	}
	back, done = nil, nil
	runtimetest.DropGarbage(t)
}

// Go maps have keys that no lookup finds, Maps have keys that Go maps cannot have.
func TestKeysOfGoMaps(t *testing.T) {
	runtimetest.Load(t)
	nan := math.NaN()
	for _, x := range []any{map[float64]int64{nan: 1, 2: 2}, map[any]int64{nan: 1, "a": 2}} {
		m, err := tvmffi.As[*tvmffi.Map[any, int64]](runtimetest.MustCall(t, "calls.echo", x))
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := m.Get(nan); !ok || n != 1 || m.Len() != 2 {
			t.Errorf("%v became %v", x, m)
		}
		m.Release()
	}

	const text = "a key: []uint8 cannot be a key of a Go map, which compares keys by ==: range over the Map"
	pairs := tvmffi.PairsOf(tvmffi.Pair[any, int64]{"a", 1}, tvmffi.Pair[any, int64]{[]byte("more than seven bytes"), 2})
	m := runtimetest.Must[*tvmffi.Map[any, int64]](t)(tvmffi.NewMap(pairs))
	defer m.Release()
	_, err := m.Map()
	runtimetest.WantError(t, err, tvmffi.ErrType, text)
	d := runtimetest.Must[*tvmffi.Dict[any, int64]](t)(tvmffi.NewDict(pairs))
	defer d.Release()
	_, err = d.Map()
	runtimetest.WantError(t, err, tvmffi.ErrType, text)
	v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(m))
	_, err = tvmffi.As[map[any]int64](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, text)
	_, err = tvmffi.As[map[[1]any]any](runtimetest.MustCall(t, "calls.echo", map[[1]any]int64{{1}: 1}))
	if err != nil {
		t.Error(err)
	}
	var keys []any
	for k := range m.Keys() {
		keys = append(keys, k)
	}
	if len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
}

// Memory that the system does not have is an error: make would end the process.
func TestNoMemoryForTensors(t *testing.T) {
	runtimetest.Load(t)
	// Wine shows the files of Linux, and gives any memory.
	if mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); runtime.GOOS != "linux" || err != nil || mode[0] == '1' {
		t.Logf("the system gives any memory, or is not Linux: %q, %v", mode, err)
		return
	}
	const huge = 1 << 44
	one := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromStrided([]float32{1}, []int64{huge}, []int64{0}))
	defer one.Release()
	bits := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromPointer(tvmffi.Pointer{Address: 8}, tvmffi.Int8, tvmffi.CPU, nil, 1<<46))
	defer bits.Release()
	for name, f := range map[string]func() error{
		"NewTensor": func() error { _, err := tvmffi.NewTensor(tvmffi.Float32, huge); return err },
		"GoAllocator": func() error {
			_, err := env.GoAllocator(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{huge}})
			return err
		},
		"Clone":     func() error { _, err := one.Clone(); return err },
		"ToFloat32": func() error { _, err := tvmffi.ToFloat32(one); return err },
		"of int8":   func() error { _, err := tvmffi.ToFloat32(bits); return err },
		"Copy":      func() error { return tvmffi.Copy(one, one) },
	} {
		if err := f(); !errors.Is(err, tvmffi.ErrMemory) || !strings.Contains(err.Error(), "the system has no memory for ") {
			t.Errorf("%s: the error is %v, want ErrMemory", name, err)
		}
	}
	if err := env.WithAllocator(env.GoAllocator, func() error {
		_, err := env.EnvTensor(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{huge}})
		return err
	}); !errors.Is(err, tvmffi.ErrMemory) {
		t.Errorf("through the environment: %v", err)
	}
	most := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromStrided([]float32{1}, []int64{1 << 62}, []int64{0}))
	defer most.Release()
	runtimetest.WantError(t, tvmffi.Copy(most, most), tvmffi.ErrValue, "does not fit int64")
}

// A conversion that fails has released the objects that it had read: nobody else could.
func TestFailedConversionsLeaveNothing(t *testing.T) {
	runtimetest.Balanced(t)
	type tuple = tvmffi.Tuple3[*runtimetest.Box, tvmffi.Any, string]
	var s tvmffi.Scope
	b := runtimetest.MakeBox(t, 1)
	s.Add(b)
	array := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](b, b, 1))
	s.Add(array)
	ofArrays := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any]([]any{b}, []any{b, 1}))
	s.Add(ofArrays)
	ofMaps := runtimetest.Must[*tvmffi.Map[any, any]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[any, any]{b, b}, tvmffi.Pair[any, any]{"b", 1})))
	s.Add(ofMaps)
	a, l, m := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(array)), runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(ofArrays)), runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(ofMaps))
	of := runtimetest.Unchecked[*tvmffi.Array[*runtimetest.Box]](t, a)
	from := runtimetest.Unchecked[*tvmffi.Map[any, *runtimetest.Box]](t, m)
	for name, failing := range map[string]func() (any, error){
		"Slice": func() (any, error) { return of.Slice() },
		"Map":   func() (any, error) { return from.Map() },
		"Map of texts": func() (any, error) {
			return runtimetest.Unchecked[*tvmffi.Map[any, string]](t, m).Map()
		},
		"As Array":        func() (any, error) { return tvmffi.As[*tvmffi.Array[*runtimetest.Box]](a) },
		"Convert Array":   func() (any, error) { return tvmffi.Convert[*tvmffi.Array[*runtimetest.Box]](a) },
		"Convert Arrays":  func() (any, error) { return tvmffi.Convert[*tvmffi.Array[*tvmffi.Array[*runtimetest.Box]]](l) },
		"Convert List":    func() (any, error) { return tvmffi.Convert[*tvmffi.List[*tvmffi.Array[*runtimetest.Box]]](l) },
		"Convert Map":     func() (any, error) { return tvmffi.Convert[*tvmffi.Map[any, *runtimetest.Box]](m) },
		"As []*Box":       func() (any, error) { return tvmffi.As[[]*runtimetest.Box](a) },
		"As [3]*Box":      func() (any, error) { return tvmffi.As[[3]*runtimetest.Box](a) },
		"As tuple":        func() (any, error) { return tvmffi.As[tuple](a) },
		"As []tuple":      func() (any, error) { return tvmffi.As[[]tvmffi.Tuple1[[]*runtimetest.Box]](l) },
		"As [][]*Box":     func() (any, error) { return tvmffi.Convert[[][]*runtimetest.Box](l) },
		"As pointers":     func() (any, error) { return tvmffi.As[[]*[]*runtimetest.Box](l) },
		"As [][]ref":      func() (any, error) { return tvmffi.As[[][]tvmffi.ObjectRef](l) },
		"As map":          func() (any, error) { return tvmffi.As[map[any]*runtimetest.Box](m) },
		"a typed func":    func() (any, error) { return nil, fails(t, a) },
		"a list of boxes": func() (any, error) { return tvmffi.As[map[any][]*runtimetest.Box](m) },
	} {
		if x, err := failing(); !errors.Is(err, tvmffi.ErrType) {
			t.Errorf("%s returned %v, %v, want ErrType", name, x, err)
		}
	}
	a.Release()
	l.Release()
	m.Release()
	s.Release()
}

// fails calls a callback with an argument that it cannot read.
func fails(t *testing.T, arg tvmffi.Any) error {
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func([]*runtimetest.Box) {}))
	defer f.Release()
	_, err := f.Call(arg)
	return err
}
