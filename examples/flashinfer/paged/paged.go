// Package paged computes attention by FlashInfer's kernels for sequences whose keys and values lie in
// pages: one token of each sequence (decode), or many (prefill). Heads have 128 values of type float16.
package paged

import (
	"errors"
	"fmt"
	"math"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/attention"
)

// HeadSize is the number of values of a head.
const HeadSize = 128

// The sizes of workspaces in bytes: what FlashInfer's own callers give.
const (
	floatBytes = 128 << 20
	intBytes   = 8 << 20
)

// Cache holds keys and values of many sequences in pages on a GPU. Which page belongs to which sequence is for the
// caller to choose. The shape of Keys and Values is [pages, PageSize, Heads, HeadSize].
type Cache struct {
	Keys, Values    *cuda.Memory
	PageSize, Heads int

	keys, values *tvmffi.Tensor
}

// NewCache allocates a cache, whose memory is not initialised. Free ends it.
func NewCache(device cuda.Device, pages, pageSize, heads int) (c *Cache, err error) {
	c = &Cache{PageSize: pageSize, Heads: heads}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Free())
		}
	}()
	bytes := int64(pages) * int64(pageSize) * int64(heads) * HeadSize * 2
	for _, half := range []struct {
		memory **cuda.Memory
		tensor **tvmffi.Tensor
	}{{&c.Keys, &c.keys}, {&c.Values, &c.values}} {
		if *half.memory, err = device.Alloc(bytes); err != nil {
			return nil, err
		}
		if *half.tensor, err = (*half.memory).Tensor(tvmffi.Float16, int64(pages), int64(pageSize), int64(heads), HeadSize); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Free frees the memory. No kernel may use it any more.
func (c *Cache) Free() error { return free(c.Keys, c.Values) }

// Sequence says where the keys and values of a sequence are: Tokens of them in Pages, in this order.
type Sequence struct {
	Pages  []int32
	Tokens int
}

// Planner divides work among the multiprocessors of a GPU, in workspaces of its own. One goroutine uses it at a
// time.
type Planner struct {
	stream *cuda.Stream
	pinned *cuda.Host[byte]
	floats *cuda.Memory
	ints   *cuda.Memory

	pinnedTensor, floatTensor, intTensor *tvmffi.Tensor

	plan *Plan // the newest, whose indices are in the workspaces
}

// NewPlanner makes a planner whose work runs on the stream. Close ends it.
func NewPlanner(device cuda.Device, stream *cuda.Stream) (p *Planner, err error) {
	p = &Planner{stream: stream}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.floats, err = device.Alloc(floatBytes); err != nil {
		return nil, err
	}
	if p.floatTensor, err = p.floats.Tensor(tvmffi.Uint8, floatBytes); err != nil {
		return nil, err
	}
	if p.ints, err = device.Alloc(intBytes); err != nil {
		return nil, err
	}
	if p.intTensor, err = p.ints.Tensor(tvmffi.Uint8, intBytes); err != nil {
		return nil, err
	}
	if p.pinned, err = cuda.AllocHost[byte](device, intBytes); err != nil {
		return nil, err
	}
	// The tensor shares the memory of the driver, which Close frees after the last plan.
	p.pinnedTensor, err = tvmffi.FromSlice(p.pinned.Slice())
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Close waits for the stream and frees the workspaces. The plans end with them.
func (p *Planner) Close() error {
	err := errors.Join(p.idle(), free(p.floats, p.ints))
	if p.pinned != nil {
		err = errors.Join(err, p.pinned.Free())
	}
	return err
}

// idle waits until nothing on the stream uses the plan, and ends it.
func (p *Planner) idle() error {
	err := p.stream.Synchronize()
	if p.plan != nil {
		err = errors.Join(err, p.plan.indices.Free())
		p.plan = nil
	}
	return err
}

// Plan is for all calls with the same sequences, such as those of each layer of a model. It ends when the planner makes
// another plan.
type Plan struct {
	planner     *Planner
	parts       *tvmffi.Array[int64]
	indices     *cuda.Memory
	starts      *tvmffi.Tensor // of the pages of each sequence
	pages       *tvmffi.Tensor
	last        *tvmffi.Tensor // how many tokens are in the last page of each sequence
	tokenStarts *tvmffi.Tensor // of the queries of each sequence; nil for decode
	cache       *Cache
	tokens      int // of the queries
	heads       int // of the queries
}

// PlanDecode plans for one query of each sequence, with so many heads.
func (p *Planner) PlanDecode(cache *Cache, sequences []Sequence, heads int) (*Plan, error) {
	return p.make(cache, sequences, nil, heads)
}

// PlanPrefill plans for queries[i] queries of sequence i, with so many heads. They are its last tokens.
func (p *Planner) PlanPrefill(cache *Cache, sequences []Sequence, queries []int, heads int) (*Plan, error) {
	if len(queries) != len(sequences) {
		return nil, fmt.Errorf("paged: there are %d sequences and queries of %d: give a number for each sequence", len(sequences), len(queries))
	}
	for i, n := range queries {
		if n < 0 || n > sequences[i].Tokens {
			return nil, fmt.Errorf("paged: sequence %d has %d tokens, %d of them cannot be queries", i, sequences[i].Tokens, n)
		}
	}
	return p.make(cache, sequences, queries, heads)
}

func (p *Planner) make(cache *Cache, sequences []Sequence, queries []int, heads int) (plan *Plan, err error) {
	starts, pages, last, err := index(cache, sequences)
	if err != nil {
		return nil, err
	}
	// The workspaces are in use until the kernels of the former plan have ended.
	if err := p.idle(); err != nil {
		return nil, err
	}
	plan = &Plan{planner: p, cache: cache, tokens: len(sequences), heads: heads}
	all := append(append(append([]int32(nil), starts...), last...), pages...)
	tokenStarts := []int32{0}
	for _, n := range queries {
		tokenStarts = append(tokenStarts, tokenStarts[len(tokenStarts)-1]+int32(n))
	}
	if queries != nil {
		plan.tokens = int(tokenStarts[len(queries)])
		all = append(all, tokenStarts...)
	}
	if plan.indices, err = cuda.AllocOf(p.ints.Device(), all); err != nil {
		return nil, err
	}
	p.plan = plan // idle frees the indices
	at := 0
	part := func(n int) (t *tvmffi.Tensor) {
		var m *cuda.Memory
		if err == nil {
			m, err = plan.indices.Part(int64(at)*4, int64(n)*4)
		}
		if err == nil {
			t, err = m.Tensor(tvmffi.Int32, int64(n))
		}
		at += n
		return t
	}
	plan.starts, plan.last, plan.pages = part(len(starts)), part(len(last)), part(len(pages))
	if queries != nil {
		plan.tokenStarts = part(len(tokenStarts))
	}
	if err != nil {
		return nil, err
	}
	return plan, plan.divide(starts, tokenStarts)
}

// divide calls the planning of FlashInfer, with starts on the host.
func (plan *Plan) divide(starts, tokenStarts []int32) error {
	p, size, heads := plan.planner, int64(plan.cache.PageSize), int64(plan.cache.Heads)
	onHost, err := tvmffi.FromSlice(starts)
	if err != nil {
		return err
	}
	tokensOnHost, err := tvmffi.FromSlice(tokenStarts)
	if err != nil {
		return err
	}
	return cuda.WithStream(p.stream, func() (err error) {
		if plan.tokenStarts == nil {
			plan.parts, err = attention.BatchDecodePlan(p.floatTensor, p.intTensor, p.pinnedTensor, onHost, int64(plan.heads), heads, size, false)
		} else {
			plan.parts, err = attention.BatchPrefillPlan(p.floatTensor, p.intTensor, p.pinnedTensor, tokensOnHost, onHost, int64(plan.heads), heads, size, false)
		}
		return err
	})
}

// index lists the starts of the pages of each sequence, the pages, and the lengths of the last ones.
func index(cache *Cache, sequences []Sequence) (starts, pages, last []int32, err error) {
	if len(sequences) == 0 {
		return nil, nil, nil, errors.New("paged: there are no sequences: a plan needs one or more")
	}
	size := cache.PageSize
	most := cache.keys.Shape()[0]
	starts = []int32{0}
	for i, s := range sequences {
		need := (s.Tokens + size - 1) / size
		if s.Tokens <= 0 || len(s.Pages) != need {
			return nil, nil, nil, fmt.Errorf("paged: sequence %d has %d tokens, of which %d go into a page, and %d pages, not %d", i, s.Tokens, size, len(s.Pages), need)
		}
		for _, page := range s.Pages {
			if page < 0 || int64(page) >= most {
				return nil, nil, nil, fmt.Errorf("paged: sequence %d has page %d; the cache has pages 0 to %d", i, page, most-1)
			}
		}
		pages = append(pages, s.Pages...)
		starts = append(starts, int32(len(pages)))
		last = append(last, int32(s.Tokens-(need-1)*size))
	}
	return starts, pages, last, nil
}

// Run queues the attention of q on the stream, into o. Both have the shape [queries, heads, HeadSize] of the
// plan. If causal, a query sees no token after its own, which matters for prefill only.
func (plan *Plan) Run(o, q *tvmffi.Tensor, causal bool) error {
	p := plan.planner
	if p.plan != plan {
		return errors.New("paged: the plan has ended: its planner was closed, or made another one")
	}
	if shape := q.Shape(); len(shape) != 3 || shape[0] != int64(plan.tokens) || shape[1] != int64(plan.heads) {
		return fmt.Errorf("paged: the queries have the shape %v, the plan is for [%d %d %d]", shape, plan.tokens, plan.heads, HeadSize)
	}
	scale := 1 / math.Sqrt(HeadSize)
	return cuda.WithStream(p.stream, func() error {
		if plan.tokenStarts == nil {
			return attention.BatchDecode(p.floatTensor, p.intTensor, plan.parts, q, plan.cache.keys, plan.cache.values,
				plan.starts, plan.pages, plan.last, o, nil, scale)
		}
		return attention.BatchPrefill(p.floatTensor, p.intTensor, plan.parts, q, plan.cache.keys, plan.cache.values,
			plan.tokenStarts, plan.starts, plan.pages, plan.last, o, nil, causal, scale)
	})
}

// free frees what is not nil.
func free(memories ...*cuda.Memory) error {
	var all []error
	for _, m := range memories {
		if m != nil {
			all = append(all, m.Free())
		}
	}
	return errors.Join(all...)
}
