package batch_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/batch"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestBatch(t *testing.T) {
	runtimetest.Balanced(t)
	add, concat, boxOf := runtimetest.Lookup(t, "calls.add"), runtimetest.Lookup(t, "calls.concat"), runtimetest.Lookup(t, "calls.box")
	echo, nop := runtimetest.Lookup(t, "calls.echo"), runtimetest.Lookup(t, "calls.nop")
	long := strings.Repeat("long ", 2000)
	b := runtimetest.MakeBox(t, 5)
	var queue batch.Batch
	for round := range 3 {
		sum := queue.Add(add, 1, 2)
		typed := queue.Call(add).Int(300).Int(-1)
		text := queue.Call(concat).Text("a text that does not fit, ").Text(long)
		small := queue.Add(concat, "a", "\x00b")
		made := queue.Call(boxOf).Int(7)
		same := queue.Call(echo).Object(b)
		none := queue.Call(nop)
		list := queue.Add(echo, []any{1, "two", []float64{3}})
		flag := queue.Call(echo).Bool(true)
		half := queue.Call(echo).Float(0.5)
		if _, err := batch.Result[int64](sum); err == nil || queue.Len() != 10 {
			t.Error("Result returned no error before Do, or the batch has not 10 calls")
		}
		if err := queue.Do(); err != nil {
			t.Fatal(err)
		}
		if n := runtimetest.Must[int64](t)(batch.Result[int64](sum)); n != 3 {
			t.Errorf("calls.add returned %d, want 3", n)
		}
		if n := runtimetest.Must[int64](t)(batch.Result[int64](typed)); n != 299 {
			t.Errorf("calls.add with typed arguments returned %d, want 299", n)
		}
		if s := runtimetest.Must[string](t)(batch.Result[string](text)); s != "a text that does not fit, "+long {
			t.Errorf("calls.concat returned %d bytes, want both texts", len(s))
		}
		if s := runtimetest.Must[string](t)(batch.Result[string](small)); s != "a\x00b" {
			t.Errorf("calls.concat returned %q, want %q", s, "a\x00b")
		}
		x := runtimetest.Must[*runtimetest.Box](t)(batch.Result[*runtimetest.Box](made))
		if again := runtimetest.Must[*runtimetest.Box](t)(batch.Result[*runtimetest.Box](made)); x != again || x.I64() != 7 {
			t.Error("two results of one call are one object, want two with the same value")
		}
		x.Release()
		y := runtimetest.Must[*tvmffi.Object](t)(batch.Result[*tvmffi.Object](same))
		if !tvmffi.Same(y, b) || memstat.UseCount(b) != 2 {
			t.Errorf("use count %d of the box and its result, want 2", memstat.UseCount(b))
		}
		y.Release()
		if v := runtimetest.Must[tvmffi.Any](t)(batch.Result[tvmffi.Any](none)); !v.IsNone() {
			t.Errorf("calls.nop returned %v, want None", v)
		}
		a := runtimetest.Must[*tvmffi.Array[any]](t)(batch.Result[*tvmffi.Array[any]](list))
		if a.At(1) != "two" || a.Len() != 3 {
			t.Errorf("calls.echo returned %v, want 3 items with \"two\" at 1", a)
		}
		a.Release()
		if !runtimetest.Must[bool](t)(batch.Result[bool](flag)) || runtimetest.Must[float64](t)(batch.Result[float64](half)) != 0.5 {
			t.Error("the results of scalars are not true and 0.5")
		}
		_, err := batch.Result[string](sum)
		runtimetest.WantError(t, err, tvmffi.ErrType, "expected ffi.String, got int")
		if round == 2 {
			queue.Add(nop)
			_, err := batch.Result[int64](sum)
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, "is not available: call Do first")
		}
	}
	if err := queue.Do(); err != nil {
		t.Error(err)
	}
	if err := queue.Do(); err != nil || queue.Len() != 0 {
		t.Errorf("Do of an empty batch returned %v, and there are %d calls", err, queue.Len())
	}
	b.Release()
	for _, f := range []*tvmffi.Function{add, concat, boxOf, echo, nop} {
		f.Release()
	}
}

