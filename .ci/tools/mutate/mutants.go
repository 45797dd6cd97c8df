package main

import (
	"cmp"
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
	// ID names the mutant and does not change with the lines above it. The file has text from start to end.
	ID, Place, text string
	start, end      int
}

// apply returns the changed source.
func (m *mutant) apply(src []byte) []byte {
	return slices.Concat(src[:m.start], []byte(m.text), src[m.end:])
}

// operators has what is put in the place of an operator.
var operators = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "++": "--", "--": "++",
	"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "&^": "&", "^": "|", "<<": ">>", ">>": "<<",
}

// finder collects the mutants of a file.
type finder struct {
	file, name string // name is the name of the declaration
	src        []byte
	set        *token.FileSet
	end        token.Pos // of the last function
	mutants    []*mutant
	seen       map[string]int
}

// mutantsOf returns all mutants of a file, in the order of their places. Generated files have none.
func mutantsOf(file string, src []byte) ([]*mutant, error) {
	f := &finder{file: file, src: src, set: token.NewFileSet(), seen: map[string]int{}}
	parsed, err := parser.ParseFile(f.set, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	ast.Inspect(parsed, f.visit)
	return f.mutants, nil
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) source(n ast.Node) string {
	return string(f.src[f.offset(n.Pos()):f.offset(n.End())])
}

// replace adds a mutant that has text in place of what lies between two positions.
func (f *finder) replace(kind string, from, to token.Pos, text, before, after string) {
	id := fmt.Sprintf("%s %s: %s: %s => %s", f.file, f.name, kind, oneLine(before), oneLine(after))
	if f.seen[id]++; f.seen[id] > 1 {
		id += " #" + strconv.Itoa(f.seen[id])
	}
	f.mutants = append(f.mutants, &mutant{id, fmt.Sprintf("%s:%d", f.file, f.set.Position(from).Line), text, f.offset(from), f.offset(to)})
}

// change replaces a node, by nothing if text is empty.
func (f *finder) change(kind string, n ast.Node, text string) {
	f.replace(kind, n.Pos(), n.End(), text, f.source(n), cmp.Or(text, "nothing"))
}

// operator replaces the operator of a node.
func (f *finder) operator(op string, at token.Pos, n ast.Node) {
	if other := operators[op]; other != "" {
		text, i := f.source(n), f.offset(at)-f.offset(n.Pos())
		f.replace("operator", at, at+token.Pos(len(op)), other, text, text[:i]+other+text[i+len(op):])
	}
}

// oneLine shortens what an ID quotes.
func oneLine(s string) string { return fmt.Sprintf("%.120s", strings.Join(strings.Fields(s), " ")) }

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.name, f.end = n.Name.Name, n.End()
		if n.Recv != nil {
			f.name = strings.TrimLeft(f.source(n.Recv.List[0].Type), "*") + "." + f.name
		}
		if n.Body != nil && n.Type.Results == nil && len(n.Body.List) > 0 {
			f.replace("early", n.Body.Lbrace+1, n.Body.Lbrace+1, "return;", "the body", "return")
		}
	case *ast.ValueSpec:
		if n.Pos() > f.end {
			f.name = n.Names[0].Name
		}
	case *ast.IfStmt:
		f.change("check", n.Cond, "false && ("+f.source(n.Cond)+")")
	case *ast.BinaryExpr:
		f.operator(n.Op.String(), n.OpPos, n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB || n.Op == token.XOR {
			f.change("sign", n, f.source(n.X))
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			f.change("constant", n, strconv.FormatInt(v+1, 10))
		}
	case *ast.ExprStmt, *ast.DeferStmt:
		if !strings.Contains(f.source(n), "KeepAlive") { // the mode liveness of .ci/matrix is for these
			f.change("call", n, "")
		}
	case *ast.IncDecStmt:
		f.operator(n.Tok.String(), n.TokPos, n)
	case *ast.AssignStmt:
		f.operator(strings.TrimSuffix(n.Tok.String(), "="), n.TokPos, n)
		for i, l := range n.Lhs {
			if f.source(l) != "_" && n.Tok == token.ASSIGN && len(n.Lhs) == len(n.Rhs) {
				f.replace("assignment", l.Pos(), l.End(), "_", f.source(l)+" = "+f.source(n.Rhs[i]), "_")
			}
		}
	case *ast.ReturnStmt:
		if k := len(n.Results) - 1; k >= 0 && f.source(n.Results[k]) == "err" {
			f.replace("error", n.Results[k].Pos(), n.End(), "nil", f.source(n), "return nil")
		}
	}
	return true
}
