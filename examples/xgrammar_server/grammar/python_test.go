package grammar_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/internal/cases"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/model"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// step is a mask that Go saw, the text that had to follow, and the token that Go took.
type step struct {
	Mask  string `json:"mask"`
	Jump  string `json:"jump"`
	Token int64  `json:"token"`
}

type replay struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Source     string `json:"source"`
	Whitespace bool   `json:"whitespace"`
	Steps      []step `json:"steps"`
	Ended      bool   `json:"ended"`
}

// TestPython writes texts by chance under more than 50 schemas. The Python package of XGrammar,
// with the same tokens, has the same mask before each token, bit by bit.
func TestPython(t *testing.T) {
	leaktest.Check(t)
	python, wheel := nativetest.Python(t), nativetest.Pinned(t, "xgrammar")
	m := model.New()
	c := newCompiler(t)
	var file struct {
		Vocabulary []string `json:"vocabulary"`
		Stop       int32    `json:"stop"`
		Cases      []replay `json:"cases"`
	}
	file.Stop = m.Stop()
	for _, token := range m.Vocabulary() {
		file.Vocabulary = append(file.Vocabulary, hex.EncodeToString([]byte(token)))
	}
	steps := 0
	for i, constraint := range cases.All(t) {
		s := constraint.Spec
		matcher, _, err := c.Matcher(t.Context(), s)
		if err != nil {
			t.Fatalf("%s: %v", constraint.Name, err)
		}
		r := walk(t, matcher, len(m.Vocabulary()), uint64(i))
		matcher.Release()
		r.Name, r.Kind, r.Source, r.Whitespace = constraint.Name, string(s.Kind), s.Source, s.Whitespace
		file.Cases = append(file.Cases, r)
		steps += len(r.Steps)
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "replay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/compare.py", wheel.Path("xgrammar"), path).Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, err.(*exec.ExitError).Stderr)
	}
	var result struct{ Cases, Masks, Wrong int }
	lines := lastLine(string(out))
	if err := json.Unmarshal([]byte(lines), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if result.Wrong != 0 || result.Masks != steps || result.Cases < 50 {
		t.Errorf("%+v, want %d masks and no wrong ones\n%s", result, steps, out)
	}
	t.Logf("%d masks of %d constraints are equal", result.Masks, result.Cases)
}

// walk takes up to 60 tokens by chance, the end of the text rarely.
func walk(t *testing.T, m *xgrammar.GrammarMatcher, size int, seed uint64) replay {
	t.Helper()
	mask := make([]int32, (size+31)/32)
	tensor, err := tvmffi.FromSlice(mask, 1, int64(len(mask)))
	if err != nil {
		t.Fatal(err)
	}
	defer tensor.Release()
	chance := rand.New(rand.NewPCG(seed, 7))
	var r replay
	for len(r.Steps) < 60 && !r.Ended {
		if _, err := m.FillNextTokenBitmask(tensor, 0, false); err != nil {
			t.Fatal(err)
		}
		jump, err := m.FindJumpForwardString()
		if err != nil {
			t.Fatal(err)
		}
		var allowed []int64
		raw := make([]byte, 0, 4*len(mask))
		for i, w := range mask {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(w))
			for u := uint32(w); u != 0; u &= u - 1 {
				allowed = append(allowed, int64(i*32+bits.TrailingZeros32(u)))
			}
		}
		if len(allowed) == 0 {
			t.Fatal("no token is allowed")
		}
		token := allowed[chance.IntN(len(allowed))]
		r.Steps = append(r.Steps, step{hex.EncodeToString(raw), hex.EncodeToString([]byte(jump)), token})
		if ok, err := m.AcceptToken(token, false); !ok || err != nil {
			t.Fatalf("token %d was refused: %v", token, err)
		}
		if r.Ended, err = m.IsTerminated(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func lastLine(s string) string {
	for len(s) > 0 && s[len(s)-1] == '\n' {
		s = s[:len(s)-1]
	}
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\n' {
			return s[i+1:]
		}
	}
	return s
}
