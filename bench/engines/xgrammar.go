package main

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	hand "github.com/tvmffi-go/tvmffi/xgrammar"
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
	several(schema, vocabulary, document)
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
}

// texts is how many texts a batch follows.
const texts = 16

// several has the item of a batch, which handles a token of each text at each step.
func several(schema string, tokens []string, document []int64) {
	vocabulary := must(hand.NewVocabulary(tokens, hand.Raw, hand.VocabularyOptions{StopTokens: []int32{0}}))
	compiler := must(hand.NewCompiler(vocabulary, hand.CompilerOptions{Threads: 1}))
	grammar := must(compiler.Compile(context.Background(), hand.JSONSchema{Text: schema}))
	batch := must(vocabulary.NewBatch(texts, 1))
	var all []*hand.Matcher
	for row := range texts {
		all = append(all, must(grammar.NewMatcher(hand.MatcherOptions{})))
		batch.Set(row, all[row])
	}
	next, ok := make([]int32, texts), make([]bool, texts)
	item("xg_batch", func(n int) {
		for range n {
			for _, token := range document {
				for i := range next {
					next[i] = int32(token)
				}
				check(batch.Fill())
				check(batch.Accept(next, ok))
			}
			for _, m := range all {
				check(m.Reset())
			}
		}
	})
}
