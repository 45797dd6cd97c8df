//go:build bindings

package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	tvmruntime "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/runtime"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
)

// A model is a cost model: it guesses which candidates are fast, so that only these are measured. It
// knows the candidates so far by their features, which a part of TVM computes from their loops.
type model struct {
	features *ms.FeatureExtractor
	random   *rand.Rand
	known    experience
}

// newModel returns a model that knows nothing yet. Its first guesses are random.
func newModel(seed uint64) (*model, error) {
	const buffersPerStore, samples, cacheLine, ofWorkload = 5, 10, 64, false
	features, err := ms.FeatureExtractorPerStoreFeature(buffersPerStore, samples, cacheLine, ofWorkload)
	return &model{features: features, random: rand.New(rand.NewPCG(seed, seed))}, err
}

// object returns m as MetaSchedule takes it.
func (m *model) object() (*ms.CostModel, error) {
	none := func(string) error {
		return errors.New("this model has no file: it learns from the database")
	}
	return ms.CostModelPyCostModel(none, none, m.update, m.predict)
}

// update learns how fast candidates were.
func (m *model) update(ctx *ms.TuneContext, candidates *tvmffi.Array[*ms.MeasureCandidate], results *tvmffi.Array[*ms.RunnerResult]) error {
	vectors, err := m.vectors(ctx, candidates)
	if err != nil {
		return err
	}
	for i, result := range results.All() {
		m.known.add(vectors[i], median(result))
	}
	return nil
}

// predict writes a score for each candidate to scores, which is an array of C++ doubles. A larger score
// is a faster candidate.
func (m *model) predict(ctx *ms.TuneContext, candidates *tvmffi.Array[*ms.MeasureCandidate], scores tvmffi.Pointer) error {
	vectors, err := m.vectors(ctx, candidates)
	if err != nil {
		return err
	}
	guesses := make([]float64, len(vectors))
	for i, vector := range vectors {
		guesses[i] = m.random.Float64()
		if m.known.len() > 0 {
			guesses[i] = m.known.score(vector)
		}
	}
	return store(guesses, scores)
}

// store copies numbers to the memory at address by a function of TVM.
func store(numbers []float64, address tvmffi.Pointer) error {
	t, err := tvmffi.FromSlice(numbers)
	if err != nil {
		return err
	}
	defer t.Release()
	return tvmruntime.TVMTensorCopyToBytes(t, address, t.NBytes())
}

// vectors returns the features of each candidate, summed over the stores to memory in its loops.
func (m *model) vectors(ctx *ms.TuneContext, candidates *tvmffi.Array[*ms.MeasureCandidate]) ([][]float64, error) {
	tensors, err := ms.FeatureExtractorExtractFrom(m.features, ctx, candidates)
	if err != nil {
		return nil, fmt.Errorf("features of the candidates: %w", err)
	}
	defer tensors.Release()
	vectors := make([][]float64, tensors.Len())
	for i, tensor := range tensors.All() {
		stores, err := tvmffi.ReadSlice[float64](tensor)
		if err != nil {
			return nil, err
		}
		vectors[i] = make([]float64, tensor.Size(1))
		for j, x := range stores {
			vectors[i][j%len(vectors[i])] += x
		}
	}
	return vectors, nil
}

// median is the time of one call in seconds, or infinite if the candidate failed.
func median(result *ms.RunnerResult) float64 {
	measured := result.RunSecs()
	if measured == nil || measured.Len() == 0 {
		return math.Inf(1)
	}
	seconds := make([]float64, measured.Len())
	for i, s := range measured.All() {
		seconds[i] = s.Value()
	}
	return middle(seconds)
}
