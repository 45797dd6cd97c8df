package xgrammar_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// TestReadTokenizer reads the three ways of writing tokens, all models, and a number without a token.
func TestReadTokenizer(t *testing.T) {
	leaktest.Check(t)
	for name, c := range map[string]struct {
		text string
		o    xgrammar.VocabularyOptions
		want []string
		stop []int32
	}{
		"byte-level BPE": {`{"model": {"type": "BPE", "vocab": {"a": 0, "Ġthe": 1, "Ċ": 2}, "merges": []},
			"decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 4, "content": "<|im_end|>", "special": true}]}`,
			xgrammar.VocabularyOptions{Size: 8, StopTexts: []string{"<|im_end|>"}}, []string{"a", " the", "\n", "", "<|im_end|>", "", "", ""}, []int32{4}},
		"SentencePiece BPE": {`{"model": {"type": "BPE", "byte_fallback": true, "vocab": {"</s>": 0, "<0x0A>": 1, "▁a": 2}}, "normalizer":
			{"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}]}, "decoder": {"type": "Sequence", "decoders": [
			{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]}}`,
			xgrammar.VocabularyOptions{}, []string{"</s>", "\n", " a"}, []int32{0}},
		"Unigram": {`{"model": {"type": "Unigram", "byte_fallback": true, "vocab": [["<unk>", 0.0], ["</s>", -1.5], ["▁b", -2]]}, "decoder": {"type": "Sequence", "decoders": [
			{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]}}`,
			xgrammar.VocabularyOptions{StopTokens: []int32{1}}, []string{"<unk>", "</s>", " b"}, []int32{1}},
		"WordPiece": {`{"model": {"type": "WordPiece", "vocab": {"[SEP]": 0, "##ing": 1}}}`,
			xgrammar.VocabularyOptions{StopTokens: []int32{0}}, []string{"[SEP]", "##ing"}, []int32{0}},
	} {
		v, err := xgrammar.ReadTokenizer([]byte(c.text), c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var texts []string
		for id := range v.Size() {
			texts = append(texts, string(v.Text(int32(id))))
		}
		if !slices.Equal(texts, c.want) || !slices.Equal(v.StopTokens(), c.stop) || v.Text(-1) != nil || v.Text(99) != nil {
			t.Errorf("%s: %q, which stop at %d, want %q and %d", name, texts, v.StopTokens(), c.want, c.stop)
		}
		v.Release()
	}
}

func TestVocabulary_errors(t *testing.T) {
	leaktest.Check(t)
	for text, want := range map[string]string{
		``:                                "tokenizer.json: unexpected end of JSON input",
		`{}`:                              "tokenizer.json: model.vocab has neither",
		`{"model": {"vocab": 3}}`:         "tokenizer.json: model.vocab has neither the numbers nor the scores of tokens: json: cannot unmarshal number",
		`{"model": {"vocab": {"a": -1}}}`: `the number of the token "a" is -1, want 0 to 16777215`,
		`{"model": {"vocab": {}}, "added_tokens": [{"id": 99999999999, "content": "b"}]}`: `the number of the token "b" is 99999999999`,
	} {
		if _, err := xgrammar.ReadTokenizer([]byte(text), xgrammar.VocabularyOptions{}); err == nil || !strings.Contains(err.Error(), "xgrammar: "+want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for want, o := range map[string]xgrammar.VocabularyOptions{
		"StopTokens has 2, want 0 to 1": {StopTokens: []int32{0, 2}}, "StopTokens has -1, want": {StopTokens: []int32{-1}},
		`StopTexts has "c", which none of the 2 tokens is`: {StopTexts: []string{"a", "c"}},
	} {
		if _, err := xgrammar.NewVocabulary([]string{"a", "b"}, xgrammar.Raw, o); err == nil || !strings.HasPrefix(err.Error(), "xgrammar: the vocabulary: "+want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
