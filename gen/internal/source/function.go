package source

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// function reads a func with a directive.
func (r *reader) function(decl *ast.FuncDecl, d directive) {
	name := decl.Name.Name
	switch {
	case d.verb == verbObject:
		r.fail(d.pos, "//tvmffi:object belongs above a struct: func %s has //tvmffi:export or //tvmffi:method", name)
		return
	case decl.Recv != nil && d.verb == verbConstructor:
		r.fail(d.pos, "%s is a method: //tvmffi:constructor belongs above a func that returns the object", name)
		return
	case d.verb == verbError:
		r.fail(d.pos, "//tvmffi:error belongs above a type: func %s has //tvmffi:export or //tvmffi:method", name)
		return
	case decl.Recv != nil && d.verb == verbExport:
		r.fail(d.pos, "%s is a method: write //tvmffi:method, and //tvmffi:object above its struct", name)
		return
	case decl.Recv != nil:
		r.methods = append(r.methods, pendingMethod{decl, d})
		return
	case d.verb == verbConstructor:
		r.constructor(decl, d)
		return
	case d.verb != verbExport:
		r.fail(d.pos, "func %s has no receiver: write //tvmffi:export", name)
		return
	}
	if f := r.signature(decl, d); f != nil {
		if !symbolPattern.MatchString(f.Name) {
			r.fail(d.pos, "%q is not a valid C symbol: begin with a letter, then write letters, digits and _, as in //tvmffi:export sum; --prefix adds a namespace", f.Name)
			return
		}
		r.Functions = append(r.Functions, f)
	}
}

// method reads a method of an object.
func (r *reader) method(decl *ast.FuncDecl, d directive) {
	base := decl.Recv.List[0].Type
	if star, ok := base.(*ast.StarExpr); ok {
		base = star.X
	}
	id, ok := base.(*ast.Ident)
	var t *Type
	if ok {
		if named, ok := r.pkg.TypesInfo.Uses[id].(*types.TypeName); ok {
			t = r.objects[named]
		}
	}
	if t == nil {
		r.fail(d.pos, "the type of method %s has no directive: write //tvmffi:object above its struct", decl.Name.Name)
		return
	}
	hook := hooks[d.verb]
	f := r.signature(decl, d)
	if f == nil {
		return
	}
	f.Hook = hook
	_, f.Pointer = decl.Recv.List[0].Type.(*ast.StarExpr)
	if hook == "" && !methodPattern.MatchString(f.Name) {
		r.fail(d.pos, "%q is not a valid method name: write letters, digits and _", f.Name)
		return
	}
	if hook != "" && !r.hookFits(t, f, decl) {
		return
	}
	r.checkMember(t, f, decl, d)
}

// hookSignatures are the signatures of hooks.
var hookSignatures = map[string]string{
	"Repr": "() string", "EqualBy": "(other T) bool", "HashBy": "() int64", "CompareBy": "(other T) int",
}

func (r *reader) hookFits(t *Type, f *Function, decl *ast.FuncDecl) bool {
	results := map[string]types.BasicKind{"Repr": types.String, "EqualBy": types.Bool, "HashBy": types.Int64, "CompareBy": types.Int}
	takes := 0
	if f.Hook == "EqualBy" || f.Hook == "CompareBy" {
		takes = 1
	}
	ok := !f.Fails && !f.Context && !f.Packed && len(f.Params) == takes && len(f.Results) == 1 && types.Identical(f.Result(), types.Typ[results[f.Hook]])
	if ok && takes == 1 {
		ok = types.Identical(f.Params[0].Type, t.self())
	}
	if t.Opaque && (!f.Pointer || !ok) {
		takes := strings.Replace(hookSignatures[f.Hook], "other T", "other *"+t.GoName, 1)
		r.fail(decl.Pos(), "%s.%s must be func (x *%[1]s) %[2]s%[3]s, because %[1]s is opaque", t.GoName, f.GoName, takes)
		return false
	}
	if !t.Opaque && (f.Pointer || !ok) {
		r.fail(decl.Pos(), "%s.%s must be func (x %s) %s%s, with the struct as its receiver, not a pointer", t.GoName, f.GoName, t.GoName, f.GoName, hookSignatures[f.Hook])
		return false
	}
	return true
}

