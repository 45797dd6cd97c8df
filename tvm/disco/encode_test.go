package disco

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// load loads libtvm_ffi.
func load(t *testing.T) {
	t.Helper()
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
}

// sent returns what the controller receives when a worker sends v.
func sent(t *testing.T, v any) tvmffi.Any {
	t.Helper()
	value, err := tvmffi.AnyOf(v)
	if err != nil {
		t.Fatal(err)
	}
	form, err := tvmffi.AnyOf(encode(value))
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// TestEncode: each kind of value arrives as it was sent, and a failure as its error.
func TestEncode(t *testing.T) {
	load(t)
	for _, v := range []any{nil, true, int64(-7), 2.5, "", "a string that is longer than a header", []byte{}, []byte("bytes\x00")} {
		got, err := decode(sent(t, v), 3)
		if err != nil || fmt.Sprint(got.Value()) != fmt.Sprint(v) {
			t.Errorf("%v (%T) arrives as %v, %v", v, v, got, err)
		}
	}
	x, err := tvmffi.FromSlice([]int16{1, -2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(sent(t, x), 3)
	if err != nil {
		t.Fatal(err)
	}
	y, err := tvmffi.As[*tvmffi.Tensor](got)
	if err != nil {
		t.Fatal(err)
	}
	elements, err := tvmffi.Slice[int16](y)
	if err != nil || y.DataType() != tvmffi.Int16 || !slices.Equal(y.Shape(), []int64{2, 3}) || !slices.Equal(elements, []int16{1, -2, 3, 4, 5, 6}) {
		t.Errorf("the tensor arrives as %v of shape %v: %v, %v", y.DataType(), y.Shape(), elements, err)
	}
	if got, err = decode(sent(t, []any{"a", int64(1), nil}), 3); err != nil || got.TypeKey() != "ffi.Array" || got.String() == "" {
		t.Errorf("an array arrives as %v, %v", got, err)
	}
	function, err := tvmffi.FuncOf(func() {})
	if err != nil {
		t.Fatal(err)
	}
	_, err = decode(sent(t, function), 3)
	if e, ok := errors.AsType[*WorkerError](err); !ok || e.Worker != 3 || !errors.Is(err, tvmffi.ErrType) || !strings.Contains(err.Error(), "a value of type ffi.Function cannot be sent to the controller") {
		t.Errorf("a function: %v", err)
	}
}

// TestDecode_hostile: bytes that no worker sends are an error. A tensor needs all its bytes and
// no more.
func TestDecode_hostile(t *testing.T) {
	load(t)
	x, err := tvmffi.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	tensor, ok := sent(t, x).Value().([]byte)
	if !ok {
		t.Fatal("a tensor is not sent as bytes")
	}
	from := func(b []byte) error {
		v, err := tvmffi.AnyOf(b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = decode(v, 2)
		return err
	}
	if err := from(tensor); err != nil {
		t.Fatal(err)
	}
	for n := range tensor {
		if err := from(tensor[:n]); err == nil {
			t.Errorf("%d bytes of %d are a tensor", n, len(tensor))
		}
	}
	if err := from(append(slices.Clone(tensor), 0)); err == nil || !strings.Contains(err.Error(), "it has 24 bytes, and 25 came") {
		t.Errorf("one byte too many: %v", err)
	}
	for text, want := range map[string]string{
		"short":                    "worker 2 sent 5 bytes without a header",
		"x1234567":                 `worker 2 sent bytes of the unknown kind 'x'`,
		"e1234567{":                "worker 2 sent a failure that is not JSON",
		"g1234567{":                "Expecting a string",
		"t1234567\x02\x20\x01\x00": "buffer too small",
	} {
		if err := from([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if t.Failed() {
		return // without the checks above, a changed header allocates without a limit
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 { // any change of the header and the shape is an error or a tensor of the same size
		b := slices.Clone(tensor)
		b[headerSize+r.IntN(20)] ^= byte(1 << r.IntN(8))
		_ = from(b)
	}
}

// TestDecodeFailures reads the failures that a worker has collected.
func TestDecodeFailures(t *testing.T) {
	load(t)
	value := func(v any) tvmffi.Any {
		a, err := tvmffi.AnyOf(v)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	w := worker{failures: []failure{failed("f", tvmffi.NewError("ValueError", "no")), failed("g", errors.New("other"))}}
	report, err := w.report(nil)
	if err != nil {
		t.Fatal(err)
	}
	errs, err := decodeFailures(value(report), 1)
	if err != nil || len(errs) != 2 || !errors.Is(errs[0], tvmffi.ErrValue) || errs[1].Error() != "worker 1: g: RuntimeError: other" || w.failures != nil {
		t.Errorf("the failures are %v, %v", errs, err)
	}
	for _, v := range []any{1, "f1234567", []byte("b1234567[")} {
		if _, err := decodeFailures(value(v), 1); err == nil || !strings.HasPrefix(err.Error(), "worker 1 sent a list of failures that is not JSON") {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// reduced lets three workers reduce a tensor each, and returns the results by rank.
func reduced[T tvmffi.Element](t *testing.T, op ReduceOp, dtype tvmffi.DataType, parts [][]T) [][]T {
	t.Helper()
	groups := meetAll(t, len(parts), 20*time.Second)
	results := make([][]T, len(parts))
	var all sync.WaitGroup
	for rank, part := range parts {
		all.Go(func() {
			from, err := tvmffi.NewTensor(dtype, int64(len(part)))
			if err != nil {
				t.Error(err)
				return
			}
			to, err := tvmffi.NewTensor(dtype, int64(len(part)))
			if err != nil {
				t.Error(err)
				return
			}
			source, err := tvmffi.Slice[T](from)
			if err != nil {
				t.Error(err)
				return
			}
			copy(source, part)
			if err := groups[rank].operate("allreduce", op, false, from, to); err != nil {
				t.Errorf("%v of %v on worker %d: %v", op, dtype, rank, err)
			}
			if results[rank], err = tvmffi.Slice[T](to); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return results
}

// TestReduce: three workers reduce numbers. All get the same result.
func TestReduce(t *testing.T) {
	load(t)
	parts := [][]int32{{1, 2, 3, -4, 5}, {2, -3, 4, 5, 6}, {7, 8, -9, 1, 2}}
	for op, want := range map[ReduceOp][]int32{
		Sum: {10, 7, -2, 2, 13}, Product: {14, -48, -108, -20, 60}, Min: {1, -3, -9, -4, 2}, Max: {7, 8, 4, 5, 6},
	} {
		for rank, got := range reduced(t, op, tvmffi.Int32, parts) {
			if !slices.Equal(got, want) {
				t.Errorf("the %v on worker %d is %v, want %v", op, rank, got, want)
			}
		}
	}
	half := make([][]tvmffi.BF16, 3)
	for rank := range half {
		half[rank] = []tvmffi.BF16{tvmffi.ToBF16(float32(rank + 1)), tvmffi.ToBF16(0.5)}
	}
	for rank, got := range reduced(t, Average, tvmffi.BFloat16, half) {
		if got[0].Float32() != 2 || got[1].Float32() != 0.5 {
			t.Errorf("the average on worker %d is %v and %v, want 2 and 0.5", rank, got[0].Float32(), got[1].Float32())
		}
	}
}

// TestReduce_refused: tensors and operators that do not fit are refused before anything is sent.
func TestReduce_refused(t *testing.T) {
	load(t)
	g := &group{size: 1, groups: 1}
	tensor := func(d tvmffi.DataType, n int64) *tvmffi.Tensor {
		x, err := tvmffi.NewTensor(d, n)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	reduce := func(op ReduceOp, from, to *tvmffi.Tensor) error { return g.operate("allreduce", op, false, from, to) }
	for want, err := range map[string]error{
		"numbers of type int8 cannot be reduced by ReduceOp(9) to int8":    reduce(9, tensor(tvmffi.Int8, 2), tensor(tvmffi.Int8, 2)),
		"numbers of type int8 cannot be reduced by ReduceOp(4) to int8":    reduce(Average, tensor(tvmffi.Int8, 2), tensor(tvmffi.Int8, 2)),
		"the worker has no tensor for the source":                          reduce(Sum, nil, tensor(tvmffi.Int8, 2)),
		"the worker has no tensor for the result":                          reduce(Sum, tensor(tvmffi.Int8, 2), nil),
		"numbers of type int32 cannot be reduced by ReduceOp(0) to uint32": reduce(Sum, tensor(tvmffi.Int32, 1), tensor(tvmffi.Uint32, 1)),
		"numbers of type bool cannot be reduced by ReduceOp(0) to bool":    reduce(Sum, tensor(tvmffi.Bool, 2), tensor(tvmffi.Bool, 2)),
		"the source has 3 bytes, expected 2 for each of 1 workers":         g.operate("scatter", 0, false, tensor(tvmffi.Int8, 3), tensor(tvmffi.Int8, 2)),
		// Two tensors of 3 and 4 elements of 4 bits have 4 bytes, as one of 7: the elements of the second were one place too far.
		"3 elements of float4_e2m1fn end within a byte, so the next tensor has no place behind them": g.operate("gather", 0, false, tensor(tvmffi.Float4E2M1FN, 3), tensor(tvmffi.Float4E2M1FN, 3)),
		"5 elements of float4_e2m1fn end within a byte, so the next tensor has no place behind them": g.operate("allgather", 0, false, tensor(tvmffi.Float4E2M1FN, 5), tensor(tvmffi.Float4E2M1FN, 5)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
