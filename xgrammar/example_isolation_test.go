//go:build !windows

package xgrammar_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// In a server, sources of strangers are tried in processes with limits.
func ExampleIsolation() {
	// main begins with xgrammar.Main().
	vocabulary, err := xgrammar.NewVocabulary([]string{"a", "b", "</s>"}, xgrammar.Raw, xgrammar.VocabularyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer vocabulary.Release()
	compiler, err := xgrammar.NewCompiler(vocabulary, xgrammar.CompilerOptions{
		CacheBytes: 64 << 20,
		Isolation:  &xgrammar.Isolation{Processes: 2, MaxMemory: 512 << 20},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer compiler.Release()
	_, err = compiler.Compile(context.Background(), xgrammar.Regex("(a"))
	fmt.Println(err.(*xgrammar.Error).Reason())
	// Output: Regex parsing error at position 3: The parenthesis is not closed.
}
