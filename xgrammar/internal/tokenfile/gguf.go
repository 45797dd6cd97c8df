package tokenfile

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// ReadGGUF reads the tokenizer in the metadata of a GGUF file, and the tokens that end a text. It reads no further than the
// metadata, and its memory follows what it has read.
func ReadGGUF(from io.Reader) (*File, []int32, error) {
	r := &ggufReader{from: bufio.NewReaderSize(from, 1<<16)}
	all := r.metadata()
	if r.err != nil {
		if errors.Is(r.err, io.EOF) || errors.Is(r.err, io.ErrUnexpectedEOF) {
			r.err = errors.New("the file ends in its metadata")
		}
		return nil, nil, r.err
	}
	return all.file()
}

// metadata has the values of a file whose keys begin with "tokenizer.ggml.", without that.
type metadata map[string]any

const ggufPrefix = "tokenizer.ggml."

// ggufReader reads little-endian values. After an error it returns zeros.
type ggufReader struct {
	from *bufio.Reader
	err  error
}

func (r *ggufReader) bytes(n int) []byte {
	var b [8]byte
	if r.err == nil {
		_, r.err = io.ReadFull(r.from, b[:n])
	}
	return b[:]
}

func (r *ggufReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *ggufReader) uint64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

// text reads a text. Its length is believed as far as the file goes.
func (r *ggufReader) text() string {
	n := r.uint64()
	if r.err != nil {
		return ""
	}
	if n > 1<<26 {
		r.err = fmt.Errorf("a text has %d bytes, want at most %d", n, 1<<26)
		return ""
	}
	var b strings.Builder
	if _, err := io.CopyN(&b, r.from, int64(n)); err != nil {
		r.err = err
	}
	return b.String()
}

// value reads a value: a bool, int64, float64, string, or a slice of one of these.
func (r *ggufReader) value(kind uint32, inArray bool) any {
	switch kind {
	case 0:
		return int64(r.bytes(1)[0])
	case 1:
		return int64(int8(r.bytes(1)[0]))
	case 2:
		return int64(binary.LittleEndian.Uint16(r.bytes(2)))
	case 3:
		return int64(int16(binary.LittleEndian.Uint16(r.bytes(2))))
	case 4:
		return int64(r.uint32())
	case 5:
		return int64(int32(r.uint32()))
	case 6:
		return float64(math.Float32frombits(r.uint32()))
	case 7:
		return r.bytes(1)[0] != 0
	case 8:
		return r.text()
	case 9:
		if inArray {
			break
		}
		kind, n := r.uint32(), r.uint64()
		var all []any
		for i := uint64(0); i < n && r.err == nil; i++ {
			all = append(all, r.value(kind, true))
		}
		return all
	case 10, 11:
		return int64(r.uint64())
	case 12:
		return math.Float64frombits(r.uint64())
	}
	if r.err == nil {
		r.err = fmt.Errorf("a value has the type %d, want 0 to 12, and no lists in lists", kind)
	}
	return nil
}

func (r *ggufReader) metadata() metadata {
	if magic := r.bytes(4)[:4]; r.err == nil && string(magic) != "GGUF" {
		r.err = fmt.Errorf("the file begins with %q, want \"GGUF\"", magic)
	}
	if version := r.uint32(); r.err == nil && version != 2 && version != 3 {
		r.err = fmt.Errorf("the version of GGUF is %d, want 2 or 3, little-endian", version)
	}
	r.uint64() // tensors
	n, all := r.uint64(), metadata{}
	for i := uint64(0); i < n && r.err == nil; i++ {
		key := r.text()
		value := r.value(r.uint32(), false)
		if name, ok := strings.CutPrefix(key, ggufPrefix); ok {
			if _, twice := all[name]; twice && r.err == nil {
				r.err = fmt.Errorf("the key %.200q occurs twice", key)
			}
			all[name] = value
		}
	}
	return all
}

// get returns the value of a key as T, which is one of the types that ggufReader.value returns. It reports false without the key.
func get[T any](m metadata, name string) (v T, ok bool, err error) {
	value, ok := m[name]
	if !ok {
		return v, false, nil
	}
	if v, ok = value.(T); !ok {
		err = wrongType[T](name, value)
	}
	return v, ok, err
}

