package exportrt_test

import (
	"context"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

// nextOf calls f, which returns a sequence, and returns its function.
func nextOf(t *testing.T, f *tvmffi.Function) *tvmffi.Function {
	t.Helper()
	v, err := f.Call()
	if err != nil {
		t.Fatal(err)
	}
	next, err := tvmffi.As[*tvmffi.Function](v)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestSequence: the function of a sequence returns tuples of one value, then None. An end of
// the goroutine is an error of one call. Release ends the sequence, and all memory is given
// back.
func TestSequence(t *testing.T) {
	before := objects.LiveCallbacks()
	ended := make(chan string, 1)
	count := func(yield func(string) bool) {
		result := "by a panic"
		defer func() { ended <- result }()
		for _, word := range []string{"one", "two", "three"} {
			if !yield(word) {
				result = "early"
				return
			}
		}
		result = "at the end"
	}
	current := iter.Seq[string](count)
	f := exported(t, "count", func() {}, func(a *bindrt.Args) error {
		return bindrt.Return(a, exportrt.Sequence(a, current))
	})
	read := func(next *tvmffi.Function) string {
		t.Helper()
		v, err := next.Call()
		if err != nil {
			return err.Error()
		}
		defer v.Release()
		if v.IsNone() {
			return "None"
		}
		words, err := tvmffi.As[tvmffi.Tuple1[string]](v)
		if err != nil {
			t.Fatal(err)
		}
		return words.A
	}
	next := nextOf(t, f)
	for _, want := range []string{"one", "two", "three", "None", "None"} {
		if got := read(next); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	next.Release()
	if how := <-ended; how != "at the end" {
		t.Error("the sequence ended", how)
	}
	next = nextOf(t, f)
	read(next)
	next.Release()
	if how := <-ended; how != "early" {
		t.Error("the sequence ended", how)
	}
	current = func(func(string) bool) { runtime.Goexit() }
	next = nextOf(t, f)
	if got := read(next); !strings.Contains(got, "the Go function exportrt_test.TestSequence.func2 ended by runtime.Goexit") || read(next) != "None" {
		t.Error(got)
	}
	next.Release()
	current = nil
	next = nextOf(t, f)
	if got := read(next); got != "None" {
		t.Error(got)
	}
	next.Release()
	if !runtimetest.Eventually(func() bool { return objects.LiveCallbacks() <= before+2 }) { // f, and the one in the registry
		t.Fatalf("%d functions live, want %d", objects.LiveCallbacks(), before+2)
	}
}

// TestBorrowed: the data type that a slice stands for, and what is refused.
func TestBorrowed(t *testing.T) {
	half := exported(t, "half", func(*tvmffi.Tensor) {}, func(a *bindrt.Args) error {
		x := exportrt.Borrowed[tvmffi.F16](a, 0)
		if err := a.Check(1); err != nil {
			return err
		}
		return a.ReturnInt(int64(len(x)))
	})
	ints := exported(t, "ints", func(*tvmffi.Tensor) {}, func(a *bindrt.Args) error {
		x := exportrt.Borrowed[int](a, 0)
		if err := a.Check(1); err != nil {
			return err
		}
		x[0]++
		return a.ReturnInt(int64(len(x)))
	})
	data := []int{1, 2, 3}
	device, err := tvmffi.FromPointer(tvmffi.Pointer{Address: 1 << 40}, tvmffi.Int64, tvmffi.CUDA(0), nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Release()
	kept := []int{1, 2, 3}
	gaps, err := tvmffi.FromStrided(kept, []int64{2}, []int64{2})
	if err != nil {
		t.Fatal(err)
	}
	defer gaps.Release()
	array, err := tvmffi.NewArray[any](1, int64(2))
	if err != nil {
		t.Fatal(err)
	}
	defer array.Release()
	for _, c := range []struct {
		f    *tvmffi.Function
		arg  any
		want string
	}{
		{half, []tvmffi.F16{0, 0}, ""},
		{half, []uint16{0, 0}, "expected a Tensor of float16 with one dimension, got a Tensor of uint16: convert it first"},
		{ints, data, ""},
		{ints, gaps, ""},
		{ints, array, ""},
		{half, array, "expected a Tensor of float16 with one dimension, got Array"},
		{ints, []int32{1}, "expected a Tensor of int64 with one dimension, got a Tensor of int32: convert it first"},
		{ints, device, "expected a Tensor of int64 with one dimension, got int64[4]@cuda:0: copy it to the host first"},
		{ints, 1, "expected a Tensor of int64 with one dimension, got int"},
	} {
		arg := c.arg
		var tensor *tvmffi.Tensor
		var err error
		switch x := arg.(type) {
		case []tvmffi.F16:
			tensor, err = tvmffi.FromSlice(x)
		case []uint16:
			tensor, err = tvmffi.FromSlice(x)
		case []int:
			tensor, err = tvmffi.FromSlice(x)
		case []int32:
			tensor, err = tvmffi.FromSlice(x)
		}
		if err != nil {
			t.Fatal(err)
		}
		if tensor != nil {
			defer tensor.Release()
			arg = tensor
		}
		_, err = c.f.Call(arg)
		if got := ""; err != nil {
			if got = err.Error(); c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%T: %s, want %q", c.arg, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%T: no error, want %q", c.arg, c.want)
		}
	}
	if data[0] != 2 {
		t.Error("the slice was copied")
	}
	if kept[0] != 1 {
		t.Error("elements with gaps were not copied")
	}
}

// TestPanicNamesTheFunc: a panic names the Go func, also where it runs on another goroutine.
func TestPanicNamesTheFunc(t *testing.T) {
	here := exported(t, "here", func() {}, func(*bindrt.Args) error { panic("no") })
	there := exported(t, "there", func() {}, func(a *bindrt.Args) error {
		return exportrt.Interruptible(a, func(context.Context) error { panic("no") })
	})
	for name, f := range map[string]*tvmffi.Function{"func1": here, "func3": there} {
		_, err := f.Call()
		if want := "panic in exportrt_test.TestPanicNamesTheFunc." + name + ": no"; err == nil || err.Error() != "RuntimeError: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
