package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// Decode returns the text of tokens, without those that are for control, see [Tokenizer.Special]. A number without a token has
// no text. Bytes that are not UTF-8 become U+FFFD.
func (t *Tokenizer) Decode(ids []int32) string { return t.decode(ids, false) }

// DecodeAll returns the text of tokens, with those that are for control.
func (t *Tokenizer) DecodeAll(ids []int32) string { return t.decode(ids, true) }

func (t *Tokenizer) decode(ids []int32, all bool) string {
	d := t.decoders.take()
	d.reset(t, all)
	d.whole = true
	for _, id := range ids {
		d.add(id)
	}
	d.flush(0)
	text := string(d.out)
	if len(d.out) <= maxKept {
		t.decoders.put(d)
	}
	return text
}

// Decoder makes the text of tokens that come one by one. One goroutine at a time uses it.
type Decoder struct {
	t      *Tokenizer
	all    bool
	whole  bool // for Decode
	states []state
	token  []byte
	out    []byte
}

// NewDecoder makes a Decoder; with control, its text has the tokens that are for control.
func (t *Tokenizer) NewDecoder(control bool) *Decoder {
	d := &Decoder{}
	d.reset(t, control)
	return d
}

func (d *Decoder) reset(t *Tokenizer, all bool) {
	d.t, d.all, d.out = t, all, d.out[:0]
	if len(d.states) != len(t.chain) {
		d.states = make([]state, len(t.chain))
	}
	for i := range d.states {
		d.states[i] = state{held: d.states[i].held[:0], work: d.states[i].work[:0]}
	}
}

// Next adds a token and returns the text that is certain now. It has whole runes only, so it may be empty. All texts and that
// of Close are the one of [Tokenizer.Decode], unless byte tokens of a SentencePiece model are not UTF-8: there, Decode makes
// U+FFFD of each byte of the run, and a Decoder has returned the runes at its start.
func (d *Decoder) Next(id int32) string {
	d.out = d.out[:0]
	d.add(id)
	return string(d.out)
}

// Close returns the text that waited for more. After it, the Decoder begins another text.
func (d *Decoder) Close() string {
	d.out = d.out[:0]
	d.flush(0)
	text := string(d.out)
	d.reset(d.t, d.all)
	return text
}

func (d *Decoder) add(id int32) {
	token := d.t.Token(id)
	if token == "" || !d.all && d.t.special[id] {
		return
	}
	if written, ok := d.t.written[id]; ok {
		token = written
	}
	d.token = append(d.token[:0], token...)
	d.push(0, d.token)
}

// state is that of a stage in one text.
type state struct {
	held  []byte // what waits
	work  []byte
	count int
}

// A stage of decoding takes tokens and passes texts on to the next one.
type stage interface {
	take(d *Decoder, at int, s *state, token []byte)
	end(d *Decoder, at int, s *state)
}

// push gives a text to a stage.
func (d *Decoder) push(at int, text []byte) {
	if at == len(d.t.chain) {
		d.out = append(d.out, text...)
		return
	}
	d.t.chain[at].take(d, at, &d.states[at], text)
}

// flush ends the stages from one on.
func (d *Decoder) flush(from int) {
	for i := from; i < len(d.t.chain); i++ {
		d.t.chain[i].end(d, i, &d.states[i])
	}
}

