package tokenfile

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	f, err := Read([]byte(`{"normalizer": null, "decoder": {"type": "Fuse"}, "added_tokens": [{"id": 4, "content": "<e>", "rstrip": true, "special": true}],
		"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "fuse_unk": true}}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "ab", "", "<e>"}; !slices.Equal(f.Tokens, want) || f.Normalizer != nil || string(f.Decoder) != `{"type": "Fuse"}` || f.Model.Type != "BPE" ||
		!slices.Equal(f.Model.Merges, []string{"a", "b"}) || !f.Added[0].RStrip || !f.Added[0].Special || !f.Model.FuseUnknown || f.Model.UnknownID != -1 {
		t.Errorf("%+v", f)
	}
	if f, err = Read([]byte(`{"model": {"vocab": [["a", 0.5], ["b", -1e3]], "unk_id": 1}}`)); err != nil || f.Model.Type != "Unigram" || f.Model.UnknownID != 1 ||
		!slices.Equal(f.Model.Pieces, []Piece{{"a", 0.5}, {"b", -1000}}) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = Read([]byte(`{"model": {"type": "WordPiece", "vocab": {"a": 0}}}`)); err != nil || f.Model.Prefix != "##" || f.Model.Unknown != "[UNK]" || f.Model.MaxRunes != 100 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestRead_errors has what package xgrammar does not show: the rest is in its tests.
func TestRead_errors(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": {"vocab": {}, "merges": ["a b c"]}}`: `model.merges[0] is "a b c": want two texts`,
		`{"model": {"vocab": {}, "merges": [["a"]]}}`:   "model.merges[0] has 1 texts, want 2",
		`{"model": {"vocab": {}, "merges": 3}}`:         "model.merges: want pairs of texts",
		`{"model": {"vocab": [3]}}`:                     "model.vocab has neither",
		`{"model": {"vocab": [["a", "b"]]}}`:            "model.vocab[0] is",
		`{"model": {"vocab": {"a": 99999}}}`:            `the number of the token "a" is 99999, want 0 to 65539`,
		`{"model": {"vocab": {"": 0, "a": 0}}}`:         `the tokens "" and "a" both have the number 0`,
		`{"model": {"vocab": {}}, "added_tokens": [{"id": 0, "content": "a"}, {"id": 1, "content": "a"}]}`: `the token "a" has the numbers 0 and 1 in added_tokens`,
		`{"model": {"vocab": [["a", 0]]}, "added_tokens": [{"id": 1, "content": "a"}]}`:                    `the token "a" has the number 1 in added_tokens and 0 in model.vocab`,
		strings.Repeat(`{"model":`, 20_000):                "exceeded max depth",
		`{"model": {"vocab": {"a": 0}}, "added_tokens": 1`: "unexpected end",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

// FuzzRead looks for files that cost more than they should, or make a list that contradicts itself.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"added_tokens": [{"id": 4, "content": "<e>"}], "model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b", ["a", "b"]]}}`))
	f.Add([]byte(`{"model": {"vocab": [["a", 0.5], ["b", -1e3]], "unk_id": 1}}`))
	f.Add([]byte(`{"model": {"vocab": {"a": 4294967296, "a": -1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(text)
		if err != nil {
			return
		}
		if len(file.Tokens) > 1<<16+4*len(text) {
			t.Errorf("%d tokens of %d bytes", len(file.Tokens), len(text))
		}
		for token, id := range file.Model.Vocab {
			if got := file.Tokens[id]; got != token && !slices.ContainsFunc(file.Added, func(a Added) bool { return a.ID == id }) {
				t.Errorf("the token %d is %q, want %q", id, got, token)
			}
		}
	})
}

// TestNumber has scores as the JSON of Rust reads them.
func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{"-2.5": -2.5, "0": 0, "-1e3": -1000, "1.25E+2": 125, "-10.719015121459961": -10.71901512145996, "3.14159265358979323846264338": 3.141592653589793} {
		f, err := Read([]byte(`{"model": {"vocab": [["a", ` + text + `]]}}`))
		if err != nil || f.Model.Pieces[0].Score != want {
			t.Errorf("%s: %+v, %v, want %v", text, f, err, want)
		}
	}
}

// TestQuick: what is read without encoding/json is what it reads.
func TestQuick(t *testing.T) {
	for _, text := range []string{`{}`, ` { } `, `{"a": 0, "b" :1,"":2}`, "{\n\t\"é\": 123456789,\r\n \"\\u00e9\\n\\\"\\\\\": 3}", `{"\\": 1, "}": 2, "\"": 3}`} {
		text = strings.TrimSpace(text)
		var want map[string]int
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := numbers(text); !ok || !maps.Equal(got, want) {
			t.Errorf("%s is %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{`{"a": -1}`, `{"a": 1.5}`, `{"a": 1e3}`, `{"a": null}`, `{"a": "1"}`, `{"a": 1234567890}`, `{"a": {}}`, `[]`, `null`, `"{}"`} {
		if got, ok := numbers(text); ok {
			t.Errorf("%s is %v", text, got)
		}
	}
	for _, text := range []string{`[]`, `[ ]`, `["a b", "c d" ,"\u00e9 \"" ]`, `["]", ",", ""]`} {
		var want []string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := texts(text); !ok || !slices.Equal(got, want) {
			t.Errorf("%s is %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{`[["a", "b"]]`, `["a", 1]`, `[null]`, `{}`, `"[]"`} {
		if got, ok := texts(text); ok {
			t.Errorf("%s is %q", text, got)
		}
	}
}