// A batch of many calls crosses many times, and its arguments move to fresh memory.
func TestBatchOfMany(t *testing.T) {
	runtimetest.Balanced(t)
	sum := runtimetest.Lookup(t, "calls.sum")
	defer sum.Release()
	var queue batch.Batch
	for range 2 {
		var all []batch.Pending
		for i := range 500 {
			p := queue.Call(sum)
			for j := range i % 257 {
				p = p.Int(int64(j))
			}
			all = append(all, p)
		}
		if err := queue.Do(); err != nil {
			t.Fatal(err)
		}
		for i, p := range all {
			n := int64(i % 257)
			if got := runtimetest.Must[int64](t)(batch.Result[int64](p)); got != n*(n-1)/2 {
				t.Fatalf("call %d returned %d, want %d", i, got, n*(n-1)/2)
			}
		}
	}
	p := queue.Call(sum)
	for range 257 {
		p.Int(1)
	}
	runtimetest.WantError(t, queue.Do(), tvmffi.ErrType, "call 0 of the batch: TypeError: the call has more than 256 arguments")
}

// Calls of one function with the same number of arguments are made as one run. Each call
// gets its own arguments and has its own result, wherever the run begins, ends, meets a
// block of calls or the end of the memory, or fails.
func TestBatchRuns(t *testing.T) {
	runtimetest.Balanced(t)
	sum := runtimetest.Lookup(t, "calls.sum")
	var got []int64
	seen := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(args ...int64) (n int64, err error) {
		for _, x := range args {
			n += x
		}
		if n < 0 {
			return 0, io.ErrUnexpectedEOF
		}
		got = append(got, n)
		return n, nil
	}))
	random := rand.New(rand.NewPCG(1, 2))
	widths := []int{0, 1, 2, 3, 5, 64, 100, 255, 256}
	var queue batch.Batch
	for round := range 300 {
		calls := random.IntN(300)
		failing := random.IntN(3*calls + 1) // mostly no call fails
		var pending []batch.Pending
		var want, wantSeen []int64
		next := int64(1)
		for len(pending) < calls {
			width, through := widths[random.IntN(len(widths))], random.IntN(2)
			for range min(calls-len(pending), 1+random.IntN(1+random.IntN(150))) {
				if len(pending) == failing {
					pending, want = append(pending, queue.Call(seen).Int(-1)), append(want, -1)
					continue
				}
				p, n := queue.Call([]*tvmffi.Function{sum, seen}[through]), int64(0)
				for range width {
					p.Int(next)
					n, next = n+next, next+1
				}
				pending, want = append(pending, p), append(want, n)
				if through == 1 && len(pending) <= failing {
					wantSeen = append(wantSeen, n)
				}
			}
		}
		got = got[:0]
		err := queue.Do()
		var failed *batch.Error
		if failing >= calls && err != nil || failing < calls && (!errors.As(err, &failed) || failed.Call != failing || !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Fatalf("round %d, call %d of %d fails: Do returned %v", round, failing, calls, err)
		}
		if !slices.Equal(got, wantSeen) {
			t.Fatalf("round %d: the callback got %d, want %d", round, got, wantSeen)
		}
		for i, p := range pending[:min(failing, calls)] {
			if n := runtimetest.Must[int64](t)(batch.Result[int64](p)); n != want[i] {
				t.Fatalf("round %d, call %d: %d, want %d", round, i, n, want[i])
			}
		}
		for _, p := range pending[min(failing, calls):] {
			if n, err := batch.Result[int64](p); err == nil {
				t.Fatalf("round %d: there is a result %d after the failure", round, n)
			}
		}
	}
	sum.Release()
	seen.Release()
	queue = batch.Batch{}
	runtimetest.DropGarbage(t)
}