// list returns a list of values of one type, nil without the key.
func list[T any](m metadata, name string) (out []T, err error) {
	all, ok, err := get[[]any](m, name)
	if !ok {
		return nil, err
	}
	out = make([]T, 0, len(all))
	for i, value := range all {
		v, ok := value.(T)
		if !ok {
			return nil, wrongType[T](fmt.Sprintf("%s[%d]", name, i), value)
		}
		out = append(out, v)
	}
	return out, nil
}

// id returns the number of a token, which a key has. It reports false without the key.
func (m metadata) id(name string, tokens int) (id int64, ok bool, err error) {
	if id, ok, err = get[int64](m, name); ok && (id < 0 || id >= int64(tokens)) {
		err = fmt.Errorf("%s%s is %d, want 0 to %d", ggufPrefix, name, id, tokens-1)
	}
	return id, ok, err
}

func wrongType[T any](name string, value any) error {
	var want T
	return fmt.Errorf("%s%s is %.80q of type %s, want %s: write the file again with that type", ggufPrefix, name, fmt.Sprint(value), ggufType(value), ggufType(want))
}

// ggufType names the type of a value.
func ggufType(value any) string {
	switch value.(type) {
	case int64:
		return "whole number"
	case float64:
		return "float"
	case []any:
		return "array"
	}
	return fmt.Sprintf("%T", value)
}

// What types of tokens are.
const (
	ggufUnknown = 2
	ggufControl = 3
	ggufUser    = 4
)

func (m metadata) file() (*File, []int32, error) {
	tokens, err := list[string](m, "tokens")
	if err != nil {
		return nil, nil, err
	}
	types, err := list[int64](m, "token_type")
	if err != nil {
		return nil, nil, err
	}
	if len(tokens) == 0 || types != nil && len(types) != len(tokens) {
		return nil, nil, fmt.Errorf("%stokens has %d texts and token_type %d numbers, want the same number of both", ggufPrefix, len(tokens), len(types))
	}
	f := &File{Tokens: tokens, Model: Model{Type: "BPE", Vocab: make(map[string]int, len(tokens)), UnknownID: -1}}
	for id, token := range tokens {
		if other, twice := f.Model.Vocab[token]; twice && token != "" {
			return nil, nil, fmt.Errorf("the token %q has the numbers %d and %d", token, other, id)
		}
		f.Model.Vocab[token] = id
		if types != nil && (types[id] == ggufControl || types[id] == ggufUser || types[id] == ggufUnknown) {
			f.Added = append(f.Added, Added{ID: id, Content: token, Special: types[id] != ggufUser})
		}
	}
	kind, _, err := get[string](m, "model")
	if err != nil {
		return nil, nil, err
	}
	switch kind {
	case "gpt2":
		err = m.byteLevel(f)
	case "llama":
		err = m.sentencePiece(f, types)
	default:
		err = fmt.Errorf("%smodel is %q, which is not supported: want gpt2 or llama", ggufPrefix, kind)
	}
	if err != nil {
		return nil, nil, err
	}
	var stops []int32
	for _, name := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		id, ok, err := m.id(name, len(tokens))
		if err != nil {
			return nil, nil, err
		}
		if ok && !slices.Contains(stops, int32(id)) {
			stops = append(stops, int32(id))
		}
	}
	slices.Sort(stops)
	return f, stops, m.frame(f)
}

// frame writes the post-processor.
func (m metadata) frame(f *File) error {
	type part = map[string]map[string]string
	single, special := []part{{"Sequence": {"id": "A"}}}, map[string]map[string][]int64{}
	add := func(flag, name string) error {
		set, _, err := get[bool](m, flag)
		if err != nil || !set {
			return err
		}
		id, ok, err := m.id(name, len(f.Tokens))
		if err == nil && !ok {
			err = fmt.Errorf("%s%s is set and the file has no %s, want 0 to %d", ggufPrefix, flag, name, len(f.Tokens)-1)
		}
		if err != nil {
			return err
		}
		special[name] = map[string][]int64{"ids": {id}}
		token := part{"SpecialToken": {"id": name}}
		if name == "bos_token_id" {
			single = append([]part{token}, single...)
		} else {
			single = append(single, token)
		}
		return nil
	}
	if err := cmp.Or(add("add_bos_token", "bos_token_id"), add("add_eos_token", "eos_token_id")); err != nil {
		return err
	}
	var err error
	f.PostProcessor, err = json.Marshal(map[string]any{"type": "TemplateProcessing", "single": single, "special_tokens": special})
	return err
}

