package source

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
)

// The verbs of directives for classes, beside object and method.
const (
	verbConstructor = "constructor"
	verbProperty    = "property"
)

// wordOpaque is the option of objects of which other languages see no field.
const wordOpaque = "opaque"

// opaque reports whether t is a struct with the option opaque.
func (r *reader) opaque(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && r.objects[n.Obj()] != nil && r.objects[n.Obj()].Opaque
}

// class returns the type with a directive that t names, nil if there is none.
func (r *reader) class(t types.Type) *Type {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return r.objects[n.Obj()]
	}
	return nil
}

// constructor reads a func with the directive constructor.
func (r *reader) constructor(decl *ast.FuncDecl, d directive) {
	f := r.signature(decl, d)
	if f == nil {
		return
	}
	var t *Type
	if len(f.Results) == 1 {
		t = r.constructed(f.Result())
	}
	if t != nil && t.Object.Pkg() != r.pkg.Types {
		t = nil // the class of an included package, which writes its constructor
	}
	switch {
	case f.Context:
		r.fail(decl.Pos(), "constructor %s takes a context: take it in a method, or write //tvmffi:export instead", f.GoName)
	case f.Packed:
		r.fail(decl.Pos(), "constructor %s takes any arguments: name its parameters", f.GoName)
	case t == nil:
		r.fail(decl.Pos(), "constructor %s must return the object that it makes, and an error if it can fail: "+
			"T or *define.Instance[T] of a struct T with //tvmffi:object, or *T if that has the option opaque", f.GoName)
	case t.Constructor != nil:
		r.fail(decl.Pos(), "%s and %s both construct %s, which can have one constructor: write //tvmffi:export above one of them", t.Constructor.GoName, f.GoName, t.GoName)
	default:
		t.Constructor = f
	}
}

// constructed returns the class that a result of a constructor is, nil if it is not one.
func (r *reader) constructed(result types.Type) *Type {
	if p, ok := types.Unalias(result).(*types.Pointer); ok {
		if isNamed(p.Elem(), crossing.Runtime+"/define", "Instance") {
			return r.class(types.Unalias(p.Elem()).(*types.Named).TypeArgs().At(0))
		}
		if r.opaque(p.Elem()) {
			return r.class(p.Elem())
		}
		return nil
	}
	return r.class(result)
}

// checkMember checks a method or a property of t, and adds it.
func (r *reader) checkMember(t *Type, f *Function, decl *ast.FuncDecl, d directive) {
	if t.Opaque && !f.Pointer {
		r.fail(decl.Pos(), "%s.%s has a receiver that is not a pointer, but %[1]s is opaque and is not copied: write func (x *%[1]s) %[2]s", t.GoName, f.GoName)
		return
	}
	if d.verb != verbProperty {
		t.Methods = append(t.Methods, f)
		return
	}
	if len(f.Params) > 0 || f.Packed || len(f.Results) != 1 || IsSequence(f.Results[0].Type) {
		r.fail(decl.Pos(), "property %s.%s must have no parameters and one result, and an error if it can fail: write //tvmffi:method for others", t.GoName, f.GoName)
		return
	}
	t.Properties = append(t.Properties, f)
}

// self is the type of the parameters of hooks: the struct, or a pointer to an opaque one.
func (t *Type) self() types.Type {
	if t.Opaque {
		return types.NewPointer(t.Object.Type())
	}
	return t.Object.Type()
}

// Closes reports whether f is the method Close of an opaque type. A Close with a context, which a
// caller can interrupt or start asynchronously, is a method like others.
func (t *Type) Closes(f *Function) bool {
	return t.Opaque && f.Hook == "" && f.GoName == "Close" && len(f.Params) == 0 && len(f.Results) == 0 && !f.Packed && !f.Context
}

// HasMembers reports whether the type has methods, properties or a constructor.
func (t *Type) HasMembers() bool { return len(t.members()) > 0 || t.Constructor != nil }

// members returns the methods and properties.
func (t *Type) members() []*Function { return slices.Concat(t.Methods, t.Properties) }

// checkOpaque refuses what a struct with the option opaque cannot have.
func (r *reader) checkOpaque(t *Type) {
	if t.Parent != "" || t.Structural != "" || slices.Contains(t.Flags, "Frozen") || slices.Contains(t.Flags, "KwOnly") {
		r.fail(t.pos, "type %s is opaque: other languages do not see its fields, so of the options it can only have final", t.GoName)
	}
	s := t.Object.Type().Underlying().(*types.Struct)
	parents := 0
	for i := range s.NumFields() {
		f := s.Field(i)
		if text, tagged, err := fieldtag.Lookup(reflect.StructTag(s.Tag(i))); err == nil && tagged && text != "-" {
			r.fail(f.Pos(), "field %s of %s has a tag, but the type is opaque: remove the tag, or the option opaque", f.Name(), t.GoName)
			continue
		}
		embedded := r.class(f.Type())
		if !f.Embedded() || embedded == nil {
			continue
		}
		parents++
		switch {
		case !embedded.Opaque:
			r.fail(f.Pos(), "type %s is opaque and embeds %s, which is not: name the field, or make both opaque", t.GoName, embedded.GoName)
		case parents > 1:
			r.fail(f.Pos(), "type %s embeds two opaque types, and a class has one parent: name one of the fields", t.GoName)
		case slices.Contains(embedded.Flags, "Final"):
			r.fail(f.Pos(), "type %s embeds %s, which is final: name the field", t.GoName, embedded.GoName)
		}
	}
}

// checkNames refuses two members of a class with one name.
func (r *reader) checkNames(t *Type) {
	used := map[string]*Function{}
	for _, m := range t.members() {
		id := m.Hook + "." + m.Name
		if other := used[id]; other != nil {
			r.fail(m.pos, "%s.%s and %[4]s are both exported as %[3]s: give one another name", t.GoName, m.GoName, m.Name, other.GoName)
		}
		used[id] = m
		if m.Hook == "" && m.Name == "__ffi_init__" {
			r.fail(m.pos, "%s.%s cannot be named %s: write //tvmffi:constructor above a func that returns the object", t.GoName, m.GoName, m.Name)
		}
	}
	if t.Opaque {
		return
	}
	s := t.Object.Type().Underlying().(*types.Struct)
	for i := range s.NumFields() {
		text, _, _ := fieldtag.Lookup(reflect.StructTag(s.Tag(i)))
		name, _, _ := strings.Cut(text, ",")
		for _, p := range t.Properties {
			if p.Name == name {
				r.fail(p.pos, "property %s.%s has the name of the field %s: give one another name", t.GoName, p.GoName, s.Field(i).Name())
			}
		}
	}
}
