//go:build tvm

package disco_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestCollective makes every collective operation, on sessions of every kind and size.
func TestCollective(t *testing.T) {
	need(t)
	for name, begin := range map[string]begin{"threads": disco.Threads, "processes": disco.Processes} {
		for _, n := range []int{1, 2, 3, 4} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				testCollective(t, open(t, begin, n, disco.Options{}))
			})
		}
	}
}

func testCollective(t *testing.T, s *disco.Session) {
	t.Helper()
	n := s.Workers()
	rows := make([]float32, 3*n)
	for i := range rows {
		rows[i] = float32(i)
	}
	host := must[*tvmffi.Tensor](t)(tvmffi.FromSlice(rows, int64(n), 3))
	whole := must[*disco.DRef](t)(s.Broadcast(host))
	part := must[*disco.DRef](t)(s.Scatter(host))
	gathered := must[*disco.DRef](t)(s.Empty(tvmffi.Float32, int64(n), 3))
	onZero := must[*disco.DRef](t)(s.EmptyOnWorker0(tvmffi.Float32, int64(n), 3))
	sum := must[*disco.DRef](t)(s.Empty(tvmffi.Float32, 3))
	for _, err := range []error{
		s.Allgather(part, gathered, false), s.GatherToWorker0(part, onZero, false), s.Allreduce(part, sum, disco.Sum, false), s.Sync(t.Context()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	total := make([]float32, 3)
	for i := range n {
		for j := range total {
			total[j] += rows[3*i+j]
		}
	}
	for i := range n {
		wantTensor(t, "broadcast", whole, i, rows)
		wantTensor(t, "scatter", part, i, rows[3*i:3*i+3])
		wantTensor(t, "allgather", gathered, i, rows)
		wantTensor(t, "allreduce", sum, i, total)
	}
	wantTensor(t, "gather", onZero, 0, rows)
	if v, err := onZero.Get(t.Context(), n-1); n > 1 && (err != nil || !v.IsNone()) {
		t.Errorf("the tensor of worker 0 on worker %d: %v, %v", n-1, v, err)
	}
	gathers := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, int64(n), 3))
	if err := s.Gather(t.Context(), gathers, part); err != nil {
		t.Fatal(err)
	}
	if got := must[[]float32](t)(tvmffi.Slice[float32](gathers)); !slices.Equal(got, rows) {
		t.Errorf("Gather returned %v, want %v", got, rows)
	}
	back := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, 3))
	if err := s.CopyFromWorker0(t.Context(), back, sum); err != nil {
		t.Fatal(err)
	}
	if got := must[[]float32](t)(tvmffi.Slice[float32](back)); !slices.Equal(got, total) {
		t.Errorf("worker 0 has %v, want %v", got, total)
	}
}

func wantTensor[T float32 | int32](t testing.TB, what string, d *disco.DRef, worker int, want []T) {
	t.Helper()
	v, err := d.Get(t.Context(), worker)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got := must[[]T](t)(tvmffi.ReadSlice[T](must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](v))))
	if !slices.Equal(got, want) {
		t.Errorf("%s: worker %d has %v, want %v", what, worker, got, want)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// TestAllreduce combines numbers of every type by every operator.
// TestHosted_other: a tensor of the controller is copied from and to one of the same type and shape, without gaps.
func TestHosted_other(t *testing.T) {
	need(t)
	s := open(t, disco.Threads, 2, disco.Options{})
	ints := must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]int32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4))
	on := must[*disco.DRef](t)(s.Broadcast(ints))
	for _, x := range []struct {
		dtype tvmffi.DataType
		shape []int64
	}{{tvmffi.Float32, []int64{2, 4}}, {tvmffi.Int32, []int64{4, 2}}} {
		other := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(x.dtype, x.shape...))
		const want = "the tensor of the controller is "
		if err := s.CopyFromWorker0(t.Context(), other, on); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("from int32[2 4] to %v: %v", other, err)
		}
		if err := errors.Join(s.CopyToWorker0(other, on), s.Sync(t.Context())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("from %v to int32[2 4]: %v", other, err)
		}
	}
	gaps := must[*tvmffi.Tensor](t)(ints.Slice(1, 1, 3))
	_, scattered := s.Scatter(gaps)
	_, broadcast := s.Broadcast(gaps)
	for _, err := range []error{scattered, broadcast, s.CopyToWorker0(gaps, on), s.CopyFromWorker0(t.Context(), gaps, on)} {
		if err == nil || !strings.Contains(err.Error(), "has gaps between its elements: pass a Clone") {
			t.Errorf("a tensor with gaps: %v", err)
		}
	}
	wantTensor(t, "afterwards", on, 0, []int32{1, 2, 3, 4, 5, 6, 7, 8})
}

