package exportrt_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

func columnOf[T tvmffi.Element](t *testing.T, data []T, shape ...int64) *tvmffi.Tensor {
	t.Helper()
	x, err := tvmffi.FromSlice(data, shape...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Release)
	return x
}

// TestColumn: a Tensor stands for a slice of times or complex numbers; one row has the tuple of one element.
func TestColumn(t *testing.T) {
	var got any
	var read func(a *bindrt.Args) any
	f := exported(t, "column", func(any) {}, func(a *bindrt.Args) error {
		got = read(a)
		return a.Check(1)
	})
	times := func(a *bindrt.Args) any { return bindrt.Arg[[]time.Time](a, 0) }
	pair := func(a *bindrt.Args) any { return bindrt.Arg[[2]time.Time](a, 0) }
	numbers := func(a *bindrt.Args) any { return bindrt.Arg[[]complex128](a, 0) }
	small := func(a *bindrt.Args) any { return bindrt.Arg[[]complex64](a, 0) }
	rows := func(a *bindrt.Args) any { return bindrt.Arg[[][]complex128](a, 0) }
	three := columnOf(t, []int64{1, 2, 0, -1, 999_999_999, 5400, 3, 0, -1}, 3, 3)
	floats := columnOf(t, []float64{1, 2, 3, -4}, 2, 2)
	for _, c := range []struct {
		read func(*bindrt.Args) any
		x    any
		want any // a text is that of the error
	}{
		{times, three, []time.Time{time.Unix(1, 2).UTC(), time.Unix(-1, 999_999_999).In(time.FixedZone("", 5400)), time.Unix(3, 0).In(time.FixedZone("", -1))}},
		{pair, columnOf(t, make([]int64, 6), 2, 3), [2]time.Time{time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()}},
		{times, columnOf(t, []int64{}, 0, 3), []time.Time{}},
		{numbers, floats, []complex128{1 + 2i, 3 - 4i}},
		{small, floats, []complex64{1 + 2i, 3 - 4i}},
		{rows, []*tvmffi.Tensor{floats, floats}, [][]complex128{{1 + 2i, 3 - 4i}, {1 + 2i, 3 - 4i}}},
		{pair, three, "expected a sequence of 2 elements of time.Time, got a column of 3 elements"},
		{times, columnOf(t, []int64{0, 0, 0, 0, 1e9, 0}, 2, 3), "0 seconds and 1000000000 nanoseconds"},
		{small, columnOf(t, []float64{0, 1e300}, 1, 2), "(0+1e+300i) does not fit complex64"},
		{times, floats, "expected a sequence of time.Time, or a Tensor of int64 on the host without gaps, with 3 columns, got a Tensor of float64 with the shape [2 2]"},
		{times, columnOf(t, make([]int32, 3), 1, 3), "got a Tensor of int32"},
		{numbers, columnOf(t, make([]float64, 4), 4), "with the shape [4]"},
		{numbers, columnOf(t, make([]float64, 6), 2, 3), "with the shape [2 3]"},
		{func(a *bindrt.Args) any { return bindrt.Arg[[]float64](a, 0) }, floats, "got Tensor"},
	} {
		read = c.read
		v, err := f.Call(c.x)
		v.Release()
		if want, wrong := c.want.(string); wrong {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: got %v, %v, want the error %s", c.x, got, err, want)
			}
		} else if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, %v, want %v", c.x, got, err, c.want)
		}
	}
}
