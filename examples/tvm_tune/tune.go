//go:build bindings

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/target"
)

// A tuning searches for a fast schedule of a module.
type tuning struct {
	ctx    context.Context // ends the search after what is being measured
	module *ir.IRModule
	cpu    *target.Target
	trials int   // how many candidates are measured
	batch  int   // how many are compiled and measured before the search learns from them
	seed   int64 // of the search, 0 or larger
	dir    string
	out    io.Writer

	database *ms.Database
	add      *ms.MeasureCallback // adds results to the database
	progress *progress
}

// The files of the database, with the names that the Python package of TVM uses.
const (
	workloadFile = "database_workload.json"
	recordFile   = "database_tuning_record.json"
	logFile      = "tune.log"
)

// taskName is how the log calls what is tuned.
const taskName = "matmul"

// newTuning describes the product that the options ask for. Its database goes on from what the folder holds.
func newTuning(ctx context.Context, o options) (*tuning, error) {
	if o.rows < 1 || o.trials < 1 || o.batch < 1 || o.seed < 0 {
		return nil, fmt.Errorf("-n %d, -trials %d and -batch %d must be 1 or more, -seed %d 0 or more", o.rows, o.trials, o.batch, o.seed)
	}
	t := &tuning{ctx: ctx, trials: o.trials, batch: o.batch, seed: o.seed, dir: o.dir, out: o.out}
	var err error
	if t.module, err = matmul(o.rows); err != nil {
		return nil, err
	}
	if t.cpu, err = thisCPU(); err != nil {
		return nil, err
	}
	if t.database, err = openDatabase(o.dir); err != nil {
		return nil, err
	}
	n := float64(o.rows)
	t.progress = &progress{out: o.out, trials: o.trials, flop: 2 * n * n * n}
	return t, nil
}

// openDatabase opens the database in dir, or begins one.
func openDatabase(dir string) (*ms.Database, error) {
	const beginIfMissing, equality = true, "structural"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return ms.DatabaseJSONDatabase(filepath.Join(dir, workloadFile), filepath.Join(dir, recordFile), beginIfMissing, equality)
}

// run searches. All that it finds is in the database, also when it returns an error: that of ctx, for
// example.
func (t *tuning) run(b *builder, r *runner) (err error) {
	logger, closeLog, err := t.logger()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	t.progress.begin()
	_, err = describe(func() struct{} {
		t.add = must(ms.MeasureCallbackAddToDatabase())
		callbacks := tvmffi.Of[ms.MeasureCallbackRef](
			must(ms.MeasureCallbackPyMeasureCallback(t.measured)), must(ms.MeasureCallbackUpdateCostModel()))
		tasks := tvmffi.Of[ms.TuneContextRef](must(t.task(logger)))
		weights := tvmffi.Of[ir.FloatImmRef](must(ir.NewFloatImm(tvmffi.Float64, 1, nil)))
		guess := must(must(newModel(uint64(t.seed))).object())
		scheduler := must(ms.TaskSchedulerRoundRobin(logger))
		trials, batch := int64(t.trials), int64(t.batch)
		return must(struct{}{}, ms.TaskSchedulerTune(scheduler, tasks, weights, trials, trials, batch,
			must(b.object()), must(r.object()), callbacks, t.database, guess))
	})
	return err
}

// task says what is tuned, over which space of schedules, and how the search walks through it.
func (t *tuning) task(logger *tvmffi.Function) (*ms.TuneContext, error) {
	const (
		population, measuredShare, unmeasured, failures = 64, 0.2, 16, 5
		generations, mutations, retries, surprises      = 2, 0.85, 10, 0.1
	)
	return describe(func() *ms.TuneContext {
		// The rules for plain LLVM. Those that MetaSchedule takes for a processor with VNNI or AVX-512 need
		// intrinsics that the Python package registers.
		space := must(ms.SpaceGeneratorPostOrderApply(nil, must(ms.ScheduleRuleDefaultLLVM()),
			must(ms.PostprocDefaultLLVM()), must(ms.MutatorDefaultLLVM())))
		search := must(ms.SearchStrategyEvolutionarySearch(population, measuredShare, unmeasured, failures,
			generations, mutations, retries, surprises))
		name := taskName
		task := must(ms.NewTuneContext(t.module, t.cpu, space, search, &name, int64(runtime.NumCPU()), t.seed, logger))
		return must(task, ms.TuneContextInitialize(task))
	})
}

// measured is what MetaSchedule calls after each batch. Its error ends the search.
func (t *tuning) measured(scheduler *ms.TaskScheduler, task int64, candidates *tvmffi.Array[*ms.MeasureCandidate],
	builds *tvmffi.Array[*ms.BuilderResult], results *tvmffi.Array[*ms.RunnerResult]) error {
	stopped := context.Cause(t.ctx)
	var c []ms.MeasureCandidateRef
	var b []ms.BuilderResultRef
	var r []ms.RunnerResultRef
	for i := range results.Len() {
		result := results.At(i)
		if stopped != nil && result.RunSecs() == nil {
			continue // it did not fail: it has not run
		}
		c, b, r = append(c, candidates.At(i)), append(b, builds.At(i)), append(r, result)
		t.progress.count(result)
	}
	t.progress.print()
	add := ms.MeasureCallbackApply(t.add, scheduler, task, tvmffi.Of(c...), tvmffi.Of(b...), tvmffi.Of(r...))
	return errors.Join(add, stopped)
}

// logger returns a function that writes what TVM reports, such as the code of each candidate that failed,
// to a file. TVM calls it while C++ destructors run, so it must not fail.
func (t *tuning) logger() (logger *tvmffi.Function, closeLog func() error, err error) {
	file, err := os.OpenFile(filepath.Join(t.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	lines := log.New(file, "", log.LstdFlags)
	logger, err = tvmffi.FuncOf(func(level int64, source string, line int64, text string) {
		lines.Printf("%s:%d: %s", filepath.Base(source), line, text)
	})
	return logger, file.Close, err
}

// best applies the schedule of the fastest candidate in the database.
func (t *tuning) best() (*ir.IRModule, error) {
	best, err := ms.DatabaseQueryIRModule(t.database, t.module, t.cpu, taskName)
	if err != nil {
		return nil, err
	}
	if best == nil {
		return nil, fmt.Errorf("the database in %s has no candidate that ran", t.dir)
	}
	return best, nil
}
