// Package classify decides which items of a schema get a Go form, and applies to them what hints
// add: the configuration, names files and the documentation of the library.
package classify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// InRuntime reports whether package tvmffi has a type for the values of a key.
func InRuntime(key string) bool {
	kind, ok := crossing.Named(key)
	return ok && key == crossing.Canonical(key) && (crossing.Rows[kind].Class != crossing.Form || kind == crossing.KindAny)
}

// Items are the items of a schema that get a Go form, and the entries of all that the
// configuration asks for.
type Items struct {
	Config    config.Config
	Schema    schema.Schema
	Keys      hints.Types // the types of the schema, by key
	Types     []*Type     // in schema order
	Functions []*Function // in schema order
	Entries   []*plan.Entry
	Unused    []string        // the items of names files that the schema does not have, sorted
	Used      map[string]bool // the entries of the configuration that matched, such as "skip garden.Rose"
	Errs      []error
	Names     config.GoNames // that were chosen
	Meanings  []plan.Meaning // of names that changed them

	patterns []string                     // keys of Config.Functions
	widths   map[string]schema.TypeSchema // the types of fields, by type and field, to which hints give widths
	unfit    map[string]*plan.ConfigError // keys of Config.Functions for all overloads of a method that do not fit one, and why
	fits     map[string]bool              // those that fit one
}

// An Item is a function, a type or a member of a type, with what hints add to it.
type Item struct {
	Entry *plan.Entry
	Doc   string
	// Signature has the names and types of the hints. It is nil for a packed function.
	Signature *schema.Signature
	// Changed is set if a hint gave a type.
	Changed bool
	// Narrow is set if a hint gave the width of an int.
	Narrow bool
	// Defaults and Enums have an element for each parameter without the receiver, nil for none.
	// The last element of Enums belongs to the result.
	Defaults []*plan.Default
	Enums    []*Named
	// Brief is what the hints, or else the metadata, say of how long calls take, nil for nothing.
	Brief *bool
	// Fixed has the values that a compiled kernel takes for parameters, nil for the others.
	Fixed []*plan.Default
}

// A Function is a function of the registry or of a module.
type Function struct {
	Item
	Schema *schema.Function
}

// A Type is an object type with its members, those in the skip list too.
type Type struct {
	Item
	Schema  *schema.Type
	Fields  []*Field
	Methods []*Method
	Init    *Item // the constructor that sets the fields, nil if there is none
}

// A Field is a field of an object type.
type Field struct {
	Item
	Schema *schema.Field
	Type   schema.TypeSchema // with the widths of the hints
}

// A Method is a method of an object type, the Overload-th of its name.
type Method struct {
	Item
	Schema   *schema.Method
	Overload int
}

// Select selects the items that the config asks for, decides what each becomes, and applies
// the hints to them. The errors are in the items, unless there is nothing to bind.
func Select(s schema.Schema, c config.Config) (*Items, error) {
	p := &Items{Config: c, Schema: s, Keys: make(hints.Types, len(s.Types)), Used: map[string]bool{}, patterns: hintPatterns(c.Functions),
		widths: map[string]schema.TypeSchema{}, unfit: map[string]*plan.ConfigError{}, fits: map[string]bool{}}
	for i := range s.Types {
		p.Keys[s.Types[i].Key] = &s.Types[i]
	}
	owned := plan.Owned(c)
	for i := range s.Types {
		t := &s.Types[i]
		if !p.wanted(t.Key, t.Library) {
			continue
		}
		e := p.entry(plan.KindType, t.Key)
		switch {
		case p.skip(e):
		case InRuntime(t.Key):
			e.Status, e.Reason = plan.InRuntime, "package tvmffi has it"
		case owned[t.Key] != "":
			e.Status, e.Reason = plan.Skipped, "owned by "+owned[t.Key]
		case !slices.Contains(t.Ancestors, plan.RootKey):
			e.Status, e.Reason = plan.Skipped, "not an object type, and unknown to package tvmffi"
		default:
			p.Types = append(p.Types, p.members(t, e))
			continue
		}
		p.memberEntries(t, e)
	}
	for i := range s.Functions {
		f := &s.Functions[i]
		if !p.wanted(f.Name, f.Library) || f.Source == schema.SourceModule && !p.boundLibrary(f.Library) {
			continue
		}
		e := p.entry(plan.KindFunction, f.Name)
		e.Export = f.ModuleStem()
		if !p.skip(e) {
			p.Functions = append(p.Functions, &Function{Item{Entry: e}, f})
		}
	}
	if len(p.Entries) == 0 {
		return nil, p.nothing()
	}
	p.refine()
	return p, nil
}