// readStages reads the decoder of a file, a sequence as its members.
func readStages(text json.RawMessage, what string, depth int) (all []stage, err error) {
	if text == nil || string(text) == "null" {
		return []stage{joined{}}, nil
	}
	var p struct {
		Type        string
		Decoders    []json.RawMessage
		Pattern     json.RawMessage
		Content     *string
		Start, Stop int
		Replacement string
		Scheme      *string `json:"prepend_scheme"`
		PrefixSpace *bool   `json:"add_prefix_space"`
		Prefix      *string
		Cleanup     *bool
		Suffix      *string
	}
	if err := jsonlines.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	switch p.Type {
	case "Sequence":
		if depth > maxNesting {
			return nil, fmt.Errorf("%s is deeper than %d", what, maxNesting)
		}
		if p.Decoders == nil {
			return nil, absent(what, p.Type, "decoders")
		}
		for i, text := range p.Decoders {
			more, err := readStages(text, fmt.Sprintf("%s.decoders[%d]", what, i), depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		for i, s := range all {
			if err := follows(all[:i], s, what); err != nil {
				return nil, err
			}
		}
		return all, nil
	case "ByteLevel":
		return []stage{ofLetters{}}, nil
	case "ByteFallback":
		return []stage{ofBytes{}}, nil
	case "Fuse":
		return []stage{fuse{}}, nil
	case "Replace":
		if p.Content == nil {
			return nil, absent(what, p.Type, "content")
		}
		f, err := readFinder(p.Pattern, what)
		return []stage{&replaced{replace{f, *p.Content}}}, err
	case "Strip":
		if p.Content == nil {
			return nil, absent(what, p.Type, "content")
		}
		if utf8.RuneCountInString(*p.Content) != 1 || p.Start < 0 || p.Stop < 0 {
			return nil, fmt.Errorf("%s: Strip has the content %q, start %d and stop %d: want one rune, and no negative numbers", what, *p.Content, p.Start, p.Stop)
		}
		return []stage{&stripped{[]byte(*p.Content), p.Start, p.Stop, false}}, nil
	case "Metaspace":
		if utf8.RuneCountInString(p.Replacement) != 1 {
			return nil, fmt.Errorf("%s.replacement is %q, want one rune", what, p.Replacement)
		}
		keep := p.Scheme != nil && *p.Scheme == "never" || p.Scheme == nil && p.PrefixSpace != nil && !*p.PrefixSpace
		return []stage{&spaces{[]byte(p.Replacement), keep}}, nil
	case "WordPiece":
		w := &continued{"##", p.Cleanup == nil || *p.Cleanup}
		if p.Prefix != nil {
			w.prefix = *p.Prefix
		}
		return []stage{w}, nil
	case "BPEDecoder":
		b := &ended{"</w>"}
		if p.Suffix != nil {
			b.suffix = *p.Suffix
		}
		return []stage{b}, nil
	}
	return nil, unsupported(what, p.Type, "ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, WordPiece, BPEDecoder, Sequence")
}

// follows checks a stage after those before it: what has become one text comes in pieces.
func follows(before []stage, s stage, what string) error {
	one := false
	for _, b := range before {
		switch b.(type) {
		case fuse, ofLetters:
			one = true
		}
	}
	if !one {
		return nil
	}
	switch s := s.(type) {
	case fuse:
	case *stripped:
		s.once = true
	case *replaced:
		if s.expr != nil || utf8.RuneCount(s.text) != 1 {
			return fmt.Errorf("%s: after Fuse or ByteLevel, a Replace of more than one rune is not supported", what)
		}
	default:
		return fmt.Errorf("%s: after Fuse or ByteLevel, only Fuse, Strip and Replace are supported", what)
	}
	return nil
}

// joined is for a file without a decoder: a space between the tokens.
type joined struct{}

func (joined) take(d *Decoder, at int, s *state, token []byte) {
	if s.count++; s.count > 1 {
		d.push(at+1, []byte(" "))
	}
	d.push(at+1, token)
}
func (joined) end(*Decoder, int, *state) {}

type fuse struct{}

func (fuse) take(d *Decoder, at int, _ *state, token []byte) { d.push(at+1, token) }
func (fuse) end(*Decoder, int, *state)                       {}

type replaced struct{ replace }

func (r *replaced) take(d *Decoder, at int, s *state, token []byte) {
	s.work = s.work[:0]
	for i := 0; r.expr == nil && len(r.text) > 0; {
		start := bytes.Index(token[i:], r.text)
		if start < 0 {
			token = token[i:]
			break
		}
		s.work = append(append(s.work, token[i:i+start]...), r.by...)
		i += start + len(r.text)
	}
	if r.expr != nil {
		s.work = r.apply(s.work, token, new(scratch))
		token = nil
	}
	s.work = append(s.work, token...)
	d.push(at+1, s.work)
}
func (*replaced) end(*Decoder, int, *state) {}

// ofLetters makes the bytes of the letters of byte-level tokens; tokens with other letters stay.
type ofLetters struct{}

func (ofLetters) take(d *Decoder, at int, s *state, token []byte) {
	n := len(s.held)
	var ok bool
	if s.held, ok = appendBytes(s.held, string(token)); !ok {
		s.held = append(s.held[:n], token...)
	}
	s.held = d.runes(at, s, s.held, false)
}

func (ofLetters) end(d *Decoder, at int, s *state) { s.held = d.runes(at, s, s.held, true) }

// runes passes on the whole runes at the start of bytes, and U+FFFD for what never becomes one. It returns the rest.
func (d *Decoder) runes(at int, s *state, text []byte, end bool) []byte {
	s.work = s.work[:0]
	rest := text
	for len(rest) > 0 {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			if !end && !utf8.FullRune(rest) {
				break
			}
			n = broken(rest)
			s.work = append(s.work, "\uFFFD"...)
		} else {
			s.work = append(s.work, rest[:n]...)
		}
		rest = rest[n:]
	}
	if len(s.work) > 0 {
		d.push(at+1, s.work)
	}
	return text[:copy(text, rest)]
}

// broken returns the length of what one U+FFFD stands for: the start of a rune that does not go on, or one byte.
func broken(text []byte) int {
	for n := min(3, len(text)); n > 1; n-- {
		if !utf8.FullRune(text[:n]) { // a start of some rune
			return n
		}
	}
	return 1
}

// ofBytes makes bytes of tokens such as <0x0A>.
type ofBytes struct{}

func (ofBytes) take(d *Decoder, at int, s *state, token []byte) {
	if len(token) == 6 && string(token[:3]) == "<0x" && token[5] == '>' {
		if b, err := strconv.ParseUint(string(token[3:5]), 16, 8); err == nil {
			s.held = append(s.held, byte(b))
			if d.whole {
				return
			}
			for utf8.FullRune(s.held) {
				r, n := utf8.DecodeRune(s.held)
				if r == utf8.RuneError && n == 1 {
					return
				}
				d.push(at+1, s.held[:n])
				s.held = s.held[:copy(s.held, s.held[n:])]
			}
			return
		}
	}
	ofBytes{}.end(d, at, s)
	d.push(at+1, token)
}

func (ofBytes) end(d *Decoder, at int, s *state) {
	if len(s.held) > 0 && utf8.Valid(s.held) {
		d.push(at+1, s.held)
	} else {
		for range s.held {
			d.push(at+1, []byte("\uFFFD"))
		}
	}
	s.held = s.held[:0]
}

// stripped takes a rune away at the start and the end of each token, or of the whole text.
type stripped struct {
	content     []byte
	start, stop int
	once        bool
}

func (t *stripped) take(d *Decoder, at int, s *state, token []byte) {
	if !t.once {
		s.count = 0
	}
	for ; s.count >= 0 && s.count < t.start; s.count++ {
		if len(token) == 0 && t.once {
			return
		}
		if !bytes.HasPrefix(token, t.content) {
			break
		}
		token = token[len(t.content):]
	}
	if s.count = -1; !t.once {
		for range t.stop {
			token = bytes.TrimSuffix(token, t.content)
		}
		d.push(at+1, token)
		return
	}
	s.held = append(s.held, token...)
	keep := len(s.held)
	for i := 0; i < t.stop && bytes.HasSuffix(s.held[:keep], t.content); i++ {
		keep -= len(t.content)
	}
	d.push(at+1, s.held[:keep])
	s.held = s.held[:copy(s.held, s.held[keep:])]
}

func (*stripped) end(_ *Decoder, _ int, s *state) { s.held = s.held[:0] }

// spaces makes spaces of signs, and none of those in the first token.
type spaces struct {
	sign []byte
	keep bool
}

func (m *spaces) take(d *Decoder, at int, s *state, token []byte) {
	by := " "
	if s.count++; s.count == 1 && !m.keep {
		by = ""
	}
	s.work = s.work[:0]
	for i := 0; i < len(token); {
		if bytes.HasPrefix(token[i:], m.sign) {
			s.work = append(s.work, by...)
			i += len(m.sign)
			continue
		}
		s.work = append(s.work, token[i])
		i++
	}
	d.push(at+1, s.work)
}
func (*spaces) end(*Decoder, int, *state) {}

// continued joins the tokens of WordPiece.
type continued struct {
	prefix string
	clean  bool
}

// cleanup is what Hugging Face's library replaces in a token, one after another.
var cleanup = [][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"},
	{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}}

func (w *continued) take(d *Decoder, at int, s *state, token []byte) {
	text := string(token)
	if s.count++; s.count > 1 {
		if rest, ok := strings.CutPrefix(text, w.prefix); ok {
			text = rest
		} else {
			text = " " + text
		}
	}
	if w.clean {
		for _, c := range cleanup {
			text = strings.ReplaceAll(text, c[0], c[1])
		}
	}
	d.push(at+1, []byte(text))
}
func (*continued) end(*Decoder, int, *state) {}

// ended makes spaces of what ends a word, except at the end of the text.
type ended struct{ suffix string }

func (e *ended) take(d *Decoder, at int, s *state, token []byte) {
	if s.count++; s.count > 1 {
		d.push(at+1, []byte(strings.ReplaceAll(string(s.held), e.suffix, " ")))
	}
	s.held = append(s.held[:0], token...)
}

func (e *ended) end(d *Decoder, at int, s *state) {
	d.push(at+1, []byte(strings.ReplaceAll(string(s.held), e.suffix, "")))
	s.held = s.held[:0]
}
