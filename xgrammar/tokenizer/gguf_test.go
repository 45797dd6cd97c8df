package tokenizer_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

// gguf writes the head of a GGUF file: pairs of keys and values.
func gguf(pairs ...any) []byte {
	b := []byte("GGUF\x03\x00\x00\x00")
	number := func(n int) { b = binary.LittleEndian.AppendUint64(b, uint64(n)) }
	kind := func(k uint32) { b = binary.LittleEndian.AppendUint32(b, k) }
	text := func(s string) {
		number(len(s))
		b = append(b, s...)
	}
	number(7) // tensors, which nobody reads
	number(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		text(pairs[i].(string))
		switch v := pairs[i+1].(type) {
		case string:
			kind(8)
			text(v)
		case uint32:
			kind(4)
			b = binary.LittleEndian.AppendUint32(b, v)
		case bool:
			kind(7)
			b = append(b, map[bool]byte{true: 1}[v])
		case []string:
			kind(9)
			kind(8)
			number(len(v))
			for _, s := range v {
				text(s)
			}
		case []int32:
			kind(9)
			kind(5)
			number(len(v))
			for _, n := range v {
				b = binary.LittleEndian.AppendUint32(b, uint32(n))
			}
		case []float32:
			kind(9)
			kind(6)
			number(len(v))
			for _, n := range v {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
			}
		}
	}
	return b
}

const ggml = "tokenizer.ggml."

