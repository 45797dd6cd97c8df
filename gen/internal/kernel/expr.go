package kernel

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
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

// operators are the functions of the operators, which have the ranks of Go.
var operators = map[token.Token]string{token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Div", token.REM: "Mod"}

// exprReader reads an expression. go/parser finds the tree; words are taken from the text,
// because names of sizes may have dots and dollar signs in them.
type exprReader struct {
	text   string
	lookup func(name string) (int, error) // returns the index of a variable
}

// parseExpr reads an expression; the error says where it fails.
func parseExpr(text string, lookup func(string) (int, error)) (*Expr, error) {
	r := exprReader{text, lookup}
	masked, err := r.mask()
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseExpr(masked)
	if syntax, ok := err.(scanner.ErrorList); ok {
		return nil, r.unexpected(syntax[0].Pos.Offset)
	}
	if err != nil {
		return nil, r.errorf(0, "%v", err)
	}
	return r.expr(tree)
}

func (r *exprReader) errorf(offset int, format string, args ...any) error {
	return fmt.Errorf("byte %d of %q: %s", offset, r.text, fmt.Sprintf(format, args...))
}

// mask returns the text for go/parser: a name in place of each word, and spaces in place of
// line breaks, which end a statement in Go. It refuses what Go knows and the grammar does
// not: other characters, comments, and a comma at the end of arguments.
func (r *exprReader) mask() (string, error) {
	masked := []byte(r.text)
	word, last := false, ' ' // the last character that is not a space
	for i, c := range r.text {
		word = unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || word && (c == '.' || c == '$')
		switch {
		case word:
			for j := range utf8.RuneLen(c) {
				masked[i+j] = 'x'
			}
		case strings.ContainsRune(" \t\r\n", c):
			masked[i] = ' '
			continue
		case !strings.ContainsRune("+-*/%(),", c), last == '/' && (c == '/' || c == '*'), last == ',' && c == ')':
			return "", r.unexpected(i)
		}
		last = c
	}
	return string(masked), nil
}

// unexpected returns the error for the text at offset. The character before the text says
// what was expected there.
func (r *exprReader) unexpected(offset int) error {
	before, after := strings.TrimSpace(r.text[:offset]), strings.TrimSpace(r.text[offset:])
	found := "the end"
	if after != "" {
		c, _ := utf8.DecodeRuneInString(after)
		found = strconv.QuoteRune(c)
		offset += strings.Index(r.text[offset:], after)
	}
	expected := "an operator or the end"
	switch {
	case before == "" || strings.IndexByte("+-*/%(,", before[len(before)-1]) >= 0:
		expected = "a number, the name of a size, ceildiv(), min(), max() or \"(\""
	case strings.Count(before, "(") > strings.Count(before, ")"):
		expected = "an operator or \")\""
	}
	return r.errorf(offset, "expected %s, found %s", expected, found)
}

// offset returns the offset in the text of a position.
func offset(p token.Pos) int { return int(p) - 1 }

func (r *exprReader) expr(n ast.Expr) (*Expr, error) {
	at := offset(n.Pos())
	text := r.text[at:offset(n.End())]
	switch n := n.(type) {
	case *ast.Ident:
		if text[0] >= '0' && text[0] <= '9' {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, r.errorf(at, "%s is not a whole number of 64 bits", text)
			}
			return &Expr{Var: -1, Value: v}, nil
		}
		v, err := r.lookup(text)
		if err != nil {
			return nil, r.errorf(at, "%v", err)
		}
		return &Expr{Var: v}, nil
	case *ast.ParenExpr:
		return r.expr(n.X)
	case *ast.BinaryExpr:
		return r.apply(offset(n.OpPos), operators[n.Op], n.X, n.Y)
	case *ast.CallExpr:
		name := r.text[at:offset(n.Fun.End())]
		if functions[name] == "" {
			return nil, r.errorf(at, "there is no function %s: use ceildiv, min or max", name)
		}
		if len(n.Args) != 2 {
			return nil, r.errorf(at, "%s takes two arguments, found %d", name, len(n.Args))
		}
		return r.apply(at, functions[name], n.Args[0], n.Args[1])
	}
	return nil, r.unexpected(at) // a sign, as in -n
}

// apply makes a function of two expressions, or its value.
func (r *exprReader) apply(at int, function string, first, second ast.Expr) (*Expr, error) {
	a, err := r.expr(first)
	if err != nil {
		return nil, err
	}
	b, err := r.expr(second)
	if err != nil {
		return nil, err
	}
	if b.Constant() && b.Value == 0 && (function == "Div" || function == "Mod" || function == "CeilDiv") {
		return nil, r.errorf(at, "a division by 0")
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
		return nil, r.errorf(at, "%s does not fit 64 bits", z)
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
