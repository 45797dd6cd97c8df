package bindings

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
)

// sampler fills in arguments for the functions of one package.
type sampler struct {
	constructors map[string]*project.Call // by the name of the type that they make; nil if it takes too much
}

// chooseCall picks the function of the generated package that is easiest to call:
// its arguments are plain values, or objects that are made of plain values. It
// returns nil if there is none. The files are keyed by path; only those of the top
// folder count.
func chooseCall(files map[string][]byte) (*project.Call, error) {
	functions, err := topFunctions(files)
	if err != nil {
		return nil, err
	}
	s := &sampler{constructors: map[string]*project.Call{}}
	for _, verb := range []string{"Make", "New"} { // if there are both, New sets fields unchecked
		for _, fn := range functions {
			made, ok := strings.CutPrefix(fn.Name.Name, verb)
			_, done := s.constructors[made]
			if result := firstResult(fn); !ok || done || result != "*"+made && result != "tvmffi.Any" {
				continue
			}
			call, _ := s.sample(fn)
			if call != nil && (len(call.Makes) > 0 || firstResult(fn) != "*"+made) {
				call = nil
			}
			s.constructors[made] = call
		}
	}
	var best *project.Call
	bestScore := 0
	for _, fn := range functions {
		// init tries a call whose arguments are JSON, without the defaults that options have.
		if call, score := s.sample(fn); call != nil && (best == nil || score > bestScore) && !(isJSON(call) && hasOptions(fn)) {
			best, bestScore = call, score
		}
	}
	return best, nil
}

// isJSON reports whether the arguments of a call are JSON.
func isJSON(call *project.Call) bool { return json.Valid([]byte("[" + call.Arguments() + "]")) }

// hasOptions reports whether a function takes options, such as WithDepth(2).
func hasOptions(fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		rest, variadic := p.Type.(*ast.Ellipsis)
		return variadic && types.ExprString(rest.Elt) != "any"
	})
}

// topFunctions returns the exported functions of the top folder except Load.
func topFunctions(files map[string][]byte) ([]*ast.FuncDecl, error) {
	var names []string
	for name := range files {
		if path.Dir(name) == "." {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var functions []*ast.FuncDecl
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, files[name], parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("generated file %s: %w", name, err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.IsExported() && fn.Name.Name != "Load" {
				functions = append(functions, fn)
			}
		}
	}
	return functions, nil
}

// firstResult is the type of the first result of fn, "" without one.
func firstResult(fn *ast.FuncDecl) string {
	if fn.Type.Results == nil || len(fn.Type.Results.List) == 0 {
		return ""
	}
	return types.ExprString(fn.Type.Results.List[0].Type)
}

// sample fills in the arguments of fn. The score is high for a function that takes
// and returns scalars; nil means that fn takes something else.
func (s *sampler) sample(fn *ast.FuncDecl) (call *project.Call, score int) {
	call = &project.Call{Func: fn.Name.Name}
	if fn.Doc != nil {
		call.Comment, _, _ = strings.Cut(strings.TrimSpace(fn.Doc.Text()), "\n")
		if before, ok := strings.CutSuffix(call.Comment, ":"); ok {
			call.Comment = before + "." // what follows is the signature
		}
	}
	plain := true
	for _, p := range fn.Type.Params.List {
		if _, variadic := p.Type.(*ast.Ellipsis); variadic {
			plain = false
			continue // options, or the arguments of a packed function
		}
		for range max(len(p.Names), 1) {
			value := s.value(call, p.Type)
			if value == "" {
				return nil, 0
			}
			plain = plain && scalarValue(p.Type, 0) != ""
			call.Args = append(call.Args, value)
		}
	}
	results := fn.Type.Results
	if results == nil || len(results.List) == 0 || types.ExprString(results.List[len(results.List)-1].Type) != "error" {
		return nil, 0
	}
	call.Result = len(results.List) == 2
	_, call.Callable = results.List[0].Type.(*ast.FuncType)
	if call.Result {
		score += 2
		if scalarValue(results.List[0].Type, 0) != "" {
			score += 4 // a result that reads well when it is printed
		}
	}
	if n := len(call.Args); n > 0 && n <= 3 {
		score += 2
	}
	if plain {
		score += 8
	}
	made, makes := strings.CutPrefix(call.Func, "Make")
	if !strings.HasPrefix(call.Func, "New") && !(makes && firstResult(fn) == "*"+made) {
		score += 4 // a new object alone shows little
	}
	return call, score
}

// value is the next argument of call, or "". An object is made before the call.
func (s *sampler) value(call *project.Call, t ast.Expr) string {
	n := len(call.Args)
	if v := scalarValue(t, n); v != "" {
		return v
	}
	text := types.ExprString(t)
	if element, ok := argument1(text, "tvmffi.ArrayArg[", "tvmffi.ArrayLike["); ok {
		if v := scalarValue(ast.NewIdent(element), 0); v != "" {
			return fmt.Sprintf("tvmffi.Of[%s](%s, %s)", element, v, scalarValue(ast.NewIdent(element), 1))
		}
	}
	if elements, ok := argument1(text, "tvmffi.MapArg[", "tvmffi.MapLike["); ok {
		key, value, _ := strings.Cut(elements, ", ")
		if v := scalarValue(ast.NewIdent(value), 0); key == "string" && v != "" {
			return fmt.Sprintf("tvmffi.MapOf(map[string]%s{%q: %s})", value, "hello", v)
		}
	}
	if scalar, ok := t.(*ast.StarExpr); ok && scalarValue(scalar.X, 0) != "" {
		return "nil" // an optional argument
	}
	made, isRef := strings.CutSuffix(text, "Ref")
	constructor := s.constructors[made]
	if !isRef || constructor == nil {
		return ""
	}
	name := fmt.Sprintf("%s%d", strings.ToLower(made[:1]), n+1)
	call.Makes = append(call.Makes, project.Make{Var: name, Call: constructor})
	return name
}

// argument1 returns the type argument of an instance of one of the generic types.
func argument1(text string, generics ...string) (string, bool) {
	for _, g := range generics {
		if inside, ok := strings.CutPrefix(text, g); ok {
			return strings.CutSuffix(inside, "]")
		}
	}
	return "", false
}

// scalarValue is a literal of a scalar type for the i-th argument, or "".
func scalarValue(t ast.Expr, i int) string {
	id, ok := t.(*ast.Ident)
	if !ok {
		return ""
	}
	switch id.Name {
	case "int64", "any":
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
