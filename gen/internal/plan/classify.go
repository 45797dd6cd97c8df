package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// runtimeKeys are the types that package tvmffi implements by hand.
var runtimeKeys = func() map[string]bool {
	keys := wordSet(`Any None bool int float DataType Device void* DLTensor* TVMFFIByteArray* ObjectRValueRef
		ffi.Object ffi.String ffi.SmallStr ffi.Bytes ffi.SmallBytes ffi.Function ffi.Tensor ffi.Module ffi.Shape
		ffi.Array ffi.List ffi.Map ffi.Dict ffi.Error ffi.BigInt ffi.OpaquePyObject ffi.Unchanged`)
	keys["const char*"] = true
	return keys
}()

const (
	rootKey  = "ffi.Object"
	initName = "__ffi_init__"
)

// Items are the items of a schema that get a Go form, and the entries of all that the
// configuration asks for.
type Items struct {
	Config    Config
	Schema    schema.Schema
	Keys      hints.Types // the types of the schema, by key
	Types     []*Type     // in schema order
	Functions []*Function // in schema order
	Entries   []*Entry
	Unused    []string        // the items of names files that the schema does not have, sorted
	Used      map[string]bool // the entries of the configuration that matched, such as "skip garden.Rose"
	Errs      []error

	patterns []string // keys of Config.Functions
}

// An Item is a function, a type or a member of a type, with what hints add to it.
type Item struct {
	Entry *Entry
	Doc   string
	// Signature has the names and types of the hints. It is nil for a packed function.
	Signature *schema.Signature
	// Changed is set if a hint gave a type.
	Changed bool
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
	Fields  []*TypeField
	Methods []*Method
	Init    *Item // the constructor that sets the fields, nil if there is none
}

// A TypeField is a field of an object type.
type TypeField struct {
	Item
	Schema *schema.Field
}

// A Method is a method of an object type, the Overload-th of its name.
type Method struct {
	Item
	Schema   *schema.Method
	Overload int
}

// classify selects the items that the config asks for, decides what each becomes, and applies
// the hints to them. The errors are in the items, unless there is nothing to bind.
func classify(s schema.Schema, c Config) (*Items, error) {
	p := &Items{Config: c, Schema: s, Keys: make(hints.Types, len(s.Types)), Used: map[string]bool{}, patterns: hintPatterns(c.Functions)}
	for i := range s.Types {
		p.Keys[s.Types[i].Key] = &s.Types[i]
	}
	owned := c.owned()
	for i := range s.Types {
		t := &s.Types[i]
		if !p.wanted(t.Key, t.Library) {
			continue
		}
		e := p.entry(KindType, t.Key)
		switch {
		case p.skip(e):
		case runtimeKeys[t.Key]:
			e.Status, e.Reason = InRuntime, "package tvmffi has it"
		case owned[t.Key] != "":
			e.Status, e.Reason = Skipped, "owned by "+owned[t.Key]
		case !slices.Contains(t.Ancestors, rootKey):
			e.Status, e.Reason = Skipped, "not an object type, and unknown to package tvmffi"
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
		if e := p.entry(KindFunction, f.Name); !p.skip(e) {
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
func (p *Items) members(s *schema.Type, e *Entry) *Type {
	t := &Type{Item: Item{Entry: e}, Schema: s}
	for i := range s.Fields {
		f := &s.Fields[i]
		t.Fields = append(t.Fields, &TypeField{p.member(KindField, s.Key, f.Name), f})
	}
	seen := map[string]int{}
	for i := range s.Methods {
		m := &s.Methods[i]
		seen[m.Name]++
		method := &Method{p.member(methodKind(m), s.Key, m.Name), m, seen[m.Name]}
		if method.Overload > 1 {
			method.Entry.Note = fmt.Sprintf("overload %d of this name", method.Overload)
		}
		t.Methods = append(t.Methods, method)
	}
	if seen[initName] == 0 && slices.Contains(s.Attributes, initName) {
		init := p.member(KindConstructor, s.Key, initName)
		t.Init = &init
	}
	return t
}

func (p *Items) member(kind Kind, key, name string) Item {
	e := p.entry(kind, key+"."+name)
	p.skip(e)
	return Item{Entry: e}
}

// methodKind returns the kind of a method: a static method with the name of constructors is
// one.
func methodKind(m *schema.Method) Kind {
	if m.Flags&schema.FlagIsStaticMethod != 0 && m.Name == initName {
		return KindConstructor
	}
	return KindMethod
}

// memberEntries gives the fields and methods of a type that is not generated the
// same status as the type.
func (p *Items) memberEntries(t *schema.Type, of *Entry) {
	for _, f := range t.Fields {
		e := p.entry(KindField, t.Key+"."+f.Name)
		e.Status, e.Reason = of.Status, of.Reason
	}
	for _, m := range t.Methods {
		e := p.entry(KindMethod, t.Key+"."+m.Name)
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
func (p *Items) entry(kind Kind, name string) *Entry {
	e := &Entry{Kind: kind, Name: name, Status: Generated}
	p.Entries = append(p.Entries, e)
	return e
}

// skip applies the skip list.
func (p *Items) skip(e *Entry) bool {
	for _, key := range []string{e.Name, e.ID()} {
		if slices.Contains(p.Config.Skip, key) {
			p.Used["skip "+key] = true
			e.Status, e.Reason = Skipped, "in the skip list"
		}
	}
	return e.Status == Skipped
}

// lastPart returns the part of a registry name after the last dot.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// namespace returns the part of a registry name before the last dot.
func namespace(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }
