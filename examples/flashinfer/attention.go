package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/attention"
	"github.com/tvmffi-go/tvmffi/examples/flashinfer/paged"
)

// batch is a small cache with sequences, and queries with 4 heads for each 2 of the cache.
type batch struct {
	keys, values, queries []tvmffi.F16 // of all pages, and of the tokens of queries
	sequences             []paged.Sequence
	counts                []int // of queries, for each sequence
	causal                bool
}

const (
	queryHeads, cacheHeads = 4, 2
	cachePages, pageTokens = 10, 16
	tolerance              = 4e-3 // of values below 1, which float16 holds to 5e-4
)

// newBatch makes one of numbers that float16 holds exactly. The pages of the sequences are in disorder.
func newBatch(counts []int, causal bool) *batch {
	b := &batch{counts: counts, causal: causal, sequences: []paged.Sequence{
		{Pages: []int32{7}, Tokens: 5}, {Pages: []int32{9, 0, 4}, Tokens: 33}, {Pages: []int32{1, 8, 3, 2, 6}, Tokens: 80},
	}}
	state := uint32(1)
	numbers := func(tokens, heads int) []tvmffi.F16 {
		list := make([]tvmffi.F16, tokens*heads*paged.HeadSize)
		for i := range list {
			state = state*1664525 + 1013904223
			list[i] = tvmffi.F16(tvmffi.Float16.FromFloat32(float32(int(state>>24)-128) / 128))
		}
		return list
	}
	b.keys, b.values = numbers(cachePages*pageTokens, cacheHeads), numbers(cachePages*pageTokens, cacheHeads)
	tokens := 0
	for _, n := range counts {
		tokens += n
	}
	b.queries = numbers(tokens, queryHeads)
	return b
}

// reference computes the attention of the queries by its definition, in float64.
func (b *batch) reference() []float64 {
	const size = paged.HeadSize
	var out []float64
	row := 0
	for s, sequence := range b.sequences {
		for i := range b.counts[s] {
			seen := sequence.Tokens
			if b.causal {
				seen -= b.counts[s] - 1 - i
			}
			for head := range queryHeads {
				query := b.queries[(row*queryHeads+head)*size:][:size]
				at := func(token int) int { // of a key and value in the pages
					place := int(sequence.Pages[token/pageTokens])*pageTokens + token%pageTokens
					return (place*cacheHeads + head*cacheHeads/queryHeads) * size
				}
				out = append(out, attend(query, b.keys, b.values, seen, at)...)
			}
			row++
		}
	}
	return out
}

// attend computes the attention of one query.
func attend(query, keys, values []tvmffi.F16, tokens int, at func(token int) int) []float64 {
	out := make([]float64, len(query))
	sum := 0.0
	for token := range tokens {
		score := 0.0
		for i, q := range query {
			score += float64(q.Float32()) * float64(keys[at(token)+i].Float32())
		}
		weight := math.Exp(score / math.Sqrt(float64(len(query))))
		sum += weight
		for i := range out {
			out[i] += weight * float64(values[at(token)+i].Float32())
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// run computes the attention on the first GPU, by the kernels of decode or of prefill.
func (b *batch) run(decode bool) (result []float64, err error) {
	stream, err := cuda.Device(0).NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	cache, err := paged.NewCache(0, cachePages, pageTokens, cacheHeads)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cache.Free()) }()
	if err := errors.Join(cuda.CopyIn(cache.Keys, b.keys), cuda.CopyIn(cache.Values, b.values)); err != nil {
		return nil, err
	}
	queries, err := cuda.AllocOf(0, b.queries)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, queries.Free()) }()
	output, err := cuda.Device(0).Alloc(queries.Size())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, output.Free()) }()
	planner, err := paged.NewPlanner(0, stream)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, planner.Close()) }()

	var plan *paged.Plan
	if decode {
		plan, err = planner.PlanDecode(cache, b.sequences, queryHeads)
	} else {
		plan, err = planner.PlanPrefill(cache, b.sequences, b.counts, queryHeads)
	}
	if err != nil {
		return nil, err
	}
	tokens := int64(len(b.queries) / queryHeads / paged.HeadSize)
	q, err := queries.Tensor(tvmffi.Float16, tokens, queryHeads, paged.HeadSize)
	if err != nil {
		return nil, err
	}
	o, err := output.Tensor(tvmffi.Float16, tokens, queryHeads, paged.HeadSize)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(plan.Run(o, q, b.causal), stream.Synchronize()); err != nil {
		return nil, err
	}
	short := make([]tvmffi.F16, len(b.queries))
	if err := cuda.CopyOut(short, output); err != nil {
		return nil, err
	}
	for _, v := range short {
		result = append(result, float64(v.Float32()))
	}
	return result, nil
}

