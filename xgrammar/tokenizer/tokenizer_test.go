package tokenizer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

func small(t testing.TB, name string) (*tokenizer.Tokenizer, []byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/small/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Read(text, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tok, text
}

// TestSmall compares with what testdata/judge.py wrote for the small tokenizers.
func TestSmall(t *testing.T) {
	lines, err := os.ReadFile("testdata/small/want.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tokenizers := map[string]*tokenizer.Tokenizer{}
	for line := range bytes.Lines(lines) {
		var name, text, decoded, all string
		var user, control, framed []int32
		if err := json.Unmarshal(line, &[]any{&name, &text, &user, &control, &framed, &decoded, &all}); err != nil {
			t.Fatal(err)
		}
		tok := tokenizers[name]
		if tok == nil {
			tok, _ = small(t, name)
			tokenizers[name] = tok
		}
		compare(t, name, tok, text, user, control, framed, decoded, all)
	}
	if len(tokenizers) != 4 {
		t.Errorf("%d tokenizers, want 4", len(tokenizers))
	}
}

// compare asks a tokenizer for all that the judge writes.
func compare(t *testing.T, name string, tok *tokenizer.Tokenizer, text string, user, control, framed []int32, decoded, all string) {
	t.Helper()
	for what, ids := range map[string][2][]int32{"user": {tok.Encode(text), user}, "control": {tok.EncodeParts(tokenizer.Part{Text: text, Control: true}), control},
		"framed": {tok.Frame(control), framed}} {
		if !slices.Equal(ids[0], ids[1]) {
			t.Errorf("%s: %q, %s: %d, want %d", name, text, what, ids[0], ids[1])
		}
	}
	d := tok.NewDecoder(true)
	var stream strings.Builder
	for _, id := range control {
		part := d.Next(id)
		if !utf8.ValidString(part) {
			t.Errorf("%s: %q: half a rune in %q", name, text, part)
		}
		stream.WriteString(part)
	}
	stream.WriteString(d.Close())
	for what, texts := range map[string][2]string{"text": {tok.Decode(control), decoded}, "all": {tok.DecodeAll(control), all}, "stream": {stream.String(), all}} {
		if texts[0] != texts[1] {
			t.Errorf("%s: %q, %s: %q, want %q", name, text, what, texts[0], texts[1])
		}
	}
}

// TestEncodeParts has borders in words, control tokens in texts of users, and at borders.
func TestEncodeParts(t *testing.T) {
	tok, text := small(t, "bytes")
	end, _ := tok.ID("<|end|>")
	for _, c := range []struct {
		parts []tokenizer.Part
		want  []int32
	}{
		{[]tokenizer.Part{{Text: "hel", Control: true}, {Text: "lo wo"}, {Text: "rld", Control: true}}, tok.Encode("hello world")},
		{[]tokenizer.Part{{Text: "<|end|>", Control: true}, {Text: "<|end|>"}}, append([]int32{end}, tok.Encode("<|end|>")...)},
		{[]tokenizer.Part{{Text: "<|en", Control: true}, {Text: "d|>"}}, tok.Encode("<|end|>")},
		{[]tokenizer.Part{{Text: "<|en"}, {Text: "d|>", Control: true}}, tok.Encode("<|end|>")},
		{[]tokenizer.Part{{Text: "<|en", Control: true}, {Text: ""}, {Text: "d|>", Control: true}}, []int32{end}},
		{nil, nil},
	} {
		if got := tok.EncodeParts(c.parts...); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %d, want %d", c.parts, got, c.want)
		}
	}
	if slices.Contains(tok.Encode("<|end|>"), end) {
		t.Errorf("a user wrote the token %d", end)
	}
	plain, err := tokenizer.Read(text, tokenizer.Options{Plain: []string{"<think>"}})
	if err != nil {
		t.Fatal(err)
	}
	think, _ := plain.ID("<think>")
	if got := plain.Encode("<think>"); !slices.Equal(got, []int32{think}) {
		t.Errorf("a plain token: %d, want %d", got, think)
	}
	if got := tok.Encode("\xffa\xc3"); !slices.Equal(got, tok.Encode("\uFFFDa\uFFFD")) {
		t.Errorf("bytes that are not UTF-8: %d", got)
	}
	if got, want := tok.Append([]int32{7}, tokenizer.Part{Text: "hello"}), []int32{7, tok.Encode("hello")[0]}; !slices.Equal(got, want) {
		t.Errorf("Append: %d, want %d", got, want)
	}
	if tok.Size() != 273 || tok.Token(256) != "he" || tok.Token(-1) != "" || tok.Token(999) != "" || !tok.Special(end) || tok.Special(think) || tok.Special(-1) {
		t.Errorf("%d tokens, %q, %t", tok.Size(), tok.Token(256), tok.Special(end))
	}
	if _, known := tok.ID("nothing"); known {
		t.Error("a token that does not exist has a number")
	}
}

// TestLong compares long words, whose merges are in a heap, with the same merges made one by one.
func TestLong(t *testing.T) {
	tok, _ := small(t, "fallback")
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var s strings.Builder
		for range 60 + random.IntN(100) {
			s.WriteByte("hello wrd"[random.IntN(9)])
		}
		got := tok.Encode(s.String())
		var symbols []string
		for _, r := range "▁" + strings.ReplaceAll(s.String(), " ", "▁") {
			symbols = append(symbols, string(r))
		}
		for _, merge := range [][2]string{{"▁", "h"}, {"e", "l"}, {"▁h", "el"}, {"▁hel", "l"}, {"▁hell", "o"}, {"o", "r"}, {"▁", "w"}, {"▁w", "or"}, {"l", "d"}, {"▁", "▁"}} {
			for i := 0; i+1 < len(symbols); i++ {
				if symbols[i] == merge[0] && symbols[i+1] == merge[1] {
					symbols[i] += symbols[i+1]
					symbols = slices.Delete(symbols, i+1, i+2)
				}
			}
		}
		var tokens []string
		for _, id := range got {
			tokens = append(tokens, tok.Token(id))
		}
		if !slices.Equal(tokens, symbols) {
			t.Fatalf("%q: %q, want %q", s.String(), tokens, symbols)
		}
	}
}

