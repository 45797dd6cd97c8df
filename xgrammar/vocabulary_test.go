package xgrammar_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// tiny has a gap, and a name that XGrammar would take for the end of a text.
const tiny = `{"model": {"type": "BPE", "vocab": {"a": 0, "</s>": 1}}, "added_tokens": [{"id": 3, "content": "<e>"}]}`

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
			xgrammar.VocabularyOptions{TokenizerConfig: []byte(`{"eos_token": "</s>"}`)}, []string{"</s>", "\n", " a"}, []int32{0}},
		"Unigram": {`{"model": {"type": "Unigram", "byte_fallback": true, "vocab": [["<unk>", 0.0], ["</s>", -1.5], ["▁b", -2]]}, "decoder": {"type": "Sequence", "decoders": [
			{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]}}`,
			xgrammar.VocabularyOptions{StopTokens: []int32{1}}, []string{"<unk>", "</s>", " b"}, []int32{1}},
		"WordPiece": {`{"model": {"type": "WordPiece", "vocab": {"[SEP]": 0, "##ing": 1}}}`,
			xgrammar.VocabularyOptions{StopTokens: []int32{0}}, []string{"[SEP]", "##ing"}, []int32{0}},
		"several numbers": {tiny, xgrammar.VocabularyOptions{GenerationConfig: []byte(`{"eos_token_id": [3, 1]}`), TokenizerConfig: []byte(`{"eos_token": {"content": "<e>"}}`)},
			[]string{"a", "</s>", "", "<e>"}, []int32{1, 3}},
		"one number":      {tiny, xgrammar.VocabularyOptions{GenerationConfig: []byte(`{"eos_token_id": 3}`)}, []string{"a", "</s>", "", "<e>"}, []int32{3}},
		"both files":      {tiny, xgrammar.VocabularyOptions{GenerationConfig: []byte(`{"eos_token_id": 0}`), TokenizerConfig: []byte(`{"eos_token": "<e>"}`)}, []string{"a", "</s>", "", "<e>"}, []int32{0, 3}},
		"named":           {tiny, xgrammar.VocabularyOptions{StopTexts: []string{"</s>"}, TokenizerConfig: []byte(`{"eos_token": "<e>"}`)}, []string{"a", "</s>", "", "<e>"}, []int32{1}},
		"no text":         {tiny, xgrammar.VocabularyOptions{StopTexts: []string{}, TokenizerConfig: []byte(`{"eos_token": "<e>"}`)}, []string{"a", "</s>", "", "<e>"}, []int32{3}},
		"none":            {tiny, xgrammar.VocabularyOptions{StopTokens: []int32{}}, []string{"a", "</s>", "", "<e>"}, nil},
		"a smaller model": {tiny, xgrammar.VocabularyOptions{Size: 2, StopTokens: []int32{1}}, []string{"a", "</s>"}, []int32{1}},
		"added over another text": {`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}}, "added_tokens": [{"id": 1, "content": "<e>"}, {"id": 0, "content": "a"}]}`,
			xgrammar.VocabularyOptions{StopTokens: []int32{1}}, []string{"a", "<e>"}, []int32{1}},
		"a text with two numbers": {`{"model": {"type": "Unigram", "vocab": [["a", 0.0], ["a", -1.5]]}}`, xgrammar.VocabularyOptions{StopTokens: []int32{}}, []string{"a", "a"}, nil},
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
		``:   "tokenizer.json: unexpected end of JSON input",
		`{}`: "tokenizer.json: model.vocab has neither",
		`{"model": {"vocab": {"a": 0, "b": 1, "a": 2}}}`:                                                         `tokenizer.json: line 1, column 38: the key "a" occurs twice in model.vocab: remove one`,
		`{"model": {"vocab": {"a": 0}, "Vocab": {"a": 1}}}`:                                                      `the keys "vocab" and "Vocab" in model are one key: remove one`,
		`{"model": {"vocab": {"a": null, "b": 1}}}`:                                                              `model.vocab has neither the numbers nor the scores of tokens: line 1, column 7: found null in a, expected one of the type int`,
		`{"model": {"vocab": {"a": 0, ":null": 1}}, "added_tokens": [{"content": "b"}]}`:                         `added_tokens[0]: want the id and the content of a token`,
		`{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1}]}`:                                            `added_tokens[0]: want the id and the content of a token`,
		`{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1, "content": "b", "ID": 0}]}`:                   `the keys "id" and "ID" in added_tokens.0 are one key`,
		`{"model": {"vocab": {"a": 0, "b": 1}, "type": "BPE", "merges": [["a", null]]}}`:                         `model.merges: want pairs of texts: line 1, column 8: found null in 0.1`,
		`{"model": {"vocab": 3}}`:                                                                                "tokenizer.json: model.vocab has neither the numbers nor the scores of tokens: json: cannot unmarshal number",
		`{"model": {"vocab": {"a": -1}}}`:                                                                        `the number of the token "a" is -1, want 0 to 65539`,
		`{"model": {"vocab": {}}, "added_tokens": [{"id": 99999999999, "content": "b"}]}`:                        `the number of the token "b" is 99999999999`,
		`{"model": {"vocab": {"b": 1, "a": 1, "c": 0}}}`:                                                         `the tokens "a" and "b" both have the number 1`,
		`{"model": {"vocab": [["a", 0], [3, 0]]}}`:                                                               `model.vocab[1] is`,
		`{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1, "content": "b"}, {"id": 1, "content": "c"}]}`: `added_tokens has "b" and "c" with the number 1`,
		`{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1, "content": "a"}]}`:                            `the token "a" has the number 1 in added_tokens and 0 in model.vocab`,
		tiny: "the tokenizer: nothing says which tokens end a text: pass the texts of generation_config.json or tokenizer_config.json",
	} {
		if _, err := xgrammar.ReadTokenizer([]byte(text), xgrammar.VocabularyOptions{}); err == nil || !strings.Contains(err.Error(), "xgrammar: "+want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for want, o := range map[string]xgrammar.VocabularyOptions{
		"StopTokens has 2, want 0 to 1": {StopTokens: []int32{0, 2}}, "StopTokens has -1, want": {StopTokens: []int32{-1}},
		`StopTexts has "c", which none of the 2 tokens is`: {StopTexts: []string{"a", "c"}},
		`StopTexts has "", which none of the 2 tokens is`:  {StopTexts: []string{""}},
		"Size is 1, and there are 2 tokens":                {Size: 1, StopTokens: []int32{0}},
		"Size is 4294967307, want at most 2147483647":      {Size: 1<<32 + 11, StopTokens: []int32{0}},
		"Size is -5, want 0 or more":                       {Size: -5, StopTokens: []int32{0}},
		"none of the 2 tokens has a name that XGrammar knows as the end of a text, such as \"</s>\": name it in StopTexts": {},
	} {
		if _, err := xgrammar.NewVocabulary([]string{"a", "b"}, xgrammar.Raw, o); err == nil || !strings.HasPrefix(err.Error(), "xgrammar: the vocabulary: "+want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	v, err := xgrammar.NewVocabulary([]string{"a", "b", "a"}, xgrammar.Raw, xgrammar.VocabularyOptions{StopTexts: []string{"a"}})
	if err != nil || !slices.Equal(v.StopTokens(), []int32{0, 2}) {
		t.Fatalf("a text that two tokens have: %v", err)
	}
	v.Release()
}

// TestOpenTokenizer reads the files of a model.
func TestOpenTokenizer(t *testing.T) {
	leaktest.Check(t)
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	generation, tokenizer := file(`{"eos_token_id": [3]}`), file(`{"eos_token": "</s>"}`)
	for _, c := range []struct {
		files fstest.MapFS
		o     xgrammar.VocabularyOptions
		size  int
		stop  []int32
		err   string
	}{
		{fstest.MapFS{"generation_config.json": generation, "tokenizer_config.json": tokenizer, "config.json": file(`{"vocab_size": 8}`)}, xgrammar.VocabularyOptions{}, 8, []int32{1, 3}, ""},
		{fstest.MapFS{"tokenizer_config.json": tokenizer, "config.json": file(`{"text_config": {"vocab_size": 9}}`)}, xgrammar.VocabularyOptions{}, 9, []int32{1}, ""},
		{fstest.MapFS{"tokenizer_config.json": tokenizer, "config.json": file(`{"vocab_size": 8}`)}, xgrammar.VocabularyOptions{Size: 7, StopTokens: []int32{0}}, 7, []int32{0}, ""},
		{fstest.MapFS{"generation_config.json": generation}, xgrammar.VocabularyOptions{GenerationConfig: []byte(`{"eos_token_id": 0}`)}, 4, []int32{0}, ""},
		{fstest.MapFS{"generation_config.json": file(`{"eos_token_id": null}`), "tokenizer_config.json": file(`{"eos_token": null}`)}, xgrammar.VocabularyOptions{}, 0, nil, "nothing says which tokens end a text"},
		{fstest.MapFS{"generation_config.json": file(`{"eos_token_id": "<e>"}`)}, xgrammar.VocabularyOptions{}, 0, nil, `generation_config.json: eos_token_id is "<e>", want the number of a token, or several`},
		{fstest.MapFS{"generation_config.json": file(`{"eos_token_id": 4}`)}, xgrammar.VocabularyOptions{}, 0, nil, "StopTokens has 4, want 0 to 3"},
		{fstest.MapFS{"generation_config.json": file(`[`)}, xgrammar.VocabularyOptions{}, 0, nil, "generation_config.json: unexpected end"},
		{fstest.MapFS{"tokenizer_config.json": file(`{"eos_token": "<x>"}`)}, xgrammar.VocabularyOptions{}, 0, nil, `tokenizer_config.json: eos_token is "<x>", which none of the 4 tokens is`},
		{fstest.MapFS{"tokenizer_config.json": file(`{"eos_token": 3}`)}, xgrammar.VocabularyOptions{}, 0, nil, "tokenizer_config.json: eos_token is 3, want the text of a token"},
		{fstest.MapFS{"config.json": file(`{"vocab_size": -8}`)}, xgrammar.VocabularyOptions{}, 0, nil, "config.json: vocab_size is -8, want 0 to"},
		{fstest.MapFS{"config.json": file(`{"vocab_size": 1e99}`)}, xgrammar.VocabularyOptions{}, 0, nil, "config.json: json: cannot unmarshal number"},
	} {
		c.files["tokenizer.json"] = file(tiny)
		v, err := xgrammar.OpenTokenizer(c.files, c.o)
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %s", err, c.err)
			}
			continue
		}
		if v.Size() != c.size || !slices.Equal(v.StopTokens(), c.stop) {
			t.Errorf("%d tokens, which stop at %d, want %d and %d", v.Size(), v.StopTokens(), c.size, c.stop)
		}
		v.Release()
	}
	if _, err := xgrammar.OpenTokenizer(fstest.MapFS{}, xgrammar.VocabularyOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
