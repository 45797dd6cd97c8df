//go:build bindings

package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/instrument"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

// passTime is how long one pass took, without the passes that it ran itself.
type passTime struct {
	name  string
	spent time.Duration
}

// timePasses calls run and returns the passes that the compiler ran meanwhile, in that order. The
// compiler calls the functions of Go below around each pass.
func timePasses(run func() error) (times []passTime, err error) {
	var started []time.Time // of the passes that have not ended: a pass may run others
	before := func(*ir.IRModule, *transform.PassInfo) error {
		started = append(started, time.Now())
		return nil
	}
	after := func(_ *ir.IRModule, info *transform.PassInfo) error {
		last := len(started) - 1
		spent := time.Since(started[last])
		if started = started[:last]; last > 0 {
			started[last-1] = started[last-1].Add(spent)
		}
		times = append(times, passTime{name: info.Name(), spent: spent})
		return nil
	}
	hook, err := instrument.NewPassInstrument("go.times", nil, nil, nil, before, after)
	if err != nil {
		return nil, err
	}
	defer hook.Release()
	const optimise = 2
	hooks := tvmffi.Of[transform.PassInstrumentRef](hook)
	around, err := transform.NewPassContext(optimise, nil, nil, hooks, nil)
	if err != nil {
		return nil, err
	}
	defer around.Release()

	runtime.LockOSThread() // each thread has a current context
	defer runtime.UnlockOSThread()
	if err := transform.EnterPassContext(around); err != nil {
		return nil, err
	}
	err = run()
	return times, cmp.Or(err, transform.ExitPassContext(around))
}

// slowest prints the time of all passes and the few that took most of it.
func slowest(w io.Writer, times []passTime) {
	const few = 3
	var sum time.Duration
	for _, t := range times {
		sum += t.spent
	}
	fmt.Fprintf(w, "Lowering took %d passes and %v. The slowest are:\n\n", len(times), sum.Round(10*time.Microsecond))
	sorted := slices.SortedFunc(slices.Values(times), func(a, b passTime) int { return cmp.Compare(b.spent, a.spent) })
	for _, t := range sorted[:min(few, len(sorted))] {
		fmt.Fprintf(w, "%8v  %s\n", t.spent.Round(10*time.Microsecond), t.name)
	}
	fmt.Fprintln(w)
}
