package vm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// values loads libtvm_ffi and returns Go values as a machine passes them.
func values(t *testing.T, list ...any) []tvmffi.Any {
	t.Helper()
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	args := make([]tvmffi.Any, len(list))
	for i, v := range list {
		var err error
		if args[i], err = tvmffi.AnyOf(v); err != nil {
			t.Fatal(err)
		}
	}
	return args
}

// TestHook: the func of a hook receives the event, its error goes back, and arguments that no
// machine passes are errors.
func TestHook(t *testing.T) {
	h := new(hook)
	good := values(t, "matmul", "matmul", true, nil, 1, 2)
	if action, err := h.call(good); action != goOn || err != nil {
		t.Errorf("without a func: %v, %v", action, err)
	}
	stop := errors.New("stop")
	var got Event
	h.set(func(e Event) error { got = e; return stop })
	if _, err := h.call(good); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
	if got.Function != "matmul" || !got.Before || len(got.Args) != 2 || got.Args[1].Value() != int64(2) || got.Result.TypeKey() != "None" {
		t.Errorf("the event is %+v", got)
	}
	for name, bad := range map[string][]tvmffi.Any{
		"the number of arguments of the machine's hook is 0, expected 4 or more": nil,
		"the number of arguments of the machine's hook is 3, expected 4 or more": good[:3],
		"expected ffi.String": values(t, "matmul", 1, true, nil),
		"expected bool":       values(t, "matmul", "matmul", "before", nil),
	} {
		if _, err := h.call(bad); err == nil || errors.Is(err, stop) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, want %s", bad, err, name)
		}
	}
	h.set(nil)
	if action, err := h.call(good); action != goOn || err != nil {
		t.Errorf("after the func was taken away: %v, %v", action, err)
	}
}

// TestSignature reads the names of functions from the text of an executable, and counts arguments.
func TestSignature(t *testing.T) {
	if names := functionNames("@main:\n  call f\n@matmul packed_func;\n @init:\nmain:\n"); !slices.Equal(names, []string{"main", "init"}) {
		t.Errorf("the functions are %q", names)
	}
	f := &Function{signature: Signature{"main", []string{"x", "w"}}}
	if err := f.count("call", []any{1}); err == nil || err.Error() != "vm: call main: the number of arguments is 1, expected 2: main(x, w)" {
		t.Errorf("one argument of two: %v", err)
	}
	if err := f.count("call", []any{1, 2}); err != nil {
		t.Error(err)
	}
}

// TestTensors takes results apart: a tensor, tuples in a tuple, and one with something else in it.
func TestTensors(t *testing.T) {
	values(t)
	x, err := tvmffi.FromSlice([]int32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	y, err := tvmffi.FromSlice([]int32{3})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		result any
		want   []int64 // lengths
	}{
		"one": {x, []int64{2}}, "nested": {[]any{x, []any{y, []any{}}, x}, []int64{2, 1, 2}}, "none": {[]any{}, nil},
	} {
		all, err := Tensors(values(t, c.result)[0])
		var lengths []int64
		for _, tensor := range all {
			lengths = append(lengths, tensor.Len())
			tensor.Release()
		}
		if err != nil || !slices.Equal(lengths, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, lengths, err, c.want)
		}
	}
	all, err := Tensors(values(t, []any{x, []any{"text"}})[0])
	if all != nil || err == nil || err.Error() != "vm: take apart result: it is ffi.String, neither a tensor nor a tuple" {
		t.Errorf("a text in a tuple: %v, %v", all, err)
	}
}

// TestFind: a machine has each function once, and none after it was closed.
func TestFind(t *testing.T) {
	f := new(tvmffi.Function)
	m := &Machine{thread: newThread(), found: map[string]*tvmffi.Function{"f": f}}
	defer m.thread.stop()
	if got, err := m.find("f"); got != f || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	m.closed = true
	if got, err := m.find("f"); got != nil || !errors.Is(err, errClosed) {
		t.Errorf("a closed machine has %v, %v", got, err)
	}
}
