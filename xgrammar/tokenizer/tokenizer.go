package tokenizer

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/xgrammar/internal/tokenfile"
)

// Tokenizer makes tokens of texts and texts of tokens. Several goroutines may use it at once.
type Tokenizer struct {
	tokens  []string
	ids     map[string]int32
	special []bool
	written map[int32]string // of added tokens that the normalizers change
	early   *added           // found in the text as it is
	late    *added           // found in the text as the normalizers make it
	normal  []normalizer
	split   []splitter
	model   model
	cached  bool
	before  []int32 // Frame's
	after   []int32
	chain   []stage
	stops   []int32

	scratches shelf[scratch]
	decoders  shelf[Decoder]
}

type model interface {
	append(ids []int32, s *scratch, word []byte) []int32
}

// Options are what a file does not say.
type Options struct {
	// Plain names added tokens, such as "<table>", that are tokens in the texts of users too. Added tokens of white space
	// alone are so without being named; every other one is ordinary text there.
	Plain []string
}

// Open reads the file tokenizer.json of a model, such as os.DirFS("model").
func Open(files fs.FS, o Options) (*Tokenizer, error) {
	text, err := fs.ReadFile(files, "tokenizer.json")
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return Read(text, o)
}

// Read makes a Tokenizer of the text of a file tokenizer.json of Hugging Face's tokenizers. If the file has something that is
// not supported, the error names it and what is.
func Read(text []byte, o Options) (*Tokenizer, error) {
	file, err := tokenfile.Read(text)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t, err := newTokenizer(file, o)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return t, nil
}

// ReadGGUF makes a Tokenizer of the metadata of a GGUF file, and reads no further. Byte-level BPE (model gpt2) with the
// pre-tokenizers gpt-2, smollm, starcoder, refact, command-r, llama-bpe, qwen2 and gpt-4o, and the BPE of SentencePiece (model
// llama) are supported. The file also says which tokens end a text: see [Tokenizer.Stops].
func ReadGGUF(from io.Reader, o Options) (*Tokenizer, error) {
	file, stops, err := tokenfile.ReadGGUF(from)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: GGUF: %w", err)
	}
	t, err := newTokenizer(file, o)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: GGUF: %w", err)
	}
	t.stops = stops
	return t, nil
}

func newTokenizer(file *tokenfile.File, o Options) (*Tokenizer, error) {
	t := &Tokenizer{tokens: file.Tokens, ids: make(map[string]int32, len(file.Tokens)), special: make([]bool, len(file.Tokens)), written: map[int32]string{}}
	for id, token := range t.tokens {
		if token != "" {
			t.ids[token] = int32(id)
		}
	}
	plain := map[string]bool{}
	for _, token := range o.Plain {
		if !slices.ContainsFunc(file.Added, func(a tokenfile.Added) bool { return a.Content == token }) {
			return nil, fmt.Errorf("Options.Plain has %q, which is not one of the %d added tokens", token, len(file.Added))
		}
		plain[token] = true
	}
	var err error
	if t.normal, err = readNormalizers(file.Normalizer, "normalizer", 0); err != nil {
		return nil, err
	}
	if t.split, err = readSplitters(file.PreTokenizer, "pre_tokenizer", 0); err != nil {
		return nil, err
	}
	t.readAdded(file.Added, plain)
	if err := t.readModel(file, plain); err != nil {
		return nil, err
	}
	if err := t.readFrame(file.PostProcessor, "post_processor", 0); err != nil {
		return nil, err
	}
	t.chain, err = readStages(file.Decoder, "decoder", 0)
	return t, err
}

func (t *Tokenizer) readAdded(all []tokenfile.Added, plain map[string]bool) {
	var early, late []tokenfile.Added
	var texts, lateTexts []string
	s := &scratch{}
	for _, token := range all {
		if token.Content == "" {
			continue
		}
		t.special[token.ID] = t.special[token.ID] || token.Special
		if !token.Normalized {
			early, texts = append(early, token), append(texts, token.Content)
			continue
		}
		text := string(t.normalize(s, []byte(token.Content)))
		late, lateTexts = append(late, token), append(lateTexts, text)
		if text != token.Content {
			t.written[int32(token.ID)] = text
		}
	}
	t.early, t.late = newAdded(early, texts, plain), newAdded(late, lateTexts, plain)
}