// signature reads parameters and results. It returns nil after it has reported a problem.
func (r *reader) signature(decl *ast.FuncDecl, d directive) *Function {
	f := &Function{GoName: decl.Name.Name, Name: d.name, Doc: documentation(decl.Doc), pos: decl.Pos()}
	if f.Name == "" {
		f.Name = Snake(f.GoName)
	}
	before := len(r.errs)
	object, ok := r.pkg.TypesInfo.Defs[decl.Name].(*types.Func)
	if !ok {
		r.fail(decl.Pos(), "func %s has an error: "+ofCompiler, f.GoName)
		return nil
	}
	if !object.Exported() {
		r.fail(decl.Pos(), "func %s is not exported: write it with a capital letter", f.GoName)
		return nil
	}
	sig := object.Signature()
	if sig.TypeParams().Len() > 0 || sig.RecvTypeParams().Len() > 0 {
		r.fail(decl.Pos(), "func %s is generic: export a func for each instance that others need", f.GoName)
		return nil
	}
	r.parameters(f, sig)
	r.results(f, sig, decl)
	if len(r.errs) == before {
		r.options(f, d)
	}
	if len(r.errs) > before {
		return nil
	}
	return f
}

func (r *reader) parameters(f *Function, sig *types.Signature) {
	params := sig.Params()
	first := 0
	if params.Len() > 0 && isNamed(params.At(0).Type(), "context", "Context") {
		f.Context, first = true, 1
	}
	for i := first; i < params.Len(); i++ {
		p := params.At(i)
		if isNamed(p.Type(), "context", "Context") {
			r.fail(p.Pos(), "parameter %s of %s is a context.Context: there can be one, as the first parameter", nameOr(p.Name(), i), f.GoName)
			continue
		}
		param := Param{Name: p.Name(), Type: p.Type()}
		if i == params.Len()-1 && sig.Variadic() {
			param.Type, param.Variadic = p.Type().(*types.Slice).Elem(), true
		}
		if only := i == first && i == params.Len()-1; only && sig.Recv() == nil && packed(param) {
			f.Packed, f.Spread = true, param.Variadic
			f.Params = []Param{{Name: p.Name(), Type: p.Type()}}
			return
		}
		if why := r.refuse(param.Type, incoming); why != "" {
			r.fail(p.Pos(), "parameter %s of %s: %s", nameOr(p.Name(), i), f.GoName, why)
			continue
		}
		f.Params = append(f.Params, param)
	}
}

// packed reports whether the only parameter of a func takes any arguments.
func packed(p Param) bool {
	if p.Variadic {
		return isAny(p.Type)
	}
	s, ok := types.Unalias(p.Type).(*types.Slice)
	return ok && isNamed(s.Elem(), crossing.Runtime, "Any")
}

// maxResults is the number of elements of the largest tuple of the runtime.
const maxResults = 8

func (r *reader) results(f *Function, sig *types.Signature, decl *ast.FuncDecl) {
	results := sig.Results()
	n := results.Len()
	if n > 0 && isError(results.At(n-1).Type()) {
		f.Fails = true
		n--
	}
	switch {
	case n > 1 && errorBefore(results):
		r.fail(decl.Pos(), "%s returns an error that is not its last result: put error last", f.GoName)
		return
	case n > maxResults:
		r.fail(decl.Pos(), "%s has %d results: a tuple has at most %d; return a struct with tags", f.GoName, n, maxResults)
		return
	}
	for i := range n {
		result := results.At(i)
		f.Results = append(f.Results, Param{Name: result.Name(), Type: result.Type()})
		for _, t := range Yields(result.Type()) {
			if why := r.refuse(t, outgoing); why != "" {
				r.fail(decl.Pos(), "%s: %s", whichResult(f, i, n), why)
			}
		}
	}
}

// Yields returns the types of the values that an iter.Seq or iter.Seq2 yields, and t itself
// if it is another type.
func Yields(t types.Type) []types.Type {
	if !IsSequence(t) {
		return []types.Type{t}
	}
	var all []types.Type
	for arg := range types.Unalias(t).(*types.Named).TypeArgs().Types() {
		all = append(all, arg)
	}
	return all
}

// IsSequence reports whether t is an iter.Seq or an iter.Seq2.
func IsSequence(t types.Type) bool {
	kind, _ := crossing.KindByName(GoType{t})
	return kind == crossing.KindIterator
}

// whichResult names result i of n in an error.
func whichResult(f *Function, i, n int) string {
	if n == 1 {
		return "the result of " + f.GoName
	}
	return fmt.Sprintf("result %d of %s", i+1, f.GoName)
}

// errorBefore reports whether a result is an error, but not the last one.
func errorBefore(results *types.Tuple) bool {
	n := results.Len()
	for i := range n - 1 {
		if isError(results.At(i).Type()) {
			return !isError(results.At(n - 1).Type())
		}
	}
	return false
}

func nameOr(name string, i int) string {
	if name == "" || name == "_" {
		return string(rune('0' + i%10))
	}
	return name
}
