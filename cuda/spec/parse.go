package spec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError is the error of a text that is not a description.
type SyntaxError struct {
	// Text is what was read, and Offset the byte in it where reading failed.
	Text   string
	Offset int
	// Message says what is wrong and what to write instead.
	Message string
}

// Error holds the message, the place, and the text around it.
func (e *SyntaxError) Error() string {
	from, to := max(0, e.Offset-20), min(len(e.Text), e.Offset+20)
	near := e.Text[from:to]
	if from > 0 {
		near = "..." + near
	}
	if to < len(e.Text) {
		near += "..."
	}
	return fmt.Sprintf("spec: byte %d of %q: %s", e.Offset, near, e.Message)
}

const (
	// maxText bounds what is read, and maxDepth how deep tuples nest.
	maxText  = 1 << 20
	maxDepth = 32
)

// Parse reads a description. Its errors are a [*SyntaxError], or are the
// errors of [Func.Validate].
func Parse(text string) (*Func, error) {
	p := parser{text: text}
	return p.parse()
}

// ParseMessage reads the description in the message with which a kernel of the
// CuTe DSL or of TVM refuses a call; its form says which of the two is the dialect. Such a
// message leaves out strides, alignment and device: they have the meaning of the zero value.
func ParseMessage(message string) (*Func, error) {
	_, rest, ok := strings.Cut(message, "when calling:")
	tvm := strings.HasPrefix(rest, "\n")
	if ok {
		_, rest, ok = strings.Cut(rest, "`")
	}
	text, _, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return nil, fmt.Errorf("spec: the message has no signature: it lacks \"when calling:\" with a text in backquotes after it")
	}
	p := parser{text: text, tvm: tvm}
	return p.parse()
}

type parser struct {
	text string
	pos  int
	tvm  bool
}

func (p *parser) parse() (*Func, error) {
	f, err := p.function()
	if err != nil {
		return nil, err
	}
	return f, f.Validate()
}

func (p *parser) errorf(format string, args ...any) error { return p.errorAt(p.pos, format, args...) }

func (p *parser) errorAt(pos int, format string, args ...any) error {
	return &SyntaxError{Text: p.text, Offset: pos, Message: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// accept skips a token.
func (p *parser) accept(token string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], token) {
		return false
	}
	p.pos += len(token)
	return true
}

func (p *parser) expect(token, where string) error {
	if p.accept(token) {
		return nil
	}
	return p.errorf("expected %q %s, found %s", token, where, p.found())
}

