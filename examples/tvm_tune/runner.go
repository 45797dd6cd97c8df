//go:build bindings

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
)

// A runner measures the candidates that a builder compiled, one at a time, so that they do not slow
// each other down.
type runner struct {
	ctx     context.Context // ends the measuring
	measure func(ctx context.Context, file string, arguments []tensorType) ([]float64, error)
}

// tensorType says what one argument of a kernel is.
type tensorType struct {
	dtype tvmffi.DataType
	shape []int64
}

// object returns r as MetaSchedule takes it.
func (r *runner) object() (*ms.Runner, error) { return ms.RunnerPyRunner(r.run) }

// trial is one candidate that runs, has run, or waits.
type trial struct {
	file      string
	arguments []tensorType

	ready   chan struct{} // closed when the fields below hold
	seconds []float64
	err     error
}

// run starts to measure one batch, and returns at once. MetaSchedule waits for the results.
func (r *runner) run(inputs *tvmffi.Array[*ms.RunnerInput]) (tvmffi.ArrayLike[ms.RunnerFutureRef], error) {
	var trials []*trial
	var futures []ms.RunnerFutureRef
	for _, input := range inputs.All() {
		arguments, err := tensorTypes(input.ArgsInfo())
		t := &trial{file: input.ArtifactPath(), arguments: arguments, ready: make(chan struct{}), err: err}
		future, err := ms.NewRunnerFuture(t.done, t.result)
		if err != nil {
			return nil, err
		}
		trials, futures = append(trials, t), append(futures, future)
	}
	go func() {
		for _, t := range trials {
			r.measureOne(t)
		}
	}()
	return tvmffi.Of(futures...), nil
}

// measureOne measures a candidate and removes its library.
func (r *runner) measureOne(t *trial) {
	defer close(t.ready)
	defer os.Remove(t.file)
	if t.err == nil {
		t.err = context.Cause(r.ctx)
	}
	if t.err == nil {
		t.seconds, t.err = r.measure(r.ctx, t.file, t.arguments)
	}
}

// done reports whether the candidate has run.
func (t *trial) done() (bool, error) {
	select {
	case <-t.ready:
		return true, nil
	default:
		return false, nil
	}
}

// result waits until the candidate has run. One that failed has a result that says why. If the device is
// gone, that is not the fault of the candidate, and the error ends the search.
func (t *trial) result() (ms.RunnerResultRef, error) {
	<-t.ready
	if gone := (*unreachable)(nil); errors.As(t.err, &gone) {
		return nil, t.err
	}
	if t.err != nil {
		text := t.err.Error()
		return ms.NewRunnerResult(nil, &text)
	}
	return describe(func() *ms.RunnerResult {
		var seconds []ir.FloatImmRef
		for _, s := range t.seconds {
			seconds = append(seconds, must(ir.NewFloatImm(tvmffi.Float64, s, nil)))
		}
		return must(ms.NewRunnerResult(tvmffi.Of(seconds...), nil))
	})
}

// tensorTypes reads what MetaSchedule knows of the arguments of a kernel.
func tensorTypes(arguments *tvmffi.Array[*ms.ArgInfo]) (types []tensorType, err error) {
	for _, argument := range arguments.All() {
		info, ok := tvmffi.Cast[*ms.TensorInfo](argument)
		if !ok {
			return nil, fmt.Errorf("the argument %v is not a tensor", argument)
		}
		types = append(types, tensorType{dtype: info.Dtype(), shape: info.Shape().Slice()})
	}
	return types, nil
}
