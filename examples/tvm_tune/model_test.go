//go:build bindings

package main

import (
	"math"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/schedule"
)

func TestExperience(t *testing.T) {
	var e experience
	e.add([]float64{1, 7, 0}, 0.5)
	if got := e.score([]float64{3, 7, 0}); got != 1 {
		t.Errorf("like the only one known: %v, want 1", got)
	}
	e.add([]float64{2, 7, 0}, 0.25)
	e.add([]float64{9, 7, 0}, math.Inf(1))
	fast, slow, failed := e.score([]float64{2.1, 7, 0}), e.score([]float64{1.1, 7, 0}), e.score([]float64{8.9, 7, 0})
	if !(fast > slow && slow > failed && failed >= 0 && fast <= 1) {
		t.Errorf("like the fastest %v, like the slower one %v, like the failed one %v", fast, slow, failed)
	}
	if got := e.score([]float64{2, 7, 1e6}); math.IsNaN(got) {
		t.Error("a feature that was the same everywhere gives no number")
	}
}

func TestExperience_nothingRan(t *testing.T) {
	var e experience
	e.add([]float64{1}, math.Inf(1))
	e.add([]float64{2}, math.Inf(1))
	if got := e.score([]float64{1}); got != 0 {
		t.Errorf("a score of %v, want 0", got)
	}
}

// The first scores are random. Later the model prefers what resembles the faster candidate later.
func TestModel(t *testing.T) {
	_, err := describe(func() struct{} {
		small, large := must(matmul(16)), must(matmul(512))
		task := must(ms.NewTuneContext(small, must(thisCPU()), nil, nil, nil, 1, 1, nil))
		candidates := tvmffi.Of[ms.MeasureCandidateRef](candidate(small), candidate(large))
		m := must(must(newModel(1)).object())

		scores := predict(m, task, candidates)
		if !(scores[0] > 0 && scores[0] < 1 && scores[1] > 0 && scores[1] < 1 && scores[0] != scores[1]) {
			t.Errorf("the first scores are %v, want random ones", scores)
		}
		for _, seconds := range [][2]float64{{1e-6, 1e-3}, {1e-2, 1e-9}, {1e-2, 1e-9}} {
			m = must(must(newModel(1)).object())
			must(0, ms.CostModelUpdate(m, task, candidates, tvmffi.Of[ms.RunnerResultRef](took(seconds[0]), took(seconds[1]))))
			if scores := predict(m, task, candidates); (scores[0] > scores[1]) != (seconds[0] < seconds[1]) {
				t.Errorf("the scores of candidates that took %v s are %v", seconds, scores)
			}
		}
		return struct{}{}
	})
	if err != nil {
		t.Error(err)
	}
}

// predict asks the model as the search of TVM does: for an array in native memory.
func predict(m *ms.CostModel, task *ms.TuneContext, candidates tvmffi.Values[ms.MeasureCandidateRef]) []float64 {
	scores := must(tvmffi.NewTensor(tvmffi.Float64, 2))
	defer scores.Release()
	must(0, ms.CostModelPredict(m, task, candidates, scores.DataPointer()))
	return must(tvmffi.ReadSlice[float64](scores))
}

func candidate(m *ir.IRModule) *ms.MeasureCandidate {
	s := must(schedule.NewTraced(m, 1, 0, 0, true))
	return must(ms.NewMeasureCandidate(s, must(ms.ArgInfoFromEntryFunc(m, true))))
}

func took(seconds float64) *ms.RunnerResult {
	return must(ms.NewRunnerResult(tvmffi.Of[ir.FloatImmRef](must(ir.NewFloatImm(tvmffi.Float64, seconds, nil))), nil))
}
