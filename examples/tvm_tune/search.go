//go:build bindings

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/target"
)

// A tuning searches for a fast schedule of a module.
type tuning struct {
	ctx           context.Context // ends the search after the batch that runs
	out           io.Writer
	device        *device
	scratch       string // for the libraries of candidates
	module        *ir.IRModule
	cpu           *target.Target
	database      *ms.Database
	built, failed int
	fastest       time.Duration
}

// newTuning describes what is tuned. Its database goes on from the files in dir, which have the names of the Python
// package of TVM.
func newTuning(ctx context.Context, out io.Writer, d *device, scratch, dir string) (*tuning, error) {
	return describe(func() *tuning {
		must(0, os.MkdirAll(dir, 0o755))
		const beginIfMissing, equality = true, "structural"
		database := must(ms.DatabaseJSONDatabase(filepath.Join(dir, "database_workload.json"),
			filepath.Join(dir, "database_tuning_record.json"), beginIfMissing, equality))
		return &tuning{ctx: ctx, out: out, device: d, scratch: scratch, module: must(matmul(d.rows)), cpu: must(thisCPU()),
			database: database, fastest: math.MaxInt64}
	})
}

// taskName is how the database calls what is tuned.
const taskName = "matmul"

// search measures candidates. All that it finds is in the database, also when it returns an error, such as the error of ctx.
func (t *tuning) search(trials int64) error {
	const batch, failures = 8, 100
	_, err := describe(func() int {
		// The rules for plain LLVM. Those that MetaSchedule takes for a processor with VNNI or AVX-512 need
		// intrinsics that the Python package registers.
		space := must(ms.SpaceGeneratorPostOrderApply(nil, must(ms.ScheduleRuleDefaultLLVM()),
			must(ms.PostprocDefaultLLVM()), must(ms.MutatorDefaultLLVM())))
		logger := must(tvmffi.FuncOf(func(level int64, source string, line int64, text string) {})) // must not fail
		strategy := must(ms.SearchStrategyReplayTrace(failures))
		task := must(ms.NewTuneContext(t.module, t.cpu, space, strategy, new(taskName), int64(runtime.NumCPU()), 1, logger))
		must(0, ms.TuneContextInitialize(task))
		callbacks := tvmffi.Of[ms.MeasureCallbackRef](must(ms.MeasureCallbackAddToDatabase()), must(ms.MeasureCallbackPyMeasureCallback(t.measured)))
		return must(0, ms.TaskSchedulerTune(must(ms.TaskSchedulerRoundRobin(logger)), tvmffi.Of[ms.TuneContextRef](task),
			tvmffi.Of[ir.FloatImmRef](must(ir.NewFloatImm(tvmffi.Float64, 1, nil))), trials, trials, batch,
			must(ms.BuilderPyBuilder(t.build)), must(ms.RunnerPyRunner(t.measure)), callbacks, t.database, nil))
	})
	return err
}

// build compiles a batch. A candidate that cannot be compiled has a result that says why: an error of this function would
// end the search.
func (t *tuning) build(inputs *tvmffi.Array[*ms.BuilderInput]) (tvmffi.ArrayLike[ms.BuilderResultRef], error) {
	return describe(func() tvmffi.ArrayLike[ms.BuilderResultRef] {
		var results []ms.BuilderResultRef
		for _, input := range inputs.All() {
			t.built++
			file := filepath.Join(t.scratch, fmt.Sprintf("candidate%d.so", t.built))
			if err := compile(t.ctx, input.Mod(), input.Target(), file); err != nil {
				results = append(results, must(ms.NewBuilderResult(nil, new(err.Error()))))
				continue
			}
			results = append(results, must(ms.NewBuilderResult(&file, nil)))
		}
		return tvmffi.Of(results...)
	})
}

// measure measures a batch, one candidate at a time, so that they do not slow each other down. MetaSchedule gets
// futures, which are done already.
func (t *tuning) measure(inputs *tvmffi.Array[*ms.RunnerInput]) (tvmffi.ArrayLike[ms.RunnerFutureRef], error) {
	return describe(func() tvmffi.ArrayLike[ms.RunnerFutureRef] {
		var futures []ms.RunnerFutureRef
		for _, input := range inputs.All() {
			result := t.one(input.ArtifactPath())
			done := func() (bool, error) { return true, nil }
			futures = append(futures, must(ms.NewRunnerFuture(done, func() (ms.RunnerResultRef, error) { return result, nil })))
		}
		return tvmffi.Of(futures...)
	})
}

// one measures a candidate, inside describe. One that fails has a result that says why.
func (t *tuning) one(file string) *ms.RunnerResult {
	took, err := t.device.measure(t.ctx, file)
	if err != nil {
		t.failed++
		return must(ms.NewRunnerResult(nil, new(err.Error())))
	}
	t.fastest = min(t.fastest, took)
	return must(ms.NewRunnerResult(tvmffi.Of[ir.FloatImmRef](must(ir.NewFloatImm(tvmffi.Float64, took.Seconds(), nil))), nil))
}

// measured is what MetaSchedule calls after each batch. Its error ends the search.
func (t *tuning) measured(*ms.TaskScheduler, int64, *tvmffi.Array[*ms.MeasureCandidate],
	*tvmffi.Array[*ms.BuilderResult], *tvmffi.Array[*ms.RunnerResult]) error {
	fmt.Fprintf(t.out, "%d candidates, %d failed, the fastest takes %v\n", t.built, t.failed, t.fastest)
	return context.Cause(t.ctx)
}

// best applies the schedule of the fastest candidate in the database.
func (t *tuning) best() (*ir.IRModule, error) {
	best, err := ms.DatabaseQueryIRModule(t.database, t.module, t.cpu, taskName)
	if err == nil && best == nil {
		err = fmt.Errorf("the database has no candidate that ran")
	}
	return best, err
}