func TestReadGGUF(t *testing.T) {
	tok, err := tokenizer.ReadGGUF(bytes.NewReader(gguf("general.name", "small", "llama.rope", []float32{1}, ggml+"model", "gpt2", ggml+"pre", "smollm",
		ggml+"tokens", []string{"a", "b", "ab", "1", "<|end|>", "Ġ", "<x>"}, ggml+"token_type", []int32{1, 1, 1, 1, 3, 1, 4}, ggml+"merges", []string{"a b"},
		ggml+"eos_token_id", uint32(4), ggml+"eot_token_id", uint32(2), ggml+"bos_token_id", uint32(6), ggml+"add_bos_token", true)), tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := tok.EncodeParts(tokenizer.Part{Text: "ab 11<|end|>", Control: true})
	if want := []int32{2, 5, 3, 3, 4}; !slices.Equal(got, want) || tok.Decode(got) != "ab 11" || !slices.Equal(tok.Stops(), []int32{2, 4}) || !slices.Equal(tok.Frame(got)[:2], []int32{6, 2}) ||
		!tok.Special(4) || tok.Special(6) || len(tok.Tokens()) != 7 || tok.Tokens()[2] != "ab" {
		t.Errorf("%d, %q, stops at %d, framed %d", got, tok.Decode(got), tok.Stops(), tok.Frame(got))
	}
	// SentencePiece: "bc" has a better score than "ab".
	tok, err = tokenizer.ReadGGUF(bytes.NewReader(gguf(ggml+"model", "llama", ggml+"tokens", []string{"<unk>", "</s>", "a", "b", "c", "ab", "bc", "▁", "▁a", "<0xC3>", "<0xA9>"},
		ggml+"scores", []float32{0, 0, -5, -5, -5, -2, -1, -5, -3, 0, 0}, ggml+"token_type", []int32{2, 3, 1, 1, 1, 1, 1, 1, 1, 6, 6}, ggml+"unknown_token_id", uint32(0))), tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got = tok.Encode("abcé")
	if want := []int32{8, 6, 9, 10}; !slices.Equal(got, want) || tok.Decode(got) != "abcé" {
		t.Errorf("%d, %q, want %d", got, tok.Decode(got), want)
	}
}

func TestReadGGUF_errors(t *testing.T) {
	tokens := []any{ggml + "tokens", []string{"a", "b"}}
	with := func(pairs ...any) []byte { return gguf(append(slices.Clone(tokens), pairs...)...) }
	bytewise := func(pairs ...any) []byte {
		return with(append([]any{ggml + "model", "gpt2", ggml + "pre", "gpt-2"}, pairs...)...)
	}
	pieces := func(pairs ...any) []byte {
		return with(append([]any{ggml + "model", "llama", ggml + "scores", []float32{0, 0}}, pairs...)...)
	}
	whole := bytewise()
	for want, file := range map[string][]byte{
		`the key "tokenizer.ggml.pre" occurs twice`:                                                              with(ggml+"pre", "gpt-2", ggml+"pre", "smollm"),
		`the file begins with "ABCD"`:                                                                            []byte("ABCD"),
		"the version of GGUF is 9, want 2 or 3":                                                                  []byte("GGUF\x09\x00\x00\x00"),
		"the file ends in its metadata":                                                                          whole[:len(whole)-3],
		`tokenizer.ggml.model is "bert", which is not supported`:                                                 with(ggml+"model", "bert"),
		`tokenizer.ggml.pre is "odd", which is not supported`:                                                    with(ggml+"model", "gpt2", ggml+"pre", "odd"),
		"tokenizer.ggml.tokens has 0 texts":                                                                      gguf(),
		"tokenizer.ggml.tokens has 2 texts and token_type 1":                                                     with(ggml+"token_type", []int32{1}),
		"tokenizer.ggml.tokens has 2 texts and scores 0":                                                         with(ggml+"model", "llama"),
		"tokenizer.ggml.eos_token_id is 2, want 0 to 1":                                                          with(ggml+"model", "gpt2", ggml+"pre", "gpt-2", ggml+"eos_token_id", uint32(2)),
		"tokenizer.ggml.add_bos_token is set and the file has no bos_token_id":                                   with(ggml+"model", "gpt2", ggml+"pre", "gpt-2", ggml+"add_bos_token", true),
		`the token "a" has the numbers 0 and 1`:                                                                  gguf(ggml+"tokens", []string{"a", "a"}),
		`tokenizer.ggml.merges[0] is "ab"`:                                                                       with(ggml+"model", "gpt2", ggml+"pre", "gpt-2", ggml+"merges", []string{"ab"}),
		`tokenizer.ggml.tokens[0] is "1" of type whole number, want string: write the file again with that type`: gguf(ggml+"tokens", []int32{1}),
		`tokenizer.ggml.tokens is "a" of type string, want array`:                                                gguf(ggml+"tokens", "a"),
		`tokenizer.ggml.model is "1" of type whole number, want string`:                                          with(ggml+"model", uint32(1)),
		`tokenizer.ggml.pre is "true" of type bool, want string`:                                                 with(ggml+"model", "gpt2", ggml+"pre", true),
		`tokenizer.ggml.token_type is "3" of type whole number, want array`:                                      bytewise(ggml+"token_type", uint32(3)),
		"tokenizer.ggml.tokens has 2 texts and token_type 0":                                                     bytewise(ggml+"token_type", []int32{}),
		`tokenizer.ggml.scores[0] is "1" of type whole number, want float`:                                       with(ggml+"model", "llama", ggml+"scores", []int32{1, 1}),
		`tokenizer.ggml.merges is "a b" of type string, want array`:                                              bytewise(ggml+"merges", "a b"),
		`tokenizer.ggml.merges[0] is "a b c": want two texts`:                                                    bytewise(ggml+"merges", []string{"a b c"}),
		`tokenizer.ggml.eos_token_id is "1" of type string, want whole number`:                                   bytewise(ggml+"eos_token_id", "1"),
		`tokenizer.ggml.eos_token_id is "3" of type string, want whole number`:                                   bytewise(ggml+"eos_token_id", "3", ggml+"add_eos_token", true),
		`tokenizer.ggml.bos_token_id is "0" of type string, want whole number`:                                   bytewise(ggml+"bos_token_id", "0", ggml+"add_bos_token", true),
		`tokenizer.ggml.add_bos_token is "1" of type whole number, want bool`:                                    bytewise(ggml+"bos_token_id", uint32(0), ggml+"add_bos_token", uint32(1)),
		`tokenizer.ggml.unknown_token_id is "0" of type string, want whole number`:                               pieces(ggml+"unknown_token_id", "0"),
		"tokenizer.ggml.unknown_token_id is 99, want 0 to 1":                                                     pieces(ggml+"unknown_token_id", uint32(99)),
		`tokenizer.ggml.add_space_prefix is "0" of type whole number, want bool`:                                 pieces(ggml+"add_space_prefix", uint32(0)),
		"a text has 4294967295 bytes":                                                                            append([]byte("GGUF\x03\x00\x00\x00"+strings.Repeat("\x00", 8)+"\x01\x00\x00\x00\x00\x00\x00\x00"), "\xff\xff\xff\xff\x00\x00\x00\x00"...),
	} {
		if _, err := tokenizer.ReadGGUF(bytes.NewReader(file), tokenizer.Options{}); err == nil || !strings.HasPrefix(err.Error(), "tokenizer: GGUF: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzReadGGUF reads heads of files.
func FuzzReadGGUF(f *testing.F) {
	f.Add(gguf(ggml+"model", "gpt2", ggml+"pre", "smollm", ggml+"tokens", []string{"a", "b", "ab"}, ggml+"merges", []string{"a b"}, ggml+"eos_token_id", uint32(1)))
	f.Add(gguf(ggml+"model", "llama", ggml+"tokens", []string{"a", "▁"}, ggml+"scores", []float32{0, 1}, ggml+"token_type", []int32{1, 1}))
	f.Fuzz(func(t *testing.T, file []byte) {
		tok, err := tokenizer.ReadGGUF(bytes.NewReader(file), tokenizer.Options{})
		if err != nil {
			return
		}
		for _, id := range tok.Encode("ab é") {
			if int(id) >= tok.Size() {
				t.Fatalf("the token %d of %d", id, tok.Size())
			}
		}
	})
}