func TestBatchStopsAtError(t *testing.T) {
	runtimetest.Balanced(t)
	add, fail := runtimetest.Lookup(t, "calls.add"), runtimetest.Lookup(t, "calls.fail")
	calls := 0
	count := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() { calls++ }))
	for _, at := range []int{0, 1, 63, 64, 100, 199} {
		calls = 0
		var queue batch.Batch
		var results []batch.Pending
		for i := range 200 {
			if i == at {
				results = append(results, queue.Add(fail, "ValueError", "on purpose"))
			} else if i%2 == 0 {
				results = append(results, queue.Add(add, i, 1))
			} else {
				results = append(results, queue.Add(count))
			}
		}
		err := queue.Do()
		var failed *batch.Error
		if !errors.As(err, &failed) || failed.Call != at {
			t.Fatalf("call %d fails: Do returned %v", at, err)
		}
		runtimetest.WantError(t, err, tvmffi.ErrValue, fmt.Sprintf("call %d of the batch: ValueError: on purpose", at))
		if calls != at/2 {
			t.Errorf("%d calls of the callback before call %d, want %d", calls, at, at/2)
		}
		for i, p := range results {
			v, err := batch.Result[tvmffi.Any](p)
			switch {
			case i < at && (err != nil || i%2 == 0 && v.Value() != int64(i+1)):
				t.Errorf("call %d has the result %v, %v", i, v, err)
			case i == at:
				runtimetest.WantError(t, err, tvmffi.ErrValue, "on purpose")
			case i > at:
				runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was not made: call ")
			}
		}
	}
	// A Go error comes out as itself, and a result before it is not lost.
	back := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error { return io.ErrUnexpectedEOF }))
	boxOf := runtimetest.Lookup(t, "calls.box")
	var queue batch.Batch
	made := queue.Call(boxOf).Int(1)
	queue.Call(back)
	if err := queue.Do(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	runtimetest.Must[*runtimetest.Box](t)(batch.Result[*runtimetest.Box](made)).Release()
	for _, f := range []*tvmffi.Function{add, fail, count, back, boxOf} {
		f.Release()
	}
	queue = batch.Batch{}
	runtimetest.DropGarbage(t)
}

func TestBatchRefuses(t *testing.T) {
	runtimetest.Balanced(t)
	add, boxOf, echo := runtimetest.Lookup(t, "calls.add"), runtimetest.Lookup(t, "calls.box"), runtimetest.Lookup(t, "calls.echo")
	var queue batch.Batch
	t.Run("arguments and functions", func(t *testing.T) {
		queue.Add(boxOf, 1)
		queue.Add(echo, make(chan int))
		runtimetest.WantError(t, queue.Do(), tvmffi.ErrType, "call 1 of the batch: TypeError: an argument: Go type chan int")
		queue.Add(nil)
		runtimetest.WantError(t, queue.Do(), tvmffi.ErrRuntime, "call 0 of the batch: RuntimeError: the function: the object is nil")
	})
	t.Run("objects that were released", func(t *testing.T) {
		b := runtimetest.MakeBox(t, 1)
		queue.Call(add).Int(1).Int(1)
		p := queue.Call(echo).Object(b)
		b.Release()
		runtimetest.WantError(t, queue.Do(), tvmffi.ErrRuntime, "call 1 of the batch: RuntimeError: an object was released before the batch was done")
		if _, err := batch.Result[int64](p); err == nil {
			t.Error("the call of a batch that failed has a result")
		}
		queue.Call(echo).Object(b)
		runtimetest.WantError(t, queue.Do(), tvmffi.ErrRuntime, "an argument: the object was released")
	})
	t.Run("arguments of another call", func(t *testing.T) {
		first := queue.Call(add).Int(1)
		queue.Call(add).Int(1).Int(2)
		first.Int(2)
		runtimetest.WantError(t, queue.Do(), tvmffi.ErrRuntime, "call 0 of the batch: RuntimeError: an argument was added after another call")
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "added to a batch that is done", func() { first.Int(2) })
		if _, err := batch.Result[int64](batch.Pending{}); err == nil {
			t.Error("a Pending without a batch has a result")
		}
	})
	t.Run("a callback may not use the batch that calls it, but one of its own", func(t *testing.T) {
		own := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() (int64, error) {
			var inner batch.Batch
			p := inner.Add(add, 20, 1)
			if err := inner.Do(); err != nil {
				return 0, err
			}
			return batch.Result[int64](p)
		}))
		p := queue.Call(own)
		if err := queue.Do(); err != nil || runtimetest.Must[int64](t)(batch.Result[int64](p)) != 21 {
			t.Error(err)
		}
		same := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() { queue.Add(add, 1, 2) }))
		queue.Call(same)
		runtimetest.WantError(t, queue.Do(), tvmffi.ErrRuntime, "the batch is making its calls")
		own.Release()
		same.Release()
	})
	for _, f := range []*tvmffi.Function{add, boxOf, echo} {
		f.Release()
	}
}