func (t *Tokenizer) readModel(file *tokenfile.File, plain map[string]bool) (err error) {
	switch m := &file.Model; m.Type {
	case "BPE":
		raw := false
		if n := len(t.split); n > 0 && m.Prefix == "" && m.Suffix == "" {
			if _, raw = t.split[n-1].(lettered); raw {
				t.split = t.split[:n-1]
			}
		}
		t.cached = len(t.split) > 0
		t.model, err = newBPE(m, raw)
	case "Unigram":
		control := map[string]bool{}
		for _, token := range file.Added {
			control[token.Content] = token.Content != "" && !plain[token.Content] && !isPlain(token.Content)
		}
		t.model, err = newUnigram(m, control)
	case "WordPiece", "WordLevel":
		t.model, err = newWords(m)
	default:
		err = unsupported("model", m.Type, "BPE, Unigram, WordPiece, WordLevel")
	}
	return err
}

// readFrame reads the tokens that the post-processor puts round a text.
func (t *Tokenizer) readFrame(text json.RawMessage, what string, depth int) error {
	if text == nil || string(text) == "null" {
		return nil
	}
	var p struct {
		Type       string
		Processors []json.RawMessage
		Single     []map[string]struct{ ID string }
		Special    map[string]struct{ IDs []int32 } `json:"special_tokens"`
		Sep, Cls   []json.RawMessage
	}
	if err := jsonlines.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	known := func(id int32) error {
		if id < 0 || int(id) >= len(t.tokens) {
			return fmt.Errorf("%s has the token %d, want 0 to %d", what, id, len(t.tokens)-1)
		}
		return nil
	}
	switch p.Type {
	case "ByteLevel":
		return nil
	case "Sequence":
		if depth > maxNesting {
			return fmt.Errorf("%s is deeper than %d", what, maxNesting)
		}
		if p.Processors == nil {
			return absent(what, p.Type, "processors")
		}
		for i, text := range p.Processors {
			if err := t.readFrame(text, fmt.Sprintf("%s.processors[%d]", what, i), depth+1); err != nil {
				return err
			}
		}
		return nil
	case "TemplateProcessing":
		var before, after []int32
		seen := false
		for i, part := range p.Single {
			if _, is := part["Sequence"]; is && !seen {
				seen = true
				continue
			}
			token, is := part["SpecialToken"]
			ids, has := p.Special[token.ID]
			if !is || !has {
				return fmt.Errorf("%s.single[%d]: want the text once, and tokens of special_tokens", what, i)
			}
			if len(ids.IDs) == 0 {
				return fmt.Errorf("%s.special_tokens has %q without ids: want the numbers of its tokens", what, token.ID)
			}
			for _, id := range ids.IDs {
				if err := known(id); err != nil {
					return err
				}
			}
			if seen {
				after = append(after, ids.IDs...)
			} else {
				before = append(before, ids.IDs...)
			}
		}
		if !seen {
			return fmt.Errorf("%s.single: want the text once, and tokens of special_tokens", what)
		}
		t.before, t.after = append(before, t.before...), append(t.after, after...)
		return nil
	case "BertProcessing", "RobertaProcessing":
		for _, side := range []struct {
			pair []json.RawMessage
			to   *[]int32
		}{{p.Cls, &t.before}, {p.Sep, &t.after}} {
			var id int32
			if len(side.pair) != 2 || string(side.pair[1]) == "null" || json.Unmarshal(side.pair[1], &id) != nil {
				return fmt.Errorf("%s: want the texts and numbers of sep and cls", what)
			}
			if err := known(id); err != nil {
				return err
			}
			*side.to = append(*side.to, id)
		}
		return nil
	}
	return unsupported(what, p.Type, "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing, Sequence")
}

// Stops returns the tokens that end a text, if the tokenizer comes from a GGUF file. A tokenizer.json does not say it: the
// configurations beside it do, which xgrammar.OpenTokenizer reads.
func (t *Tokenizer) Stops() []int32 { return slices.Clone(t.stops) }

// Size returns the number of tokens, with the numbers that have none.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// Token returns the text of a token as the file has it, such as "Ġthe", or "" if there is none.
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// Tokens returns the texts of all tokens in the order of their numbers, "" where there is none. With them, and
// [Tokenizer.Stops], xgrammar.NewVocabulary makes the vocabulary of a GGUF file.
func (t *Tokenizer) Tokens() []string { return slices.Clone(t.tokens) }

// ID returns the number of a token, such as "<|im_end|>", and whether there is one.
func (t *Tokenizer) ID(token string) (id int32, known bool) {
	id, known = t.ids[token]
	return id, known
}

// Special reports whether a token is for control: [Tokenizer.Decode] leaves it out.
func (t *Tokenizer) Special(id int32) bool {
	return id >= 0 && int(id) < len(t.special) && t.special[id]
}