// The expressions of pre-tokenizers, by the names that llama.cpp gives them.
const (
	threeDigits = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	oneDigit    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	byCase      = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// byteLevel writes the parts of a byte-level tokenizer.
func (m metadata) byteLevel(f *File) error {
	lines, err := list[string](m, "merges")
	if err != nil {
		return err
	}
	for i, line := range lines {
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("%smerges[%d] is %q: want two texts with a space between them", ggufPrefix, i, line)
		}
		f.Model.Merges = append(f.Model.Merges, left, right)
	}
	type object = map[string]any
	split := func(expression string) []object {
		return []object{{"type": "Split", "pattern": object{"Regex": expression}, "behavior": "Isolated"}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}}
	}
	var parts []object
	pre, _, err := get[string](m, "pre")
	if err != nil {
		return err
	}
	switch pre {
	case "gpt-2":
		parts = []object{{"type": "ByteLevel", "add_prefix_space": false}}
	case "smollm", "starcoder", "refact", "command-r":
		parts = []object{{"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false}}
	case "llama-bpe", "llama3", "llama-v3":
		parts, f.Model.IgnoreMerges = split(threeDigits), true
	case "qwen2":
		parts, f.Normalizer = split(oneDigit), json.RawMessage(`{"type": "NFC"}`)
	case "gpt-4o":
		parts = split(byCase)
	default:
		return fmt.Errorf("%spre is %q, which is not supported: want gpt-2, smollm, starcoder, refact, command-r, llama-bpe, qwen2 or gpt-4o", ggufPrefix, pre)
	}
	f.Decoder = json.RawMessage(`{"type": "ByteLevel"}`)
	f.PreTokenizer, err = json.Marshal(object{"type": "Sequence", "pretokenizers": parts})
	return err
}

// sentencePiece makes merges of the scores, as Hugging Face's converter does: the better the score of a token, the earlier are
// the merges that make it.
func (m metadata) sentencePiece(f *File, types []int64) error {
	scores, err := list[float64](m, "scores")
	if err != nil {
		return err
	}
	if len(scores) != len(f.Tokens) {
		return fmt.Errorf("%stokens has %d texts and scores %d numbers, want the same number of both", ggufPrefix, len(f.Tokens), len(scores))
	}
	type merge struct {
		left, right string
		score       float64
		ids         [2]int
	}
	var merges []merge
	for id, token := range f.Tokens {
		if types != nil && types[id] != 1 || len(token) > 256 {
			continue // only ordinary tokens are made of others
		}
		for at := range token {
			left, ok := f.Model.Vocab[token[:at]]
			right, too := f.Model.Vocab[token[at:]]
			if at > 0 && ok && too {
				merges = append(merges, merge{token[:at], token[at:], scores[id], [2]int{left, right}})
			}
		}
	}
	slices.SortStableFunc(merges, func(a, b merge) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ids[0], b.ids[0]), cmp.Compare(a.ids[1], b.ids[1]))
	})
	for _, merge := range merges {
		f.Model.Merges = append(f.Model.Merges, merge.left, merge.right)
	}
	f.Model.ByteFallback, f.Model.FuseUnknown = true, true
	unknown, ok, err := m.id("unknown_token_id", len(f.Tokens))
	if err != nil {
		return err
	}
	if ok {
		f.Model.Unknown = f.Tokens[unknown]
	}
	normal, strip := `{"type": "Prepend", "prepend": "▁"}, `, `, {"type": "Strip", "content": " ", "start": 1, "stop": 0}`
	space, ok, err := get[bool](m, "add_space_prefix")
	if err != nil {
		return err
	}
	if ok && !space {
		normal, strip = "", ""
	}
	f.Normalizer = json.RawMessage(`{"type": "Sequence", "normalizers": [` + normal + `{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}`)
	f.Decoder = json.RawMessage(`{"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}` + strip + `]}`)
	return nil
}
