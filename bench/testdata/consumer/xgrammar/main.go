// Command xgrammar makes the mask of the first token of a regular expression, by package xgrammar.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

func main() {
	vocabulary := must(xgrammar.NewVocabulary([]string{"a", "b", "</s>"}, xgrammar.Raw, xgrammar.VocabularyOptions{}))
	compiler := must(xgrammar.NewCompiler(vocabulary, xgrammar.CompilerOptions{Threads: 1, CacheBytes: -1}))
	matcher := must(must(compiler.Compile(context.Background(), xgrammar.Regex("a+"))).NewMatcher(xgrammar.MatcherOptions{}))
	mask := must(vocabulary.NewMask())
	must(matcher.Fill(mask))
	var allowed []int
	for token := range mask.Allowed() {
		allowed = append(allowed, int(token))
	}
	fmt.Println("result", allowed)
	_, _ = io.Copy(io.Discard, os.Stdin) // at rest
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