// Part is a part of a text.
type Part struct {
	Text string
	// Control says that the part is of a template: the added tokens of the file, such as "<|im_end|>", are tokens in it. In
	// other parts, which are of users, they stay text, and no text becomes one of them.
	Control bool
}

// Encode returns the tokens of a text of a user, without the tokens that [Tokenizer.Frame] adds. A byte that is not UTF-8
// counts as U+FFFD.
func (t *Tokenizer) Encode(text string) []int32 { return t.Append(nil, Part{Text: text}) }

// EncodeParts returns the tokens of a text whose parts come from a template and from users. The parts are one text: a word may
// go across their borders. A token of control lies in parts of control alone.
func (t *Tokenizer) EncodeParts(parts ...Part) []int32 { return t.Append(nil, parts...) }

// Frame puts the tokens round those of one text that the file names for it, such as the beginning of a text. The templates of
// chats often have them already.
func (t *Tokenizer) Frame(ids []int32) []int32 { return slices.Concat(t.before, ids, t.after) }

// Append appends the tokens of a text, as [Tokenizer.EncodeParts] returns them. It allocates nothing but the place for
// them, and what golang.org/x/text takes for a text that is not in the normal form of the file.
func (t *Tokenizer) Append(ids []int32, parts ...Part) []int32 {
	s := t.scratches.take()
	if t.cached && s.cache == nil {
		s.cache = new(cache)
	}
	s.text, s.control = s.text[:0], s.control[:0]
	for _, p := range parts {
		start := len(s.text)
		s.text = appendValid(s.text, p.Text)
		if n := len(s.control); p.Control && n > 0 && s.control[n-1].end == start {
			s.control[n-1].end = len(s.text)
		} else if p.Control {
			s.control = append(s.control, span{start, len(s.text)})
		}
	}
	if ids == nil {
		ids = make([]int32, 0, len(s.text)/3+4)
	}
	done := 0
	for at := 0; t.early != nil; {
		token, from, to, after := t.early.next(s.text, s.control, at, done)
		if token < 0 {
			break
		}
		ids = t.part(ids, s, done, from)
		ids = append(ids, int32(t.early.tokens[token].ID))
		at, done = after, to
	}
	ids = t.part(ids, s, done, len(s.text))
	if len(s.text) <= maxKept {
		t.scratches.put(s)
	}
	return ids
}

// appendValid appends a text, with U+FFFD for each byte that is not UTF-8.
func appendValid(to []byte, text string) []byte {
	if utf8.ValidString(text) {
		return append(to, text...)
	}
	for _, r := range text {
		to = utf8.AppendRune(to, r)
	}
	return to
}

// normalize returns a text as the normalizers make it.
func (t *Tokenizer) normalize(s *scratch, text []byte) []byte {
	for _, n := range t.normal {
		text = n.apply(s.rewrite(), text, s)
		s.rewritten(text)
	}
	return text
}

// part encodes a part of the text that has no early token.
func (t *Tokenizer) part(ids []int32, s *scratch, start, end int) []int32 {
	if start >= end {
		return ids
	}
	text := s.text[start:end]
	if t.late == nil {
		return t.ordinary(ids, s, t.normalize(s, text), start == 0)
	}
	s.inPart = s.inPart[:0]
	for _, c := range s.control {
		if c = (span{max(c.start, start) - start, min(c.end, end) - start}); c.start < c.end {
			if len(t.normal) > 0 {
				c = span{len(t.normalize(s, text[:c.start])), len(t.normalize(s, text[:c.end]))}
			}
			s.inPart = append(s.inPart, c)
		}
	}
	s.part = append(s.part[:0], t.normalize(s, text)...)
	done := 0
	for at := 0; ; {
		token, from, to, after := t.late.next(s.part, s.inPart, at, done)
		if token < 0 {
			break
		}
		ids = t.ordinary(ids, s, s.part[done:from], start == 0 && done == 0)
		ids = append(ids, int32(t.late.tokens[token].ID))
		at, done = after, to
	}
	return t.ordinary(ids, s, s.part[done:], start == 0 && done == 0)
}

// ordinary encodes a text that has no added tokens; first says that it is the start of the whole text.
func (t *Tokenizer) ordinary(ids []int32, s *scratch, text []byte, first bool) []int32 {
	if len(text) == 0 {
		return ids
	}
	words := append(s.words[s.turn][:0], span{0, len(text)})
	s.words[s.turn] = words
	for _, split := range t.split {
		text, words = split.split(s, text, words, first)
	}
	for _, w := range words {
		ids = t.model.append(ids, s, text[w.start:w.end])
	}
	return ids
}
