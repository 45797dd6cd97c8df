//go:build tvmffi_liveness

package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/batch"
)

func got[T any](v T, err error) T { return runtimetest.Got(v, err) }

const short = "a text of more than seven bytes"

//go:noinline
func text(s string) string { return strings.Clone(s) }

//go:noinline
func texts() *tvmffi.Array[string] { return got(tvmffi.NewArray(short, short)) }

//go:noinline
func box(n int64) *runtimetest.Box { return got(runtimetest.NewBox(n)) }

//go:noinline
func global(name string) *tvmffi.Function { return got(tvmffi.Lookup(name)) }

//go:noinline
func adder() *tvmffi.Function {
	return got(tvmffi.As[*tvmffi.Function](got(global("calls.adder").Call(int64(5)))))
}

func TestLiveness(t *testing.T) {
	runtimetest.Load(t)
	long := strings.Repeat("long ", 2000)
	print := `("` + short + `", "` + short + `")`
	// echo is the result of calls.echo in a batch with other calls.
	echo := func(add func(p batch.Pending) batch.Pending) any {
		var b batch.Batch
		p := add(b.Call(global("calls.echo")))
		for range 3 {
			b.Call(adder()).Int(1)
		}
		got(0, b.Do())
		return got(batch.Result[tvmffi.Any](p)).String()
	}
	runtimetest.Alive(t, []runtimetest.Use{
		{"Call", func() any {
			var b batch.Batch
			p := b.Call(adder()).Int(1)
			got(0, b.Do())
			return got(batch.Result[int64](p))
		}, int64(6)},
		{"Add", func() any {
			var b batch.Batch
			p := b.Add(adder(), int64(1))
			got(0, b.Do())
			return got(batch.Result[int64](p))
		}, int64(6)},
		{"calls of many functions", func() any {
			var b batch.Batch
			var all []batch.Pending
			for i := range 10 {
				all = append(all, b.Call(adder()).Int(int64(i)))
			}
			got(0, b.Do())
			sum := int64(0)
			for _, p := range all {
				sum += got(batch.Result[int64](p))
			}
			return sum
		}, int64(95)},
		{"Object", func() any { return echo(func(p batch.Pending) batch.Pending { return p.Object(texts()) }) }, print},
		{"Value of an object", func() any { return echo(func(p batch.Pending) batch.Pending { return p.Value(texts()) }) }, print},
		{"Value of an Any", func() any {
			return echo(func(p batch.Pending) batch.Pending { return p.Value(got(tvmffi.AnyOf(texts()))) })
		}, print},
		{"Value of a slice", func() any { return echo(func(p batch.Pending) batch.Pending { return p.Value([]any{texts()}) }) }, "(" + print + ",)"},
		{"Value of bytes", func() any { return echo(func(p batch.Pending) batch.Pending { return p.Value([]byte(text(short))) }) }, fmt.Sprint([]byte(short))},
		{"Value of a func", func() any {
			var b batch.Batch
			p := b.Call(global("calls.apply")).Value(func(x int64) int64 { return x + 2 }).Int(1)
			got(0, b.Do())
			return got(batch.Result[int64](p))
		}, int64(3)},
		{"Value of a Go func of a Function", func() any {
			var b batch.Batch
			p := b.Call(global("calls.apply")).Value(got(tvmffi.As[func(int64) (int64, error)](got(tvmffi.AnyOf(adder()))))).Int(1)
			got(0, b.Do())
			return got(batch.Result[int64](p))
		}, int64(6)},
		{"Value of an error", func() any {
			return echo(func(p batch.Pending) batch.Pending { return p.Value(tvmffi.NewError("ValueError", text(short))) })
		}, "ValueError: " + short},
		{"Text", func() any { return echo(func(p batch.Pending) batch.Pending { return p.Text(text(short)) }) }, short},
		{"Text that is long", func() any { return echo(func(p batch.Pending) batch.Pending { return p.Text(text(long)) }) }, long},
		{"Text with a NUL", func() any {
			return echo(func(p batch.Pending) batch.Pending { return p.Text(text(long + "\x00" + long)) })
		}, long + "\x00" + long},
		{"texts", func() any {
			var b batch.Batch
			concat := global("calls.concat")
			first := b.Call(concat).Text(text(short)).Text(text(short))
			for range 20 {
				b.Call(concat).Text(text(long)).Text(text(long))
			}
			got(0, b.Do())
			return got(batch.Result[string](first))
		}, short + short},
		{"Result", func() any {
			var b batch.Batch
			p := b.Call(global("calls.box")).Int(7)
			got(0, b.Do())
			return got(batch.Result[*runtimetest.Box](p)).I64()
		}, int64(7)},
		{"Result that is an array", func() any {
			var b batch.Batch
			p := b.Call(global("calls.strings")).Int(3)
			got(0, b.Do())
			return len(got(batch.Result[[]string](p))[2])
		}, 28},
		{"an object of two calls", func() any {
			var b batch.Batch
			f := global("calls.echo")
			x := box(7)
			p, q := b.Call(f).Object(x), b.Call(f).Object(x)
			got(0, b.Do())
			return got(batch.Result[*runtimetest.Box](p)).I64() + got(batch.Result[*runtimetest.Box](q)).I64()
		}, int64(14)},
	})
}