func TestDecode(t *testing.T) {
	bytes, _ := small(t, "bytes")
	fallback, _ := small(t, "fallback")
	id := func(tok *tokenizer.Tokenizer, tokens ...string) (ids []int32) {
		for _, token := range tokens {
			id, ok := tok.ID(token)
			if !ok {
				t.Fatalf("no token %q", token)
			}
			ids = append(ids, id)
		}
		return ids
	}
	for _, c := range []struct {
		tok  *tokenizer.Tokenizer
		ids  []int32
		want string
		all  []string // of a Decoder, the last one of Close
	}{
		{bytes, id(bytes, "ð", "Ł", "ĺ", "Ģ", "a"), "😀a", []string{"", "", "", "😀", "a", ""}},
		{bytes, id(bytes, "ð", "Ł", "a", "Ã"), "\uFFFDa\uFFFD", []string{"", "", "\uFFFDa", "", "\uFFFD"}},
		{bytes, append(id(bytes, "a"), -1, 999999, 272), "a   ", []string{"a", "", "", "   ", ""}},
		{fallback, id(fallback, "▁", "▁hello", "<0x0A>", "<0xC3>", "<0xA9>", "▁w"), " hello\né w", []string{"", " hello", "\n", "", "é", " w", ""}},
		{fallback, id(fallback, "<0xC3>", "<0xC3>", "a"), "\uFFFD\uFFFDa", []string{"", "", "\uFFFD\uFFFDa", ""}},
		{fallback, id(fallback, "<0x61>", "<0xC3>"), "\uFFFD\uFFFD", []string{"a", "", "\uFFFD"}}, // Decode sees the whole run
	} {
		if got := c.tok.Decode(c.ids); got != c.want {
			t.Errorf("%d: %q, want %q", c.ids, got, c.want)
		}
		d := c.tok.NewDecoder(false)
		for range 2 { // a Decoder begins again
			var all []string
			for _, id := range c.ids {
				all = append(all, d.Next(id))
			}
			if all = append(all, d.Close()); !slices.Equal(all, c.all) {
				t.Errorf("%d: %q, want %q", c.ids, all, c.all)
			}
		}
	}
}

