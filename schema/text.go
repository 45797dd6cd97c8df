package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTextLen bounds the canonical text that ParseSignature and ParseType read.
const maxTextLen = 1 << 20

// String returns the canonical text of the signature, such as
// "(garden.Plant, float) -> None". It does not depend on the format of the
// metadata, nor on parameter names, nor on the STL spelling of types. It is ""
// for nil, which is the signature of a packed function.
func (s *Signature) String() string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	writeSignature(&b, s.Normalized())
	return b.String()
}

// Params returns the canonical text of the parameters without the object, such as
// "(int, ffi.String)", by which overloads differ. It is "" for a packed method.
func (m Method) Params() string {
	if m.Signature == nil {
		return ""
	}
	params := m.Signature.Params
	if m.Flags&FlagIsStaticMethod == 0 && len(params) > 0 {
		params = params[1:]
	}
	texts := make([]string, len(params))
	for i, p := range params {
		texts[i] = p.Type.String()
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// String returns the canonical text of the type, such as
// "ffi.Map<ffi.String, ffi.Array<int>>". A typed function is written as its
// signature, a packed one as "ffi.Function".
func (t TypeSchema) String() string {
	var b strings.Builder
	writeType(&b, t.Normalized())
	return b.String()
}

func writeSignature(b *strings.Builder, s *Signature) {
	b.WriteByte('(')
	for i, p := range s.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		writeType(b, p.Type)
	}
	b.WriteString(") -> ")
	writeType(b, s.Return)
}

func writeType(b *strings.Builder, t TypeSchema) {
	if t.Func != nil {
		writeSignature(b, t.Func)
		return
	}
	if isBareName(t.Name) {
		b.WriteString(t.Name)
	} else {
		b.WriteString(strconv.Quote(t.Name))
	}
	if len(t.Args) == 0 {
		return
	}
	for i, a := range t.Args {
		b.WriteString([2]string{"<", ", "}[min(i, 1)])
		writeType(b, a)
	}
	b.WriteByte('>')
}

// isBareName reports whether the name needs no quotes in canonical text. Single
// spaces inside are allowed, because "const char*" is a type key.
func isBareName(s string) bool {
	previous := ' '
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
		if r == ' ' && previous == ' ' || r != ' ' && !isNameRune(r) {
			return false
		}
		previous = r
	}
	return previous != ' '
}

func isNameRune(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !strings.ContainsRune("<>(),\"\\`", r)
}

// ParseSignature reads the canonical text of a signature. The text "" is the
// signature of a packed function: nil. The result is normalized, so that its
// String is the canonical form of the text.
func ParseSignature(text string) (*Signature, error) {
	if text == "" {
		return nil, nil
	}
	t, err := parseText(text)
	if err != nil {
		return nil, fmt.Errorf("signature %s: %w", abbreviate(text), err)
	}
	if t.Func == nil {
		return nil, fmt.Errorf("signature %s: this is a type; a signature looks like \"(int, ffi.String) -> None\"", abbreviate(text))
	}
	return t.Func, nil
}

// ParseType reads the canonical text of a type. The result is normalized.
func ParseType(text string) (TypeSchema, error) {
	t, err := parseText(text)
	if err != nil {
		return TypeSchema{}, fmt.Errorf("type %s: %w", abbreviate(text), err)
	}
	return t, nil
}

// abbreviate quotes text for a message and cuts it if it is very long.
func abbreviate(text string) string {
	const limit = 200
	if len(text) > limit {
		return strconv.Quote(text[:limit]) + "..."
	}
	return strconv.Quote(text)
}

func parseText(text string) (TypeSchema, error) {
	if len(text) > maxTextLen {
		return TypeSchema{}, fmt.Errorf("the text has %d bytes, the limit is %d", len(text), maxTextLen)
	}
	p := textParser{text: text}
	t, err := p.typ(1)
	if err == nil {
		if p.space(); p.pos < len(text) {
			err = errors.New("unexpected text after the end")
		}
	}
	if err != nil {
		return TypeSchema{}, fmt.Errorf("at byte %d: %w", p.pos, err)
	}
	return t.Normalized(), nil
}

