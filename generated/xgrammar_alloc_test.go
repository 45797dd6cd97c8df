package generated_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestXGrammarAllocations: a step of a model makes nothing on the heap, and a batch of them nothing but what its arrays
// need.
func TestXGrammarAllocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	vocabulary := tvmffi.Of("</s>", "{", "}", `"a"`, ":", "1")
	tokenizer := must[*xgrammar.TokenizerInfo](t)(xgrammar.NewTokenizerInfo(vocabulary, xgrammar.VocabTypeRaw, xgrammar.StopTokenIDs(tvmffi.Of[int64](0))))
	defer tokenizer.Release()
	compiler := must[*xgrammar.GrammarCompiler](t)(xgrammar.NewGrammarCompiler(tokenizer, xgrammar.MaxThreads(1), xgrammar.CacheEnabled(false)))
	defer compiler.Release()
	grammar := must[*xgrammar.CompiledGrammar](t)(compiler.CompileJSONSchema(`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`, xgrammar.AnyWhitespace(false)))
	defer grammar.Release()
	matcher := must[*xgrammar.GrammarMatcher](t)(xgrammar.NewGrammarMatcher(grammar))
	defer matcher.Release()
	mask := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Int32, 1, 1))
	defer mask.Release()
	n := testing.AllocsPerRun(100, func() {
		for _, token := range []int64{1, 3} {
			must[bool](t)(matcher.FillNextTokenBitmask(mask))
			if !must[bool](t)(matcher.AcceptToken(token)) {
				t.Fatalf("token %d is not accepted", token)
			}
		}
		if err := matcher.Rollback(1); err != nil {
			t.Fatal(err)
		}
		if err := matcher.Reset(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	several := must[*tvmffi.Array[*xgrammar.GrammarMatcher]](t)(tvmffi.NewArray(matcher))
	defer several.Release()
	batch := must[*xgrammar.BatchGrammarMatcher](t)(xgrammar.NewBatchGrammarMatcher(1))
	defer batch.Release()
	n = testing.AllocsPerRun(100, func() {
		if err := batch.BatchFillNextTokenBitmask(several, mask); err != nil {
			t.Fatal(err)
		}
	})
	if n > 2 { // the two arrays, in interfaces
		t.Errorf("a batch: %v allocations, want at most 2", n)
	}
}

// must returns a func that returns a value and fails if there is an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}