func TestRead_errors(t *testing.T) {
	model := `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": []}`
	for text, want := range map[string]string{
		`{`: "tokenizer: unexpected end of JSON input", `{"model": {"type": "Odd", "vocab": {}}}`: `model has the type "Odd", which is not supported: want one of BPE`,
		`{` + model + `, "normalizer": {"type": "Nmt"}}`:                                                                                                                                `normalizer has the type "Nmt", which is not supported: want one of NFC`,
		`{` + model + `, "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Odd"}]}}`:                                                                        `normalizer.normalizers[1] has the type "Odd"`,
		`{` + model + `, "pre_tokenizer": {"type": "UnicodeScripts"}}`:                                                                                                                  `pre_tokenizer has the type "UnicodeScripts", which is not supported: want one of ByteLevel`,
		`{` + model + `, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}}`:                                                                       `pre_tokenizer.pattern: at byte 2 of "(a": want )`,
		`{` + model + `, "pre_tokenizer": {"type": "Split", "pattern": {}, "behavior": "Isolated"}}`:                                                                                    "pre_tokenizer.pattern is {}: want a String or a Regex",
		`{` + model + `, "pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"}}`:                                                                            `pre_tokenizer.behavior is "Odd", want one of`,
		`{` + model + `, "pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}}`:                                                                                                  `pre_tokenizer.replacement is "ab", want one rune`,
		`{` + model + `, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "odd"}}`:                                                                          `pre_tokenizer.prepend_scheme is "odd"`,
		`{` + model + `, "normalizer": {"type": "Replace", "pattern": {"String": "a"}}}`:                                                                                                `normalizer has the type Replace and no content: want one`,
		`{` + model + `, "normalizer": {"type": "Prepend"}}`:                                                                                                                            `normalizer has the type Prepend and no prepend: want one`,
		`{` + model + `, "normalizer": {"type": "Sequence"}}`:                                                                                                                           `normalizer has the type Sequence and no normalizers: want one`,
		`{` + model + `, "pre_tokenizer": {"type": "Sequence"}}`:                                                                                                                        `pre_tokenizer has the type Sequence and no pretokenizers: want one`,
		`{` + model + `, "post_processor": {"type": "Sequence"}}`:                                                                                                                       `post_processor has the type Sequence and no processors: want one`,
		`{` + model + `, "decoder": {"type": "Replace", "pattern": {"String": "a"}}}`:                                                                                                   `decoder has the type Replace and no content: want one`,
		`{` + model + `, "decoder": {"type": "Strip", "start": 1, "stop": 0}}`:                                                                                                          `decoder has the type Strip and no content: want one`,
		`{` + model + `, "decoder": {"type": "Sequence"}}`:                                                                                                                              `decoder has the type Sequence and no decoders: want one`,
		`{` + model + `, "decoder": {"type": "CTC"}}`:                                                                                                                                   `decoder has the type "CTC", which is not supported: want one of ByteLevel`,
		`{` + model + `, "decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]}}`:                                                                    "decoder: after Fuse or ByteLevel, only Fuse, Strip and Replace are supported",
		`{` + model + `, "decoder": {"type": "Strip", "content": "ab"}}`:                                                                                                                "decoder: Strip has the content",
		`{` + model + `, "post_processor": {"type": "Odd"}}`:                                                                                                                            `post_processor has the type "Odd"`,
		`{` + model + `, "post_processor": {"type": "BertProcessing", "sep": ["x", 7], "cls": ["y", 0]}}`:                                                                               "post_processor has the token 7, want 0 to 2",
		`{` + model + `, "post_processor": {"type": "TemplateProcessing", "single": []}}`:                                                                                               "post_processor.single: want the text once",
		`{` + model + `, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "b"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"b": {"id": "b"}}}}`: "post_processor.special_tokens has \"b\" without ids",
		`{` + model + `, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}`:                                                                                        "normalizer.precompiled_charsmap: want the size of a table",
		`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`:                                                                                                              `model.merges[0] has "b", which is not in model.vocab`,
		`{"model": {"type": "BPE", "vocab": {"a": 0}, "unk_token": "<unk>"}}`:                                                                                                           `model.unk_token is "<unk>", which is not in model.vocab`,
		`{"model": {"type": "BPE", "vocab": {"a": 0}, "dropout": 0.1}}`:                                                                                                                 "model.dropout is 0.1: want none",
		`{"model": {"type": "Unigram", "vocab": [["a", 0]]}}`:                                                                                                                           "model.unk_id is -1",
		`{"model": {"type": "WordPiece", "vocab": {"a": 0}}}`:                                                                                                                           `model.unk_token is "[UNK]"`,
		`{` + model + `, "normalizer": ` + strings.Repeat(`{"type": "Sequence", "normalizers": [`, 30) + strings.Repeat(`]}`, 30) + `}`:                                                 "is deeper than 20",
	} {
		if _, err := tokenizer.Read([]byte(text), tokenizer.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "tokenizer: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := tokenizer.Read([]byte(`{`+model+`}`), tokenizer.Options{Plain: []string{"x"}}); err == nil || !strings.Contains(err.Error(), `Options.Plain has "x", which is not one of the 0 added tokens`) {
		t.Error(err)
	}
	if _, err := tokenizer.Open(fstest.MapFS{}, tokenizer.Options{}); err == nil {
		t.Error("no file, and no error")
	}
}

// TestTogether uses one tokenizer from several goroutines.
func TestTogether(t *testing.T) {
	tok, _ := small(t, "bytes")
	text := strings.Repeat("hello  world it's 12345 é 😀\n", 20)
	want := tok.Encode(text)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if got := tok.Encode(text); !slices.Equal(got, want) || tok.Decode(got) != text {
					t.Errorf("%d, want %d", got, want)
				}
			}
		})
	}
	group.Wait()
}

