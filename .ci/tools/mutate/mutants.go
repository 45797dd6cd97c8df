package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// mutant is a file with one small mistake.
type mutant struct {
	File string // relative to the root, with slashes
	Line int
	// Func is the declaration that is changed.
	Func, Kind string
	// Before and After are what is changed, on one line.
	Before, After string
	// Number counts the places in Func with the same change.
	Number int

	start, end int // in the file
	text       string
}

// ID names the mutant and does not change with the lines above it.
func (m *mutant) ID() string {
	id := fmt.Sprintf("%s %s: %s: %s => %s", m.File, m.Func, m.Kind, m.Before, m.After)
	if m.Number > 1 {
		id += " #" + strconv.Itoa(m.Number)
	}
	return id
}

// apply returns the changed source.
func (m *mutant) apply(src []byte) []byte {
	return slices.Concat(src[:m.start], []byte(m.text), src[m.end:])
}

// finder collects the mutants of a file.
type finder struct {
	file    string
	src     []byte
	set     *token.FileSet
	name    string // of the declaration
	mutants []*mutant
	seen    map[string]int
}

// mutantsOf returns all mutants of a file, in the order of their places. Generated files
// have none.
func mutantsOf(file string, src []byte) ([]*mutant, error) {
	f := &finder{file: file, src: src, set: token.NewFileSet(), seen: map[string]int{}}
	parsed, err := parser.ParseFile(f.set, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.name = d.Name.Name
			if d.Recv != nil {
				f.name = strings.TrimLeft(f.source(d.Recv.List[0].Type), "*") + "." + f.name
			}
			if d.Body == nil {
				continue
			}
			if d.Type.Results == nil && len(d.Body.List) > 0 {
				at := d.Body.Lbrace + 1
				f.replace("early", at, at, "return;", "the body", "return")
			}
			ast.Inspect(d.Body, f.visit)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					f.name = v.Names[0].Name
					for _, value := range v.Values {
						ast.Inspect(value, f.visit)
					}
				}
			}
		}
	}
	return f.mutants, nil
}

func (f *finder) source(n ast.Node) string {
	return string(f.src[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

// replace adds a mutant that has text in place of what lies between two positions.
func (f *finder) replace(kind string, from, to token.Pos, text, before, after string) {
	m := &mutant{
		File: f.file, Line: f.set.Position(from).Line, Func: f.name, Kind: kind, Before: oneLine(before), After: oneLine(after),
		start: f.offset(from), end: f.offset(to), text: text,
	}
	id := m.ID()
	f.seen[id]++
	m.Number = f.seen[id]
	f.mutants = append(f.mutants, m)
}

// drop leaves out a statement.
func (f *finder) drop(kind string, n ast.Node) {
	f.replace(kind, n.Pos(), n.End(), "", f.source(n), "nothing")
}

// change replaces a node.
func (f *finder) change(kind string, n ast.Node, text string) {
	f.replace(kind, n.Pos(), n.End(), text, f.source(n), text)
}

// oneLine shortens what an ID quotes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	return s
}

// Operators and what is put in their place.
var (
	comparisons = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	}
	logical    = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.AND: token.OR, token.OR: token.AND, token.AND_NOT: token.AND, token.XOR: token.OR, token.SHL: token.SHR, token.SHR: token.SHL,
	}
	assignments = map[token.Token]token.Token{
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
		token.OR_ASSIGN: token.AND_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN, token.AND_NOT_ASSIGN: token.AND_ASSIGN,
		token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN, token.XOR_ASSIGN: token.OR_ASSIGN,
		token.INC: token.DEC, token.DEC: token.INC,
	}
)

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		cond := f.source(n.Cond)
		kind := "check"
		if cond == "err != nil" {
			kind = "error"
		}
		f.change(kind, n.Cond, "false && ("+cond+")")
		if b, ok := n.Cond.(*ast.BinaryExpr); !ok || b.Op != token.EQL && b.Op != token.NEQ { // else the operator is changed
			f.change("negated", n.Cond, "!("+cond+")")
		}
	case *ast.BinaryExpr:
		f.operator("comparison", comparisons, n.Op, n.OpPos, n)
		f.operator("logic", logical, n.Op, n.OpPos, n)
		f.operator("arithmetic", arithmetic, n.Op, n.OpPos, n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB || n.Op == token.XOR {
			f.change("sign", n, f.source(n.X))
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			f.change("constant", n, strconv.FormatInt(v+1, 10))
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "make" && len(n.Args) == 3 { // a capacity changes nothing
			ast.Inspect(n.Args[1], f.visit)
			return false
		}
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			f.change("constant", n, strconv.FormatBool(n.Name == "false"))
		}
	default:
		f.statement(n)
	}
	return true
}

func (f *finder) operator(kind string, to map[token.Token]token.Token, op token.Token, at token.Pos, n ast.Node) {
	other, ok := to[op]
	if !ok {
		return
	}
	end := at + token.Pos(len(op.String()))
	whole := string(f.src[f.offset(n.Pos()):f.offset(at)]) + other.String() + string(f.src[f.offset(end):f.offset(n.End())])
	f.replace(kind, at, end, other.String(), f.source(n), whole)
}

func (f *finder) statement(n ast.Node) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return
		}
		kind := "call"
		if callee := f.source(call.Fun); strings.HasSuffix(strings.ToLower(callee), "keepalive") {
			kind = "keepalive"
		}
		f.drop(kind, n)
	case *ast.DeferStmt:
		kind := "defer"
		if callee := f.source(n.Call.Fun); strings.HasSuffix(strings.ToLower(callee), "keepalive") {
			kind = "keepalive"
		}
		f.drop(kind, n)
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok == token.CONTINUE {
			f.change("branch", n, "break")
		}
		if n.Label == nil && n.Tok == token.BREAK {
			f.change("branch", n, "continue")
		}
	case *ast.IncDecStmt:
		f.operator("arithmetic", assignments, n.Tok, n.TokPos, n)
	case *ast.AssignStmt:
		f.operator("arithmetic", assignments, n.Tok, n.TokPos, n)
		if n.Tok != token.ASSIGN || len(n.Lhs) != len(n.Rhs) {
			return
		}
		for i, l := range n.Lhs {
			if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
				f.replace("assignment", l.Pos(), l.End(), "_", f.source(l)+" = "+f.source(n.Rhs[i]), "_")
			}
		}
	case *ast.ReturnStmt:
		if k := len(n.Results); k > 0 {
			if id, ok := n.Results[k-1].(*ast.Ident); ok && id.Name == "err" {
				f.replace("error", id.Pos(), id.End(), "nil", f.source(n), "return nil")
			}
		}
	}
}