// resultsAttention computes batches on the first GPU, and compares them with the definition.
func resultsAttention(out io.Writer) error {
	if err := cuda.Available(); err != nil {
		return err
	}
	for _, kind := range []struct {
		name   string
		decode bool
		batch  *batch
	}{
		{"decode", true, newBatch([]int{1, 1, 1}, false)},
		{"prefill", false, newBatch([]int{5, 20, 41}, false)},
		{"causal prefill", false, newBatch([]int{5, 20, 41}, true)},
	} {
		got, err := kind.batch.run(kind.decode)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		most := 0.0
		for i, want := range kind.batch.reference() {
			most = max(most, math.Abs(got[i]-want))
		}
		fmt.Fprintf(out, "%s: %d values differ from the definition by %.2g at most\n", kind.name, len(got), most)
		if !(most <= tolerance) {
			return fmt.Errorf("%s: a value differs by %g, more than %g", kind.name, most, tolerance)
		}
	}
	return nil
}

func refusedAttention() ([]attempt, error) {
	const size, queries, sequencesHere = paged.HeadSize, 5, 3
	q, cache := onGPU(tvmffi.Float16, sequencesHere, queryHeads, size), onGPU(tvmffi.Float16, cachePages, pageTokens, cacheHeads, size)
	starts, indices, last := onGPU(tvmffi.Int32, sequencesHere+1), onGPU(tvmffi.Int32, cachePages), onGPU(tvmffi.Int32, sequencesHere)
	floats, ints := onGPU(tvmffi.Uint8, 1<<20), onGPU(tvmffi.Uint8, 1<<20)
	host, err := tvmffi.FromSlice(make([]byte, 1<<20))
	if err != nil {
		return nil, err
	}
	wrong, err := tvmffi.FromSlice([]int32{0, 2, 1})
	if err != nil {
		return nil, err
	}
	good, err := tvmffi.FromSlice([]int32{0, 1, 2})
	if err != nil {
		return nil, err
	}
	plan := tvmffi.Of[int64](make([]int64, 10)...)
	decoded := func(q, pages, starts, o *tvmffi.Tensor) error {
		return attention.BatchDecode(floats, ints, plan, q, pages, pages, starts, indices, last, o, nil, 1)
	}
	_, unordered := attention.BatchDecodePlan(floats, ints, host, wrong, queryHeads, cacheHeads, pageTokens, false)
	_, notPinned := attention.BatchDecodePlan(floats, ints, ints, wrong, queryHeads, cacheHeads, pageTokens, false)
	_, heads := attention.BatchPrefillPlan(floats, ints, host, good, good, 3, 2, pageTokens, false)
	k := onGPU(tvmffi.Float16, 7, cacheHeads, size)
	return []attempt{
		{"no tensor", decoded(nil, cache, starts, q)},
		{"a tensor of the host", decoded(host, cache, starts, q)},
		{"two devices", decoded(q, onDevice(1, tvmffi.Float16, cachePages, pageTokens, cacheHeads, size), starts, q)},
		{"other elements", decoded(q, onGPU(tvmffi.BFloat16, cachePages, pageTokens, cacheHeads, size), starts, q)},
		{"other size of heads", decoded(onGPU(tvmffi.Float16, sequencesHere, queryHeads, 64), cache, starts, q)},
		{"other number of heads", decoded(onGPU(tvmffi.Float16, sequencesHere, 3, size), cache, starts, q)},
		{"other number of sequences", decoded(q, cache, last, q)},
		{"other indices", decoded(q, cache, onGPU(tvmffi.Int64, sequencesHere+1), q)},
		{"other output", decoded(q, cache, starts, onGPU(tvmffi.Float16, queries, queryHeads, size))},
		{"starts that decrease", unordered},
		{"a workspace on the device", notPinned},
		{"heads that do not divide", heads},
		{"a small workspace", attention.SinglePrefill(onGPU(tvmffi.Float16, queries, queryHeads, size), k, k, floats, q, nil, true, 1)},
		{"other values than keys", attention.SingleDecode(onGPU(tvmffi.Float16, queryHeads, size), k, onGPU(tvmffi.Float16, 8, cacheHeads, size), floats, q, nil, 1)},
	}, nil
}