func TestTokenizer_allocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	for _, name := range []string{"bytes", "fallback", "unigram", "words"} {
		tok, _ := small(t, name)
		text := strings.Repeat("Hello  world, it's 12345 é 中 😀\n", 30)
		ids := tok.Encode(text)
		for what, run := range map[string]func(){
			"Append": func() { ids = tok.Append(ids[:0], tokenizer.Part{Text: text}) },
			"Decode": func() { _ = tok.Decode(ids) },
		} {
			most := map[string]float64{"Append": 0, "Decode": 1}[what]
			if name == "words" && what == "Decode" {
				continue // makes each word
			} else if name == "words" {
				most = 2 // NFD of golang.org/x/text, for all that is not in normal form
			}
			if n := testing.AllocsPerRun(50, run); n > most {
				t.Errorf("%s: %s makes %g allocations, want %g", name, what, n, most)
			}
		}
	}
}

// FuzzRead reads files and encodes with them: no file crashes, or takes more memory than its size allows.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"bytes", "fallback", "unigram", "words"} {
		_, text := small(f, name)
		f.Add(text, "hello wörld <|end|>")
	}
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {"a": 0, "aa": 1, "aaa": 2}, "merges": ["a a", "aa a", "a aa"]}}`), strings.Repeat("a", 99))
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {"a": 99999999, "": -1}}, "added_tokens": [{"id": 3, "content": ""}]}`), "a")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		if len(text) > 1000 {
			return
		}
		tok, err := tokenizer.Read(file, tokenizer.Options{})
		if err != nil {
			return
		}
		for _, control := range []bool{false, true} {
			ids := tok.EncodeParts(tokenizer.Part{Text: text, Control: control})
			for _, id := range ids {
				if id < 0 || int(id) >= tok.Size() {
					t.Fatalf("%q has the token %d of %d", text, id, tok.Size())
				}
			}
			d := tok.NewDecoder(true)
			for _, id := range ids {
				if part := d.Next(id); !utf8.ValidString(part) {
					t.Fatalf("half a rune in %q", part)
				}
			}
			d.Close()
		}
	})
}

// FuzzEncode decodes what it encoded: byte-level tokens lose nothing.
func FuzzEncode(f *testing.F) {
	tok, _ := small(f, "bytes")
	f.Add("hello  world\n\n it's 12345")
	f.Add("a<|end|>b<think>  c   d")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		ids := tok.Encode(text)
		if got := tok.DecodeAll(ids); !utf8.ValidString(got) || len(text) > 0 && text < "\u0080" && strings.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0 && got != text {
			t.Fatalf("%q became %q", text, got) // beyond ASCII, the normalizer may change it
		}
	})
}

func ExampleTokenizer_EncodeParts() {
	text, err := os.ReadFile("testdata/small/bytes.json")
	if err != nil {
		panic(err)
	}
	t, err := tokenizer.Read(text, tokenizer.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.EncodeParts(tokenizer.Part{Text: "hello"}, tokenizer.Part{Text: "<|end|>", Control: true}))
	fmt.Println(t.Encode("hello<|end|>"))
	// Output:
	// [259 270]
	// [259 60 124 101 110 100 124 62]
}
