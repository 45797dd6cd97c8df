package main

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// words returns the words of a file.
func words(file string) []string {
	return strings.Fields(string(must(os.ReadFile(file))))
}

// grammar has the items of XGrammar. An operation handles every token of the document.
func grammar(data, library string) {
	check(xgrammar.Load(tvmffi.WithFile(library)))
	var vocabulary []string
	for _, line := range words(filepath.Join(data, "vocabulary.hex")) {
		vocabulary = append(vocabulary, string(must(hex.DecodeString(line))))
	}
	var document []int64
	for _, word := range words(filepath.Join(data, "document.txt")) {
		document = append(document, must(strconv.ParseInt(word, 10, 64)))
	}
	schema := string(must(os.ReadFile(filepath.Join(data, "schema.json"))))

	tokenizer := must(xgrammar.NewTokenizerInfo(must(tvmffi.NewArray(vocabulary...)), xgrammar.VocabTypeRaw, xgrammar.StopTokenIDs(tvmffi.Of[int64](0))))
	compiler := must(xgrammar.NewGrammarCompiler(tokenizer, xgrammar.MaxThreads(1), xgrammar.CacheEnabled(false)))
	compiled := func() *xgrammar.CompiledGrammar {
		return must(compiler.CompileJSONSchema(schema))
	}
	item("xg_compile", func(n int) {
		for range n {
			compiled().Release()
		}
	})

	matching(must(xgrammar.NewGrammarMatcher(compiled())), document, int64(len(vocabulary)))
}

// matching has the items of a matcher.
func matching(matcher *xgrammar.GrammarMatcher, document []int64, vocabulary int64) {
	mask := must(tvmffi.NewTensor(tvmffi.Int32, 1, (vocabulary+31)/32))
	accept := func(token int64) {
		if !must(matcher.AcceptToken(token)) {
			panic("the schema does not allow the document")
		}
	}
	item("xg_accept", func(n int) {
		for range n {
			for _, token := range document {
				accept(token)
			}
			check(matcher.Reset())
		}
	})
	var positions []*xgrammar.GrammarMatcher
	for _, token := range document {
		positions = append(positions, must(matcher.Fork()))
		accept(token)
	}
	check(matcher.Reset())
	item("xg_mask", func(n int) {
		for range n {
			for _, at := range positions {
				must(at.FillNextTokenBitmask(mask))
			}
		}
	})
	item("xg_step", func(n int) {
		for range n {
			for _, token := range document {
				must(matcher.FillNextTokenBitmask(mask))
				accept(token)
			}
			check(matcher.Reset())
		}
	})
	several(matcher, document, vocabulary)
}

// texts is how many texts a batch matcher follows.
const texts = 16

// several has the item of a batch matcher, which handles a token of each text in two calls.
func several(matcher *xgrammar.GrammarMatcher, document []int64, vocabulary int64) {
	var all []*xgrammar.GrammarMatcher
	for range texts {
		all = append(all, must(matcher.Fork()))
	}
	batch, array := must(xgrammar.NewBatchGrammarMatcher(1)), must(tvmffi.NewArray(all...))
	mask := must(tvmffi.NewTensor(tvmffi.Int32, texts, (vocabulary+31)/32))
	tokens := make([]int64, texts)
	item("xg_batch", func(n int) {
		for range n {
			for _, token := range document {
				for i := range tokens {
					tokens[i] = token
				}
				check(batch.BatchFillNextTokenBitmask(array, mask))
				must(xgrammar.BatchGrammarMatcherAcceptToken(array, tvmffi.Of(tokens...))).Release()
			}
			for _, m := range all {
				check(m.Reset())
			}
		}
	})
}
