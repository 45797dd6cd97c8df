package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// sampleCall is a call of a generated function with filled-in arguments.
type sampleCall struct {
	Func    string   // Go name
	Args    []string // Go expressions
	Result  bool     // it returns a value beside the error
	Comment string   // the first line of its doc comment
}

// Arguments are the arguments as they stand in the call.
func (c *sampleCall) Arguments() string { return strings.Join(c.Args, ", ") }

// chooseCall picks the function of the generated package that is easiest to call:
// its parameters are scalars. It returns nil if there is none. The files are keyed
// by path; only those of the top folder count.
func chooseCall(files map[string][]byte) (*sampleCall, error) {
	var best *sampleCall
	bestScore := 0
	names := make([]string, 0, len(files))
	for name := range files {
		if path.Dir(name) == "." {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, files[name], parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("generated file %s: %w", name, err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Name.Name == "Load" {
				continue
			}
			call, score := sample(fn)
			if call != nil && score > bestScore {
				best, bestScore = call, score
			}
		}
	}
	return best, nil
}

// sample fills in the arguments of fn. The score is high for a function that takes
// and returns scalars; nil means that fn takes something else.
func sample(fn *ast.FuncDecl) (*sampleCall, int) {
	call := &sampleCall{Func: fn.Name.Name}
	if fn.Doc != nil {
		call.Comment, _, _ = strings.Cut(strings.TrimSpace(fn.Doc.Text()), "\n")
		if before, ok := strings.CutSuffix(call.Comment, ":"); ok {
			call.Comment = before + "." // what follows is the signature
		}
	}
	for _, p := range fn.Type.Params.List {
		value := sampleValue(p.Type, len(call.Args))
		if value == "" {
			return nil, 0
		}
		for range max(len(p.Names), 1) {
			call.Args = append(call.Args, sampleValue(p.Type, len(call.Args)))
		}
	}
	results := fn.Type.Results
	if results == nil || len(results.List) == 0 || !isIdent(results.List[len(results.List)-1].Type, "error") {
		return nil, 0
	}
	call.Result = len(results.List) == 2
	score := 1
	if call.Result {
		score += 2
		if sampleValue(results.List[0].Type, 0) != "" {
			score += 4 // a result that reads well when it is printed
		}
	}
	if n := len(call.Args); n > 0 && n <= 3 {
		score += 2
	}
	if !strings.HasPrefix(call.Func, "New") {
		score++ // an object that nothing else is done with says little
	}
	return call, score
}

// sampleValue is a literal of a scalar type, or "".
func sampleValue(t ast.Expr, i int) string {
	id, ok := t.(*ast.Ident)
	if !ok {
		return ""
	}
	switch id.Name {
	case "int64":
		return fmt.Sprint(i + 1)
	case "float64":
		return fmt.Sprintf("%d.5", i+1)
	case "string":
		return `"hello"`
	case "bool":
		return "true"
	}
	return ""
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