// textParser reads canonical text. With cpp set it reads the spelling of
// C++ messages: indices before parameters, names translated.
type textParser struct {
	text string
	pos  int
	cpp  bool
}

func (p *textParser) space() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

// accept skips spaces and then the token, if it is there.
func (p *textParser) accept(token string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], token) {
		return false
	}
	p.pos += len(token)
	return true
}

func (p *textParser) typ(depth int) (TypeSchema, error) {
	if depth > MaxDepth {
		return TypeSchema{}, fmt.Errorf("types nest deeper than %d levels", MaxDepth)
	}
	if p.accept("(") {
		sig, err := p.signature(depth)
		return TypeSchema{Name: nameFunction, Func: sig}, err
	}
	start := p.pos
	name, quoted, err := p.name()
	if err != nil {
		return TypeSchema{}, err
	}
	if p.cpp && !quoted {
		if name == nameStdFunction && p.accept("<") {
			return p.stdFunction(depth)
		}
		name = cppName(name)
	}
	t := TypeSchema{Name: name}
	if p.accept("<") {
		for {
			a, err := p.typ(depth + 1)
			if err != nil {
				return t, err
			}
			t.Args = append(t.Args, a)
			if p.accept(">") {
				break
			}
			if !p.accept(",") {
				return t, fmt.Errorf("expected \",\" or \">\" in the arguments of %s", name)
			}
		}
	}
	if t.IsFunction() && len(t.Args) > 0 {
		p.pos = start
		return t, fmt.Errorf("%s takes no type arguments in this form; write \"(A, B) -> R\"", name)
	}
	if err := checkArgs(t); err != nil {
		p.pos = start
		return t, err
	}
	return t, nil
}

// checkArgs checks the arity and that only a std::array has a length.
func checkArgs(t TypeSchema) error {
	if err := checkArity(t.Name, len(t.Args)); err != nil {
		return err
	}
	if t.Name == nameStdArray && len(t.Args) == 2 {
		if a := t.Args[1]; !isDigits(a.Name) || len(a.Args) > 0 || a.Func != nil {
			return errors.New("the second argument of std::array must be its length")
		}
	}
	return nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (p *textParser) name() (name string, quoted bool, err error) {
	p.space()
	rest := p.text[p.pos:]
	if strings.HasPrefix(rest, `"`) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", true, errors.New("quoted name without end")
		}
		p.pos += len(q)
		name, err = strconv.Unquote(q)
		if err == nil && name == "" {
			err = errors.New("the name of a type is empty")
		}
		return name, true, err
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != ' ' && !isNameRune(r) })
	if end < 0 {
		end = len(rest)
	}
	name = strings.TrimRight(rest[:end], " ")
	if name == "" {
		return "", false, errors.New("expected the name of a type")
	}
	if !isBareName(name) {
		return "", false, fmt.Errorf("bad name %q", name)
	}
	p.pos += len(name)
	return name, false, nil
}

// signature reads what follows the opening parenthesis.
func (p *textParser) signature(depth int) (*Signature, error) {
	sig := &Signature{Params: []Param{}}
	for !p.accept(")") {
		if len(sig.Params) > 0 && !p.accept(",") {
			return nil, errors.New("expected \",\" or \")\" in the parameters")
		}
		if p.cpp {
			p.skipIndex()
		}
		t, err := p.typ(depth + 1)
		if err != nil {
			return nil, err
		}
		sig.Params = append(sig.Params, Param{Type: t})
	}
	if !p.accept("->") {
		return nil, errors.New("expected \"-> result\" after the parameters")
	}
	var err error
	sig.Return, err = p.typ(depth + 1)
	return sig, err
}