// nothing says why no item is bound.
func (p *Items) nothing() error {
	if p.checkNamespaces(); len(p.Errs) > 0 {
		return errors.Join(p.Errs...)
	}
	var names []string
	for _, l := range p.Schema.Libraries {
		if p.boundLibrary(l.File) {
			names = append(names, l.File)
		}
	}
	return fmt.Errorf("nothing to bind: %s has no function and no type of TVM-FFI; list its contents with \"tvmffi-bind ls\"", cmp.Or(strings.Join(names, ", "), "the schema"))
}

// members makes the entries of a type that gets a Go type.
func (p *Items) members(s *schema.Type, e *plan.Entry) *Type {
	t := &Type{Item: Item{Entry: e}, Schema: s}
	for i := range s.Fields {
		f := &s.Fields[i]
		t.Fields = append(t.Fields, &Field{p.member(plan.KindField, s.Key, f.Name), f, f.Type})
	}
	count, seen := map[string]int{}, map[string]int{}
	for _, m := range s.Methods {
		count[m.Name]++
	}
	for i := range s.Methods {
		m := &s.Methods[i]
		seen[m.Name]++
		e := p.entry(methodKind(m), s.Key+"."+m.Name)
		if e.Params = m.Params(); count[m.Name] > 1 {
			e.Overload = e.Params
			e.Note = fmt.Sprintf("overload %d of this name", seen[m.Name])
		}
		p.skip(e)
		t.Methods = append(t.Methods, &Method{Item{Entry: e}, m, seen[m.Name]})
	}
	if seen[plan.InitName] == 0 && slices.Contains(s.Attributes, plan.InitName) {
		init := p.member(plan.KindConstructor, s.Key, plan.InitName)
		t.Init = &init
	}
	return t
}

func (p *Items) member(kind plan.Kind, key, name string) Item {
	e := p.entry(kind, key+"."+name)
	p.skip(e)
	return Item{Entry: e}
}

// methodKind returns the kind of a method: a static method with the name of constructors is
// one.
func methodKind(m *schema.Method) plan.Kind {
	if m.Flags&schema.FlagIsStaticMethod != 0 && m.Name == plan.InitName {
		return plan.KindConstructor
	}
	return plan.KindMethod
}

// memberEntries gives the fields and methods of a type that is not generated the
// same status as the type.
func (p *Items) memberEntries(t *schema.Type, of *plan.Entry) {
	for _, f := range t.Fields {
		e := p.entry(plan.KindField, t.Key+"."+f.Name)
		e.Status, e.Reason = of.Status, of.Reason
	}
	for _, m := range t.Methods {
		e := p.entry(plan.KindMethod, t.Key+"."+m.Name)
		e.Params = m.Params()
		e.Status, e.Reason = of.Status, of.Reason
	}
}

// wanted reports whether an item belongs to a prefix or a library of the config. If the
// config has neither, all items of the bound libraries are wanted.
func (p *Items) wanted(name, library string) bool {
	for _, prefix := range p.Config.Prefixes {
		if strings.HasPrefix(name, prefix+".") {
			return true
		}
	}
	if len(p.Config.Libraries) > 0 {
		return slices.Contains(p.Config.Libraries, library)
	}
	return len(p.Config.Prefixes) == 0 && p.boundLibrary(library)
}

// boundLibrary reports whether the exports of a library are bound.
func (p *Items) boundLibrary(file string) bool {
	if len(p.Config.Libraries) > 0 {
		return slices.Contains(p.Config.Libraries, file)
	}
	return slices.ContainsFunc(p.Schema.Libraries, func(l schema.Library) bool {
		return l.File == file && l.Role == schema.RoleBound
	})
}

// entry adds the report entry of an item.
func (p *Items) entry(kind plan.Kind, name string) *plan.Entry {
	e := &plan.Entry{Kind: kind, Name: name, Status: plan.Generated}
	p.Entries = append(p.Entries, e)
	return e
}

// skip applies the skip list.
func (p *Items) skip(e *plan.Entry) bool {
	for _, key := range e.Keys() {
		if slices.Contains(p.Config.Skip, key) {
			p.Used["skip "+key] = true
			e.Status, e.Reason = plan.Skipped, "in the skip list"
		}
	}
	return e.Status == plan.Skipped
}
