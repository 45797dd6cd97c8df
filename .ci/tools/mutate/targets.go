package main

import (
	"cmp"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
)

// target is a package whose code is changed. Its tests come first in tests, then those of
// its direct dependents, the fast ones before the slow ones: the first that fails ends the
// matter.
type target struct {
	dir   string
	tests []string
	// skip names the kinds of change that another check is for.
	skip []string
}

// alive is checked by a mode of .ci/matrix that collects at every call.
var alive = []string{"keepalive"}

var targets = []target{
	{"internal/core", []string{"internal/core", "runtime", "runtime/define", "runtime/structural", "reflection", "internal/ccall", "internal/objects", "runtime/batch", "runtime/jsongraph", "runtime/env", "runtime/memstat"}, alive},
	{"internal/objects", []string{"internal/objects", "internal/core", "internal/ccall", "runtime/memstat", "runtime/define", "runtime/structural", "runtime", "runtime/jsongraph"}, alive},
	{"internal/ccall", []string{"internal/ccall", "internal/core", "runtime", "runtime/define", "internal/objects", "runtime/env"}, nil},
	{"internal/capi", []string{"internal/core", "internal/objects", "reflection", "runtime/define", "runtime"}, nil},
	{"internal/codec", []string{"runtime/define", "runtime", "runtime/structural", "runtime/batch", "reflection"}, nil},
	{"internal/failure", []string{"internal/core", "runtime", "runtime/define", "reflection"}, nil},
	{"runtime", []string{"runtime", "runtime/define", "runtime/structural", "runtime/jsongraph", "runtime/batch", "runtime/env", "runtime/memstat", "reflection", "cuda/kernelrt"}, nil},
	{"runtime/define", []string{"runtime/define", "runtime", "reflection"}, nil},
	{"runtime/structural", []string{"runtime/structural", "runtime/define", "runtime"}, nil},
	{"runtime/jsongraph", []string{"runtime/jsongraph", "runtime"}, nil},
	{"runtime/batch", []string{"runtime/batch", "runtime"}, nil},
	{"reflection", []string{"reflection", "cmd/tvmffi-bind/internal/probe"}, nil},
	{"schema", []string{"schema", "gen/internal/types", "reflection", "gen", "cmd/tvmffi-bind/internal/project", "cmd/tvmffi-bind/internal/report"}, nil},
	{"gen/internal/plan", []string{"gen/internal/plan", "gen"}, nil},
	{"gen/internal/place", []string{"gen/internal/place", "gen"}, nil},
	{"gen/internal/types", []string{"gen/internal/types", "gen"}, nil},
	{"gen/internal/names", []string{"gen/internal/names", "gen"}, nil},
	{"gen/internal/docs", []string{"gen/internal/docs", "gen"}, nil},
	{"gen/internal/classify", []string{"gen"}, nil},
	{"gen/internal/members", []string{"gen"}, nil},
	{"gen/internal/kernel", []string{"gen/internal/kernel", "gen"}, nil},
	{"gen/internal/face", []string{"gen/internal/face", "gen"}, nil},
	{"gen/internal/pyface", []string{"gen/internal/pyface", "gen"}, nil},
	{"cmd/tvmffi-bind/internal/console", []string{"cmd/tvmffi-bind/internal/console", "cmd/tvmffi-bind"}, nil},
	{"cmd/tvmffi-bind/internal/report", []string{"cmd/tvmffi-bind/internal/report", "cmd/tvmffi-bind"}, nil},
	{"cuda/spec", []string{"cuda/spec", "cuda/spec/check", "gen/internal/kernel", "cuda/kernelrt", "gen"}, nil},
	{"cuda/spec/check", []string{"cuda/spec/check", "cuda/kernelrt"}, nil},
	{"cuda/spec/run", []string{"cuda/spec/run", "cuda/spec/check", "cuda/kernelrt", "cuda/kernelrt/internal/testkernels"}, nil},
	{"cuda/kernelrt", []string{"cuda/kernelrt", "cuda/kernelrt/internal/testkernels"}, nil},
}

// inOrder returns the mutants in the order in which they are tried: the kinds take turns,
// and the places within a kind are shuffled by the seed.
func inOrder(dir string, seed uint64, all []*mutant) []*mutant {
	h := fnv.New64a()
	io.WriteString(h, dir)
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	kinds := map[string][]*mutant{}
	var names []string
	for _, m := range all {
		if kinds[m.Kind] == nil {
			names = append(names, m.Kind)
		}
		kinds[m.Kind] = append(kinds[m.Kind], m)
	}
	slices.SortFunc(names, cmp.Compare)
	for _, k := range names {
		r.Shuffle(len(kinds[k]), func(i, j int) { kinds[k][i], kinds[k][j] = kinds[k][j], kinds[k][i] })
	}
	var ordered []*mutant
	for i := 0; len(ordered) < len(all); i++ {
		for _, k := range names {
			if i < len(kinds[k]) {
				ordered = append(ordered, kinds[k][i])
			}
		}
	}
	return ordered
}
