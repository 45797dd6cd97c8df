package bindings

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
)

// Sample is a call of a generated function that a first program may make, if the call works.
type Sample struct {
	Call *project.Call
	Name string // of the function in the library
	Args []byte // the arguments as JSON

	rank int
}

// functionsFile is the file of a generated package with its functions.
const functionsFile = "functions_gen.go"

// Samples returns calls whose arguments and results are plain values, in the order in which they should be tried: first the
// functions without parameters, and of those with the same number the ones of the top folder. Functions that their names
// or docs call internal are not among them.
func (b *Result) Samples() ([]Sample, error) {
	names := map[string]string{} // by folder and Go name
	for _, e := range b.Report.Entries {
		if e.Kind == gen.KindFunction && e.Status == gen.Generated {
			names[path.Join(e.Package, e.GoName)] = e.Name
		}
	}
	var samples []Sample
	for file, text := range b.Files {
		if path.Base(file) != functionsFile {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("generated file %s: %w", file, err)
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() {
				continue
			}
			s, ok := sampleOf(fn)
			s.Name = names[path.Join(path.Dir(file), fn.Name.Name)]
			if !ok || s.Name == "" || internal(s.Name, fn.Doc.Text()) {
				continue
			}
			if folder := path.Dir(file); folder != "." {
				s.Call.Package, s.Call.Import = tree.Name.Name, path.Join(b.ImportPath, folder)
				s.rank++
			}
			samples = append(samples, s)
		}
	}
	slices.SortFunc(samples, func(a, b Sample) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Name, b.Name)) })
	return samples, nil
}

var (
	internalName = regexp.MustCompile(`(?i)(^|\.)_|(^|[._])(internal|private|test|testing|debug)($|[._])`)
	internalDoc  = regexp.MustCompile(`(?i)\b(internal|private|deprecated|for tests?|for testing|debugging|do not call|not meant)\b`)
	// changing are words in the names of functions that rather do something than answer.
	changing = regexp.MustCompile(`(^|[._])(?i:abort|clear|close|crash|delete|destroy|exit|fail|finalize|free|init|kill|quit|raise|release|remove|reset|set|shutdown|stop|throw|write)($|[._]|[A-Z])`)
)

// internal reports whether a function is not for users.
func internal(name, doc string) bool {
	return internalName.MatchString(name) || internalDoc.MatchString(doc) || changing.MatchString(name)
}

// sampleOf fills in the arguments of fn. It reports false if fn takes or returns something else than plain values.
func sampleOf(fn *ast.FuncDecl) (s Sample, ok bool) {
	s.Call = &project.Call{Func: fn.Name.Name}
	s.Call.Comment, _, _ = strings.Cut(strings.TrimSpace(fn.Doc.Text()), "\n")
	if before, ok := strings.CutSuffix(s.Call.Comment, ":"); ok {
		s.Call.Comment = before + "." // what follows is the signature
	}
	results := fn.Type.Results
	if results == nil || len(results.List) != 2 || types.ExprString(results.List[1].Type) != "error" {
		return s, false
	}
	_, optional := results.List[0].Type.(*ast.StarExpr) // which is printed as an address
	if _, value := sampleValue(results.List[0].Type, 0); value == "" || optional {
		element, ok := argument1(types.ExprString(results.List[0].Type), "*tvmffi.Array[")
		if _, value := sampleValue(ast.NewIdent(element), 0); !ok || value == "" {
			return s, false
		}
		s.rank += 2 // a list reads less well when it is printed
	}
	var args []string
	for _, p := range fn.Type.Params.List {
		for range max(len(p.Names), 1) {
			text, value := sampleValue(p.Type, len(args))
			if value == "" {
				return s, false
			}
			s.Call.Args, args = append(s.Call.Args, text), append(args, value)
		}
	}
	s.Args = []byte("[" + strings.Join(args, ", ") + "]")
	s.rank += 4 * len(args)
	return s, true
}

// sampleValue is a value of a type for the i-th argument, in Go and as JSON; both are "" for a type whose values are not
// plain. Options and the arguments of packed functions are not: the library knows what they mean.
func sampleValue(t ast.Expr, i int) (text, value string) {
	if id, ok := t.(*ast.Ident); ok {
		switch id.Name {
		case "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64":
			text = fmt.Sprint(i + 1)
		case "float64":
			text = fmt.Sprintf("%d.5", i+1)
		case "string":
			text = `"hello"`
		case "bool":
			text = "true"
		}
		return text, text
	}
	if optional, ok := t.(*ast.StarExpr); ok {
		if _, value := sampleValue(optional.X, i); value != "" {
			return "nil", "null"
		}
		return "", ""
	}
	if element, ok := argument1(types.ExprString(t), "tvmffi.ArrayArg[", "tvmffi.ArrayLike["); ok {
		if a, _ := sampleValue(ast.NewIdent(element), 0); a != "" {
			b, _ := sampleValue(ast.NewIdent(element), 1)
			return fmt.Sprintf("tvmffi.Of[%s](%s, %s)", element, a, b), fmt.Sprintf("[%s, %s]", a, b)
		}
	}
	return "", ""
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
