package model

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVocabulary(t *testing.T) {
	m := New()
	if len(m.Vocabulary()) != Size || m.Vocabulary()[m.Stop()] != "</s>" || m.Vocabulary()[start] != "" {
		t.Fatalf("%d tokens, %q", len(m.Vocabulary()), m.Vocabulary()[:3])
	}
	parts, broken := 0, 0
	seen := map[string]bool{}
	for i, token := range m.Vocabulary() {
		if seen[token] {
			t.Errorf("%q is there twice", token)
		}
		seen[token] = true
		if len(token) > 1 {
			parts++
		}
		if i >= bytes+256 && !utf8.ValidString(token) {
			broken++
		}
	}
	if parts < 500 || broken < 10 {
		t.Errorf("%d tokens are longer than a byte, %d of them are not UTF-8", parts, broken)
	}
	if again := New(); !slices.Equal(again.Vocabulary(), m.Vocabulary()) {
		t.Error("another vocabulary the second time")
	}
}

// TestEncode splits any bytes, and what it returns is the text again.
func TestEncode(t *testing.T) {
	m := New()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, text := range []string{"", "The cat sat.", "東京🍲", string(every), strings.Repeat("garden ", 100)} {
		var b strings.Builder
		for _, token := range m.Encode(text) {
			b.WriteString(m.Vocabulary()[token])
		}
		if b.String() != text {
			t.Errorf("%q became %q", text, b.String())
		}
	}
	if n := len(m.Encode("The weather in Berlin")); n > 12 {
		t.Errorf("%d tokens for four words that the model knows", n)
	}
}

// TestScore knows the text: the best token without chance repeats a line.
func TestScore(t *testing.T) {
	m := New()
	text := m.Encode("The capital of France is")
	scores := [][]float32{make([]float32, Size)}
	for range 6 {
		if err := m.Score([][]int32{text}, scores); err != nil {
			t.Fatal(err)
		}
		text = append(text, int32(slices.Index(scores[0], slices.Max(scores[0]))))
	}
	var b strings.Builder
	for _, token := range text {
		b.WriteString(m.Vocabulary()[token])
	}
	if !strings.HasPrefix(b.String(), "The capital of France is Paris") {
		t.Errorf("%q", b.String())
	}
	if draft := m.Draft(m.Encode("The capital of France"), 4); len(draft) == 0 || len(draft) > 4 {
		t.Errorf("the draft is %v", draft)
	}
	if draft := m.Draft(nil, 0); len(draft) != 0 {
		t.Errorf("the draft is %v", draft)
	}
}
