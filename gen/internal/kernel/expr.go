package kernel

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Expr is an expression of the sizes of a kernel: a constant, a variable, or a
// function of two expressions.
type Expr struct {
	// Func is the function of package kernelrt, such as CeilDiv; "" for the others.
	Func string
	A, B *Expr
	// Var is the index in Plan.Vars, -1 for a constant, which is Value.
	Var   int
	Value int64
}

// Constant reports whether the value is known.
func (e *Expr) Constant() bool { return e.Func == "" && e.Var < 0 }

// functions are those that have a name in expressions.
var functions = map[string]string{"ceildiv": "CeilDiv", "min": "Min", "max": "Max"}

const maxExprDepth = 100

// exprParser reads an expression.
type exprParser struct {
	text  string
	pos   int
	depth int
	// lookup returns the index of a variable.
	lookup func(name string) (int, error)
}

// parseExpr reads an expression; the error says where it fails.
func parseExpr(text string, lookup func(string) (int, error)) (*Expr, error) {
	p := exprParser{text: text, lookup: lookup}
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(text) {
		return nil, p.errorf("expected an operator or the end, found %s", p.found())
	}
	return e, nil
}

func (p *exprParser) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d of %q: %s", p.pos, p.text, fmt.Sprintf(format, args...))
}

func (p *exprParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *exprParser) accept(token byte) bool {
	p.space()
	if p.pos == len(p.text) || p.text[p.pos] != token {
		return false
	}
	p.pos++
	return true
}

func (p *exprParser) found() string {
	if p.pos == len(p.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

// chain reads operands with operators of one rank between them.
func (p *exprParser) chain(operators map[byte]string, operand func() (*Expr, error)) (*Expr, error) {
	e, err := operand()
	for err == nil {
		p.space()
		if p.pos == len(p.text) || operators[p.text[p.pos]] == "" {
			return e, nil
		}
		at := p.pos
		function := operators[p.text[p.pos]]
		p.pos++
		var b *Expr
		if b, err = operand(); err == nil {
			e, err = p.apply(at, function, e, b)
		}
	}
	return nil, err
}

func (p *exprParser) sum() (*Expr, error) {
	if p.depth++; p.depth > maxExprDepth {
		return nil, p.errorf("parentheses nest deeper than %d", maxExprDepth)
	}
	defer func() { p.depth-- }()
	return p.chain(map[byte]string{'+': "Add", '-': "Sub"}, p.product)
}

func (p *exprParser) product() (*Expr, error) {
	return p.chain(map[byte]string{'*': "Mul", '/': "Div", '%': "Mod"}, p.operand)
}

func (p *exprParser) operand() (*Expr, error) {
	p.space()
	start := p.pos
	if p.accept('(') {
		e, err := p.sum()
		if err == nil && !p.accept(')') {
			err = p.errorf("expected \")\", found %s", p.found())
		}
		return e, err
	}
	for i, r := range p.text[p.pos:] {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 && !unicode.IsDigit(r) || i > 0 && !unicode.IsDigit(r) && r != '.' && r != '$') {
			break
		}
		p.pos += utf8.RuneLen(r)
	}
	word := p.text[start:p.pos]
	switch {
	case word == "":
		return nil, p.errorf("expected a number, the name of a size, ceildiv(), min(), max() or \"(\", found %s", p.found())
	case word[0] >= '0' && word[0] <= '9':
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			p.pos = start
			return nil, p.errorf("%s is no whole number of 64 bits", word)
		}
		return &Expr{Var: -1, Value: n}, nil
	case p.accept('('):
		function := functions[word]
		if function == "" {
			p.pos = start
			return nil, p.errorf("there is no function %s: there are ceildiv, min and max", word)
		}
		return p.call(start, word, function)
	}
	v, err := p.lookup(word)
	if err != nil {
		p.pos = start
		return nil, p.errorf("%v", err)
	}
	return &Expr{Var: v}, nil
}

// call reads the arguments of a function.
func (p *exprParser) call(start int, name, function string) (*Expr, error) {
	a, err := p.sum()
	if err != nil {
		return nil, err
	}
	if !p.accept(',') {
		return nil, p.errorf("expected \",\" and the second argument of %s, found %s", name, p.found())
	}
	b, err := p.sum()
	if err != nil {
		return nil, err
	}
	if !p.accept(')') {
		return nil, p.errorf("expected \")\" after the two arguments of %s, found %s", name, p.found())
	}
	return p.apply(start, function, a, b)
}

// apply makes a function of two expressions, or its value.
func (p *exprParser) apply(at int, function string, a, b *Expr) (*Expr, error) {
	if b.Constant() && b.Value == 0 && (function == "Div" || function == "Mod" || function == "CeilDiv") {
		p.pos = at
		return nil, p.errorf("a division by 0")
	}
	if !a.Constant() || !b.Constant() {
		return &Expr{Func: function, A: a, B: b, Var: -1}, nil
	}
	x, y, z := big.NewInt(a.Value), big.NewInt(b.Value), new(big.Int)
	switch function {
	case "Add":
		z.Add(x, y)
	case "Sub":
		z.Sub(x, y)
	case "Mul":
		z.Mul(x, y)
	case "Div":
		floorDiv(z, x, y)
	case "Mod":
		z.Sub(x, z.Mul(floorDiv(z, x, y), y))
	case "CeilDiv":
		z.Neg(floorDiv(z, new(big.Int).Neg(x), y))
	case "Min":
		z.SetInt64(min(a.Value, b.Value))
	case "Max":
		z.SetInt64(max(a.Value, b.Value))
	}
	if !z.IsInt64() {
		p.pos = at
		return nil, p.errorf("%s does not fit 64 bits", z)
	}
	return &Expr{Var: -1, Value: z.Int64()}, nil
}

// floorDiv sets z to x / y, rounded down.
func floorDiv(z, x, y *big.Int) *big.Int {
	m := new(big.Int)
	z.QuoRem(x, y, m)
	if m.Sign() != 0 && m.Sign() != y.Sign() {
		z.Sub(z, big.NewInt(1))
	}
	return z
}

// walk visits the variables of an expression.
func (e *Expr) walk(visit func(v int)) {
	switch {
	case e.Func != "":
		e.A.walk(visit)
		e.B.walk(visit)
	case e.Var >= 0:
		visit(e.Var)
	}
}
