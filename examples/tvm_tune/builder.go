//go:build bindings

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/target"
)

// A builder compiles the candidates of MetaSchedule to shared libraries.
type builder struct {
	ctx     context.Context // ends every compilation
	dir     string          // where the libraries go
	workers int             // how many compile at a time
	limit   time.Duration   // for one candidate
	compile func(ctx context.Context, m *ir.IRModule, cpu *target.Target, file string) error

	count int // of candidates so far
}

// object returns b as MetaSchedule takes it.
func (b *builder) object() (*ms.Builder, error) { return ms.BuilderPyBuilder(b.build) }

// build compiles one batch. A candidate that cannot be compiled has a result that says why; the others
// are not affected.
func (b *builder) build(inputs *tvmffi.Array[*ms.BuilderInput]) (tvmffi.ArrayLike[ms.BuilderResultRef], error) {
	files, errs := make([]string, inputs.Len()), make([]error, inputs.Len())
	turns := make(chan struct{}, b.workers)
	var work sync.WaitGroup
	for i, input := range inputs.All() {
		// The input ends with this step of the loop. The module and the target are references of our own.
		m, cpu := input.Mod(), input.Target()
		b.count++
		files[i] = filepath.Join(b.dir, fmt.Sprintf("candidate%d.so", b.count))
		turns <- struct{}{}
		work.Go(func() {
			errs[i] = b.one(m, cpu, files[i])
			<-turns
		})
	}
	work.Wait()
	if err := context.Cause(b.ctx); err != nil {
		return nil, err
	}
	results := make([]ms.BuilderResultRef, len(files))
	for i, file := range files {
		var err error
		if results[i], err = buildResult(file, errs[i]); err != nil {
			return nil, err
		}
	}
	return tvmffi.Of(results...), nil
}

// one compiles one candidate. A compilation that exceeds the limit goes on until TVM returns, because
// native code cannot be stopped; its result is not used.
func (b *builder) one(m *ir.IRModule, cpu *target.Target, file string) error {
	ctx, cancel := context.WithTimeoutCause(b.ctx, b.limit, fmt.Errorf("compiling took more than %v, the -limit", b.limit))
	done := make(chan error, 1)
	go func() {
		defer cancel()
		defer m.Release()
		defer cpu.Release()
		done <- b.compile(ctx, m, cpu, file)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// buildResult is what MetaSchedule learns of a candidate.
func buildResult(file string, err error) (ms.BuilderResultRef, error) {
	if err != nil {
		text := err.Error()
		return ms.NewBuilderResult(nil, &text)
	}
	return ms.NewBuilderResult(&file, nil)
}
