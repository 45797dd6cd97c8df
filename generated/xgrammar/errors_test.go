//go:build e2e

package xgrammar_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestKinds: the doc comment of a function, or of the package, names the kinds of its errors.
func TestKinds(t *testing.T) {
	nativetest.Pinned(t, "xgrammar")
	var names struct {
		Namespaces map[string]string
		Items      map[string]struct{ Doc string }
	}
	text, err := os.ReadFile("../../cmd/tvmffi-bind/internal/project/known/xgrammar/names.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	const prefix = "xgrammar.tvm_ffi_binding"
	vocabulary, err := xgrammar.NewTokenizerInfo(tvmffi.Of("a", "</s>"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer vocabulary.Release()
	compiler, err := xgrammar.NewGrammarCompiler(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	defer compiler.Release()
	for name, call := range map[string]func(text string) error{
		"Grammar.from_structural_tag":            func(text string) error { _, err := xgrammar.GrammarFromStructuralTag(text); return err },
		"GrammarCompiler.compile_structural_tag": func(text string) error { _, err := compiler.CompileStructuralTag(text); return err },
		"Grammar.from_json_schema":               func(text string) error { _, err := xgrammar.GrammarFromJSONSchema(text); return err },
		"GrammarCompiler.compile_json_schema":    func(text string) error { _, err := compiler.CompileJSONSchema(text); return err },
	} {
		doc := names.Items[prefix+"."+name].Doc
		if !strings.Contains(doc, "has the Kind") {
			doc = strings.ReplaceAll(names.Namespaces[prefix], "tvmffi.ErrInternal", "InternalError")
		}
		for _, text := range []string{"{", `{"type":1}`, `{"type":"structural_tag","format":{"type":"unknown"}}`} {
			err := call(text)
			var e *tvmffi.Error
			if text[len(text)-1] == '}' && err == nil {
				continue // a schema may have other members
			}
			if !errors.As(err, &e) || !strings.Contains(doc, e.Kind) {
				t.Errorf("%s(%s): %v is of a kind that the doc comment does not name: %s", name, text, err, doc)
			}
		}
	}
}
