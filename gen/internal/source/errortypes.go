package source

import (
	"cmp"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
)

// errorType reads an error type.
func (r *reader) errorType(spec *ast.TypeSpec, d directive, doc string) {
	bases := crossing.Exceptions()
	named := r.namedType(spec, d, "error", "declare an error type for each instance that others need")
	if named == nil {
		return
	}
	e := &ErrorType{GoName: named.Name(), Kind: cmp.Or(d.name, named.Name()), Doc: doc, Object: named, pos: spec.Pos()}
	for _, o := range d.options {
		base, ok := strings.CutPrefix(o, "base=")
		switch {
		case !ok:
			r.fail(d.pos, "unknown option %q of //tvmffi:error: there is base=KIND", o)
		case e.Base != "":
			r.fail(d.pos, "two bases for error %s: an error type has one", e.GoName)
		case !slices.Contains(bases, base):
			r.fail(d.pos, "base=%s is not a kind that other languages know: use one of %s", base, strings.Join(bases, ", "))
		default:
			e.Base = base
		}
	}
	switch {
	case crossing.FindErrorKind(d.name) != nil:
		r.fail(d.pos, "%s is a kind that exists: choose another one, and write base=%[1]s if the error is a special case of it", e.Kind)
	case !validKey(e.Kind):
		r.fail(d.pos, "%q is not a kind: write letters, digits and _, with dots between parts, such as golib.NotFoundError", e.Kind)
	}
	r.checkError(e, spec)
	r.Errors = append(r.Errors, e)
}

// namedType returns the type of a declaration with a directive that others can use, or nil
// after it has reported a problem.
func (r *reader) namedType(spec *ast.TypeSpec, d directive, verb, instances string) *types.TypeName {
	name := spec.Name.Name
	named, ok := r.pkg.TypesInfo.Defs[spec.Name].(*types.TypeName)
	switch {
	case !ok:
		r.fail(spec.Pos(), "type %s has an error: "+ofCompiler, name)
	case spec.Assign.IsValid():
		r.fail(d.pos, "type %s is an alias: put //tvmffi:%s where the type is declared", name, verb)
	case spec.TypeParams != nil:
		r.fail(d.pos, "type %s is generic: %s", name, instances)
	case !named.Exported():
		r.fail(d.pos, "type %s is not exported: write it with a capital letter", name)
	default:
		return named
	}
	return nil
}

// checkError checks that e is an error type whose fields can cross.
func (r *reader) checkError(e *ErrorType, spec *ast.TypeSpec) {
	t := e.Object.Type()
	iface := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	switch {
	case types.Implements(t, iface):
	case types.Implements(types.NewPointer(t), iface):
		e.Pointer = true
	default:
		r.fail(spec.Pos(), "type %s is not an error: give it a method Error() string, or write //tvmffi:object above a struct of another kind", e.GoName)
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		r.checkFields(e.GoName, u, map[string]bool{}, func(types.Type) string { return "" })
		r.checkErrorFields(e, u)
	case *types.Basic:
		if u.Info()&(types.IsString|types.IsInteger) == 0 {
			r.fail(spec.Pos(), "error %s is a %s: only structs, strings and integers cross as errors", e.GoName, u.Name())
		}
	default:
		r.fail(spec.Pos(), "error %s is a %s: only structs, strings and integers cross as errors", e.GoName, r.text(u))
	}
}

// reserved are names of fields that exceptions of other languages have already.
var reserved = []string{"args", "kind", "message", "backtrace", "add_note", "with_traceback"}

// checkErrorFields refuses names of fields that a class of another language cannot have.
func (r *reader) checkErrorFields(e *ErrorType, s *types.Struct) {
	for i := range s.NumFields() {
		f := s.Field(i)
		text, tagged, _ := fieldtag.Lookup(reflect.StructTag(s.Tag(i)))
		tag, err := fieldtag.Parse(text)
		if !tagged || err != nil || tag.Name == "" {
			continue // checkFields reports a wrong tag
		}
		switch {
		case slices.Contains(reserved, tag.Name):
			r.fail(f.Pos(), "field %s of %s: errors of other languages already have %s: give the field another name in its tag", f.Name(), e.GoName, tag.Name)
		case !symbolPattern.MatchString(tag.Name):
			r.fail(f.Pos(), "field %s of %s: %q is not a name in other languages: begin with a letter, then write letters, digits and _", f.Name(), e.GoName, tag.Name)
		}
	}
}

// duplicateErrors refuses two errors of one kind, and an error with the name or key of another type.
func (r *reader) duplicateErrors() {
	kinds := map[string]*ErrorType{}
	for _, e := range r.Errors {
		if other := kinds[e.Kind]; other != nil {
			r.fail(e.pos, "%s and %[3]s both have the kind %[2]s: give one another kind, //tvmffi:error other.Kind", e.GoName, e.Kind, other.GoName)
		}
		kinds[e.Kind] = e
	}
	for _, t := range r.Types {
		if e := kinds[t.Key]; e != nil {
			r.fail(e.pos, "error %s has the kind %s, which is the key of the type %s: give it another kind, //tvmffi:error other.Kind", e.GoName, e.Kind, t.GoName)
		}
	}
}