// A callback that makes the stack grow moves the caller of the batch, not the batch.
func TestBatchWhileStackMoves(t *testing.T) {
	runtimetest.Balanced(t)
	grow := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(n int64) int64 { return int64(runtimetest.UseStack(int(n))[0]) + n }))
	defer grow.Release()
	done := make(chan []int64)
	for range 4 {
		go func() {
			var queue batch.Batch
			var results []int64
			var pending []batch.Pending
			for i := range 100 {
				pending = append(pending, queue.Call(grow).Int(int64(10*i)))
			}
			if err := queue.Do(); err != nil {
				t.Error(err)
			}
			for _, p := range pending {
				n, err := batch.Result[int64](p)
				if err != nil {
					t.Error(err)
				}
				results = append(results, n)
			}
			done <- results
		}()
	}
	for range 4 {
		results := <-done
		if len(results) != 100 || results[1] != 10 || !slices.IsSortedFunc(results[:6], func(a, b int64) int { return int(a - b) }) {
			t.Errorf("results %v, want 100, with 10 at 1", results)
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	addOne := runtimetest.Lookup(b, "calls.add_one")
	b.Run("64 ints", func(b *testing.B) {
		b.ReportAllocs()
		var queue batch.Batch
		var pending [64]batch.Pending
		var sum int64
		for b.Loop() {
			for i := range pending {
				pending[i] = queue.Call(addOne).Int(int64(i))
			}
			if err := queue.Do(); err != nil {
				b.Fatal(err)
			}
			for _, p := range pending {
				n, err := batch.Result[int64](p)
				if err != nil {
					b.Fatal(err)
				}
				sum += n
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/call")
	})
	b.Run("64 ints by Add", func(b *testing.B) {
		b.ReportAllocs()
		var queue batch.Batch
		for b.Loop() {
			for i := range 64 {
				queue.Add(addOne, i)
			}
			if err := queue.Do(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/call")
	})
	b.Run("single", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := addOneOf(41); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var batchAddOne = bindrt.Func{Name: "calls.add_one"}

func addOneOf(x int64) (int64, error) {
	var c bindrt.Call1
	c.Begin(&batchAddOne, 1)
	c.Int(0, x)
	return c.DoInt()
}

// A callback that uses the batch that calls it gets an error, and the batch continues.
func TestBatchFromItsCallback(t *testing.T) {
	runtimetest.Balanced(t)
	var b batch.Batch
	const text = "the batch is making its calls: a callback or another goroutine needs a batch of its own"
	one := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() int64 { return 1 }))
	defer one.Release()
	n := int64(0)
	within := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() (int64, error) {
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, text, func() { b.Call(one) })
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, text, func() { b.Add(one, 1) })
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, text, func() { _ = b.Do() })
		var own batch.Batch
		p := own.Call(one)
		if err := own.Do(); err != nil {
			return 0, err
		}
		x, err := batch.Result[int64](p)
		n += x
		return n, err
	}))
	defer within.Release()
	var all []batch.Pending
	for range 70 {
		all = append(all, b.Call(within))
	}
	if err := b.Do(); err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		if x, err := batch.Result[int64](p); err != nil || x != int64(i+1) {
			t.Fatalf("call %d returned %d, %v, want %d", i, x, err, i+1)
		}
	}
	// A panic that the callback does not recover is the error of its call.
	careless := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() { b.Call(one) }))
	defer careless.Release()
	b.Call(one)
	b.Call(careless)
	var failed *batch.Error
	if err := b.Do(); !errors.As(err, &failed) || failed.Call != 1 || !strings.Contains(err.Error(), text) {
		t.Error(err)
	}
}

// Another goroutine that uses a batch in the middle of a change panics.
func TestBatchOfTwoGoroutines(t *testing.T) {
	runtimetest.Balanced(t)
	var b batch.Batch
	panics := func(text string, f func()) {
		done := make(chan bool)
		go func() {
			defer close(done)
			runtimetest.WantPanic(t, tvmffi.ErrRuntime, text, f)
		}()
		<-done
	}
	var pending batch.Pending
	busy := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {
		const text = "a callback or another goroutine needs a batch of its own"
		panics(text, func() { b.Call(nil) })
		panics(text, func() { pending.Text("longer than a small string") })
		panics(text, func() { pending.Value([]int64{1}) })
		panics(text, func() { _ = b.Do() })
	}))
	defer busy.Release()
	pending = b.Call(busy)
	if err := b.Do(); err != nil {
		t.Error(err)
	}
}