// found names what stands at the position.
func (p *parser) found() string {
	p.space()
	if p.pos == len(p.text) {
		return "the end"
	}
	if w := p.peek(); w != "" {
		return strconv.Quote(w)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

// nameRune reports whether r may stand in a name. Names of TVM have dots.
func nameRune(r rune, first bool) bool {
	return r == '_' || unicode.IsLetter(r) || !first && (r == '.' || r == '$' || unicode.IsDigit(r))
}

// peek returns the name at the position, "" if there is none.
func (p *parser) peek() string {
	p.space()
	rest := p.text[p.pos:]
	for i, r := range rest {
		if !nameRune(r, i == 0) || r == utf8.RuneError {
			return rest[:i]
		}
	}
	return rest
}

func (p *parser) word(what string) (string, error) {
	w := p.peek()
	if w == "" {
		return "", p.errorf("expected %s, found %s", what, p.found())
	}
	p.pos += len(w)
	return w, nil
}

func (p *parser) function() (*Func, error) {
	if len(p.text) > maxText {
		return nil, p.errorf("the text has %d bytes, the limit is %d", len(p.text), maxText)
	}
	name, err := p.word("the name of the function, as in f(n: int32)")
	if err != nil {
		return nil, err
	}
	if name == "tvm" && p.accept(":") {
		p.tvm = true
		if name, err = p.word("the name of the function, as in tvm: f(n: int32)"); err != nil {
			return nil, err
		}
	}
	f := &Func{Name: name}
	if p.tvm {
		f.Dialect = TVM
	}
	if err := p.expect("(", "after the name of the function"); err != nil {
		return nil, err
	}
	err = p.list(")", "the parameters", func() error {
		name, err := p.word("the name of a parameter, as in n: int32")
		if err != nil {
			return err
		}
		if err := p.expect(":", "and a type after the name of a parameter"); err != nil {
			return err
		}
		t, err := p.param(name, 0)
		f.Params = append(f.Params, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.text) {
		return nil, p.errorf("expected the end after \")\", found %s: kernels return nothing", p.found())
	}
	return f, nil
}

// list reads items with commas between them, and the end.
func (p *parser) list(end, what string, item func() error) error {
	if p.accept(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if p.accept(end) {
			return nil
		}
		if !p.accept(",") {
			return p.errorf("expected \",\" or %q in %s, found %s", end, what, p.found())
		}
	}
}

// param reads a type.
func (p *parser) param(name string, depth int) (Param, error) {
	if depth > maxDepth {
		return nil, p.errorf("types nest deeper than %d", maxDepth)
	}
	p.space()
	start := p.pos
	w, err := p.word("a type, such as float32, Tensor([n], float32), Shape([n]) or Stream")
	if err != nil {
		return nil, err
	}
	switch w {
	case "Tensor":
		return p.tensor(name)
	case "Shape":
		if err := p.expect("(", "after Shape, as in Shape([n, 4])"); err != nil {
			return nil, err
		}
		dims, err := p.dims()
		if err != nil {
			return nil, err
		}
		return Shape{name, dims}, p.expect(")", "after the dimensions of Shape")
	case "Stream":
		return Stream{name}, nil
	case "EnvStream":
		return EnvStream{name}, nil
	case "DataPointer":
		return p.dataPointer(name)
	case "None":
		return Const{Name: name}, nil
	case "Int", "Bool", "Float":
		return p.constant(name, w)
	case "Tuple":
		t := Tuple{Name: name}
		if err := p.expect("[", "after Tuple, as in Tuple[int32, Stream]"); err != nil {
			return nil, err
		}
		return t, p.list("]", "the elements of Tuple", func() error {
			e, err := p.element(depth + 1)
			t.Elems = append(t.Elems, e)
			return err
		})
	case "Optional":
		if err := p.expect("[", "after Optional, as in Optional[Stream]"); err != nil {
			return nil, err
		}
		inner, err := p.param(name, depth+1)
		if err != nil {
			return nil, err
		}
		return Optional{inner}, p.expect("]", "after the type in Optional")
	}
	return p.number(name, start, w)
}

// number reads the rest of a type that is a data type, of which w is the name.
func (p *parser) number(name string, start int, w string) (Param, error) {
	if p.tvm {
		w = strings.TrimPrefix(w, "T.") // TVM writes T.handle
	}
	t, err := p.dtype(start, w)
	if err != nil {
		return nil, err
	}
	div, err := p.divisibility(t)
	return Var{Name: name, DType: t, Divisibility: div}, err
}

// element reads a type of a tuple, which may have a name before it.
func (p *parser) element(depth int) (Param, error) {
	start := p.pos
	if w := p.peek(); w != "" {
		p.pos += len(w)
		if p.accept(":") {
			return p.param(w, depth)
		}
		p.pos = start
	}
	return p.param("", depth)
}

func (p *parser) dtype(at int, name string) (DType, error) {
	t, err := ParseDType(name)
	if (err != nil || name == "void") && p.tvm {
		return DType{}, p.errorAt(at, "%q is not a type: write a data type such as float32, or Tensor or T.handle", name)
	}
	if err != nil || name == "void" {
		return DType{}, p.errorAt(at, "%q is not a type: write a data type such as float32, or Tensor, Shape, Stream, EnvStream, DataPointer, None, Int, Bool, Float, Tuple or Optional", name)
	}
	if remedy := t.odd(); remedy != "" {
		return DType{}, p.errorAt(at, "there is no type %s: %s", name, remedy)
	}
	return t, nil
}

// divisibility reads a divisor of values of type t, which is zero where only other places may say it.
func (p *parser) divisibility(t DType) (int64, error) {
	if !p.accept("%") {
		return 0, nil
	}
	p.space()
	at := p.pos
	n, err := p.integer("a number after %, as in n % 8")
	if err == nil && n < 1 {
		err = p.errorAt(at, "a value cannot be divisible by %d: write a number from 1 on", n)
	}
	if err == nil && isDimType(t) && n > t.most() {
		err = p.errorAt(at, "%s", badDivisor(n, t))
	}
	return n, err
}

func (p *parser) integer(what string) (int64, error) {
	p.space()
	i := p.pos
	if i < len(p.text) && p.text[i] == '-' {
		i++
	}
	for i < len(p.text) && p.text[i] >= '0' && p.text[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(p.text[p.pos:i], 10, 64)
	switch {
	case err == nil:
		p.pos = i
		return n, nil
	case i > p.pos && p.text[i-1] != '-':
		return 0, p.errorf("%s does not fit int64", p.text[p.pos:i])
	}
	return 0, p.errorf("expected %s, found %s", what, p.found())
}

func (p *parser) dims() ([]Dim, error) {
	if err := p.expect("[", "before the dimensions, as in [n, 4]"); err != nil {
		return nil, err
	}
	dims := []Dim{}
	return dims, p.list("]", "the dimensions", func() error {
		d, err := p.dim()
		if err != nil {
			return err
		}
		dims = append(dims, d)
		p.space()
		if p.pos < len(p.text) && strings.IndexByte("+-*/(", p.text[p.pos]) >= 0 {
			return p.errorf("a dimension is a number or a name, not an expression: name the result, as in m in place of n * 2, or write _ for any value")
		}
		return nil
	})
}

func (p *parser) dim() (Dim, error) {
	if p.peek() == "" {
		n, err := p.integer("a dimension: a number or a name")
		return Size(n), err
	}
	v := Var{}
	var err error
	if v.Name, err = p.word("a name"); err != nil {
		return nil, err
	}
	if p.tvm && v.Name == "T.int64" && p.accept("(") {
		n, err := p.integer("a dimension: a number")
		if err != nil {
			return nil, err
		}
		return Size64(n), p.expect(")", "after the number in T.int64")
	}
	if p.accept(":") {
		p.space()
		at := p.pos
		w, err := p.word("a type after :, as in n: int64")
		if err != nil {
			return nil, err
		}
		if v.DType, err = p.dtype(at, w); err != nil {
			return nil, err
		}
	}
	v.Divisibility, err = p.divisibility(v.DType)
	return v, err
}