func TestAllreduce(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 3, disco.Options{})
	types := []tvmffi.DataType{
		tvmffi.Int8, tvmffi.Int16, tvmffi.Int32, tvmffi.Int64, tvmffi.Uint8, tvmffi.Uint16, tvmffi.Uint32, tvmffi.Uint64,
		tvmffi.Float16, tvmffi.BFloat16, tvmffi.Float32, tvmffi.Float64,
	}
	// Worker i has row i. All results are exact in all types.
	rows := []float32{1, 5, 2, 3, 7, 2, 5, 4, 2, 1, 3, 0, 3, 2, 2}
	for op, want := range map[disco.ReduceOp][]float32{
		disco.Sum: {6, 10, 9, 7, 10}, disco.Product: {6, 0, 24, 12, 14}, disco.Min: {1, 0, 2, 2, 1}, disco.Max: {3, 5, 4, 3, 7}, disco.Average: nil,
	} {
		for _, dtype := range types {
			if op == disco.Average {
				if dtype.IsInteger() {
					continue
				}
				want = []float32{2, 10. / 3, 3, 7. / 3, 10. / 3}
			}
			host := must[*tvmffi.Tensor](t)(tvmffi.FromFloat32(dtype, rows, 3, 5))
			d := must[*disco.DRef](t)(s.Scatter(host))
			if err := s.Allreduce(d, d, op, false); err != nil { // in place
				t.Fatal(err)
			}
			for i := range 3 {
				v := must[tvmffi.Any](t)(d.Get(t.Context(), i))
				got := must[[]float32](t)(tvmffi.ToFloat32(must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](v))))
				near := func(x, y float32) bool { // the average has no exact value in narrow types
					return x == y || op == disco.Average && max(x-y, y-x) < 0.01
				}
				if !slices.EqualFunc(got, want, near) {
					t.Errorf("%v of %v on worker %d: %v, want %v", op, dtype, i, got, want)
				}
			}
			d.Release()
		}
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestGroups lets each of two groups work for itself.
func TestGroups(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 4, disco.Options{Groups: 2})
	d := must[*disco.DRef](t)(s.Scatter(must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]int32{1, 2, 30, 40}, 4, 1))))
	sum := must[*disco.DRef](t)(s.Empty(tvmffi.Int32, 1))
	for _, err := range []error{s.Allreduce(d, sum, disco.Sum, true), s.BroadcastFromWorker0(d, d, true), s.Sync(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int32{3, 3, 70, 70} {
		wantTensor(t, "allreduce", sum, i, []int32{want})
		wantTensor(t, "broadcast", d, i, []int32{[]int32{1, 1, 30, 30}[i]})
	}
}

// TestModuleOperations calls the functions that compiled modules call. TVM finds them by names.
func TestModuleOperations(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 2, disco.Options{})
	d := must[*disco.DRef](t)(s.Scatter(must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]int32{1, 2}, 2, 1))))
	both := must[*disco.DRef](t)(s.Empty(tvmffi.Int32, 2))
	op := must[*tvmffi.Shape](t)(tvmffi.NewShape(int64(disco.Sum)))
	call(t, s, "runtime.disco.allgather", d, false, both)
	call(t, s, "runtime.disco.allreduce", d, op, false, d)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		wantTensor(t, "allgather", both, i, []int32{1, 2})
		wantTensor(t, "allreduce", d, i, []int32{3})
	}
}
