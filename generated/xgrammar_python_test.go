//go:build e2e

package generated_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// maskStep is a mask that Go saw, the text that had to follow, and the token that Go took.
type maskStep struct {
	Mask  string `json:"mask"`
	Jump  string `json:"jump"`
	Token int64  `json:"token"`
}

// constrained is a constraint of testdata/xgrammar/cases.json, and one text under it.
type constrained struct {
	Name       string          `json:"name"`
	Kind       string          `json:"kind"` // "" for a JSON schema
	Source     json.RawMessage `json:"source"`
	Whitespace bool            `json:"whitespace"`
	Steps      []maskStep      `json:"steps"`
	Ended      bool            `json:"ended"`
}

// TestXGrammar_python writes texts by chance under more than 50 constraints. The Python package of XGrammar, with the
// same tokens, has the same mask before each token, bit by bit, also after a rollback.
func TestXGrammar_python(t *testing.T) {
	leaktest.Check(t)
	python, wheel := nativetest.Python(t), nativetest.Pinned(t, "xgrammar")
	text, err := os.ReadFile("testdata/xgrammar/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vocabulary []string      `json:"vocabulary"`
		Stop       int64         `json:"stop"`
		Cases      []constrained `json:"cases"`
	}
	if err := json.Unmarshal(text, &file.Cases); err != nil {
		t.Fatal(err)
	}
	vocabulary := []string{"</s>"}
	for b := range 256 {
		vocabulary = append(vocabulary, string([]byte{byte(b)}))
	}
	vocabulary = append(vocabulary, strings.Fields(`{" "} ": ", [" "] }, ]} true false null name age 20 2026- -05 , }} the red green \u00e4\u00f6 猫 \u732b @example.com T10 :00 Z aa )) ((`)...)
	for _, token := range vocabulary {
		file.Vocabulary = append(file.Vocabulary, hex.EncodeToString([]byte(token)))
	}
	compiler := newXGrammarCompiler(t, vocabulary)
	defer compiler.Release()
	steps := 0
	for i := range file.Cases {
		walkConstrained(t, compiler, &file.Cases[i], len(vocabulary), uint64(i))
		steps += len(file.Cases[i].Steps)
	}
	if text, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "replay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/xgrammar/compare.py", wheel.Path("xgrammar"), path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var result struct{ Cases, Masks, Wrong int }
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if result.Wrong != 0 || result.Masks != steps || result.Cases < 50 {
		t.Errorf("%+v, want %d masks and no wrong ones\n%s", result, steps, out)
	}
}

func newXGrammarCompiler(t *testing.T, vocabulary []string) *xgrammar.GrammarCompiler {
	t.Helper()
	tokenizer, err := xgrammar.NewTokenizerInfo(tvmffi.Of(vocabulary...), xgrammar.VocabTypeRaw, xgrammar.StopTokenIDs(tvmffi.Of[int64](0)))
	if err != nil {
		t.Fatal(err)
	}
	defer tokenizer.Release()
	compiler, err := xgrammar.NewGrammarCompiler(tokenizer, xgrammar.MaxThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

// matcherOf compiles a constraint as compare.py does.
func matcherOf(t *testing.T, compiler *xgrammar.GrammarCompiler, c *constrained) *xgrammar.GrammarMatcher {
	t.Helper()
	source := string(c.Source)
	if c.Kind != "" {
		if err := json.Unmarshal(c.Source, &source); err != nil {
			t.Fatal(err)
		}
	}
	var compiled *xgrammar.CompiledGrammar
	var err error
	switch c.Kind {
	case "json":
		compiled, err = compiler.CompileBuiltinJSONGrammar()
	case "regex":
		compiled, err = compiler.CompileRegex(source)
	case "grammar":
		compiled, err = compiler.CompileEBNF(source)
	default:
		var longest xgrammar.CompileJSONSchemaOption // nil changes nothing
		if c.Whitespace {
			longest = xgrammar.MaxWhitespaceCnt(8)
		}
		compiled, err = compiler.CompileJSONSchema(source, xgrammar.AnyWhitespace(c.Whitespace), longest)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	defer compiled.Release()
	matcher, err := xgrammar.NewGrammarMatcher(compiled)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return matcher
}

// walkConstrained takes up to 60 tokens by chance.
func walkConstrained(t *testing.T, compiler *xgrammar.GrammarCompiler, c *constrained, size int, seed uint64) {
	t.Helper()
	m := matcherOf(t, compiler, c)
	defer m.Release()
	mask := make([]int32, (size+31)/32)
	tensor, err := tvmffi.FromSlice(mask, 1, int64(len(mask)))
	if err != nil {
		t.Fatal(err)
	}
	defer tensor.Release()
	chance := rand.New(rand.NewPCG(seed, 7))
	for len(c.Steps) < 60 && !c.Ended {
		if _, err := m.FillNextTokenBitmask(tensor); err != nil {
			t.Fatal(err)
		}
		jump, err := m.FindJumpForwardString()
		if err != nil {
			t.Fatal(err)
		}
		var allowed []int64
		var raw []byte
		for i, w := range mask {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(w))
			for u := uint32(w); u != 0; u &= u - 1 {
				allowed = append(allowed, int64(i*32+bits.TrailingZeros32(u)))
			}
		}
		if len(allowed) == 0 {
			t.Fatalf("%s: no token is allowed", c.Name)
		}
		token := allowed[chance.IntN(len(allowed))]
		c.Steps = append(c.Steps, maskStep{hex.EncodeToString(raw), hex.EncodeToString([]byte(jump)), token})
		if ok, err := m.AcceptToken(token); !ok || err != nil {
			t.Fatalf("%s: token %d was refused: %v", c.Name, token, err)
		}
		if c.Ended, err = m.IsTerminated(); err != nil {
			t.Fatal(err)
		}
	}
}
