package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema"
)

// runtimeKeys are the types that package tvmffi implements by hand.
var runtimeKeys = func() map[string]bool {
	keys := wordSet(`Any None bool int float DataType Device void* DLTensor* TVMFFIByteArray* ObjectRValueRef
		ffi.Object ffi.String ffi.SmallStr ffi.Bytes ffi.SmallBytes ffi.Function ffi.Tensor ffi.Module ffi.Shape
		ffi.Array ffi.List ffi.Map ffi.Dict ffi.Error ffi.BigInt ffi.OpaquePyObject ffi.Unchanged`)
	keys["const char*"] = true
	return keys
}()

const rootKey = "ffi.Object"

// A boundType is an object type that gets a Go type.
type boundType struct {
	schema *schema.Type
	entry  *Entry
	object *Object
}

// A boundFunction is a function that gets a Go function.
type boundFunction struct {
	schema *schema.Function
	entry  *Entry
}

// classify selects the items that the config asks for and decides what each becomes.
func (p *planner) classify() {
	owned := p.config.owned()
	for i := range p.schema.Types {
		t := &p.schema.Types[i]
		if !p.wanted(t.Key, t.Library) {
			continue
		}
		e := p.entry(KindType, t.Key, lastPart(t.Key))
		switch {
		case p.skip(e):
			p.memberEntries(t, e)
		case runtimeKeys[t.Key]:
			e.Status, e.Reason = InRuntime, "package tvmffi has it"
			p.memberEntries(t, e)
		case owned[t.Key] != "":
			e.Status, e.Reason = Skipped, "owned by "+owned[t.Key]
			p.memberEntries(t, e)
		case !slices.Contains(t.Ancestors, rootKey):
			e.Status, e.Reason = Skipped, "not an object type, and unknown to package tvmffi"
			p.memberEntries(t, e)
		default:
			p.bound = append(p.bound, &boundType{schema: t, entry: e})
		}
	}
	for i := range p.schema.Functions {
		f := &p.schema.Functions[i]
		if !p.wanted(f.Name, f.Library) || f.Source == schema.SourceModule && !p.boundLibrary(f.Library) {
			continue
		}
		e := p.entry(KindFunction, f.Name, lastPart(f.Name))
		if !p.skip(e) {
			p.functions = append(p.functions, &boundFunction{schema: f, entry: e})
		}
	}
	if len(p.entries) > 0 {
		return
	}
	if p.checkNamespaces(); len(p.errs) == 0 {
		var names []string
		for _, l := range p.schema.Libraries {
			if p.boundLibrary(l.File) {
				names = append(names, l.File)
			}
		}
		p.fail(fmt.Errorf("nothing to bind: %s has no function and no type of TVM-FFI; list its contents with \"tvmffi-bind ls\"", cmp.Or(strings.Join(names, ", "), "the schema")))
	}
}

// checkNamespaces refuses prefixes, a root and packages that match nothing.
func (p *planner) checkNamespaces() {
	check := func(ns string, path ...string) {
		if !slices.ContainsFunc(p.entries, func(e *Entry) bool { return strings.HasPrefix(e.Name, ns+".") }) {
			p.failAt(fmt.Errorf("no item that can be bound is in the namespace %q; list the items with \"tvmffi-bind ls\"%s", ns, nearest.Question(ns, p.namespaces())), path...)
		}
	}
	for _, prefix := range p.config.Prefixes {
		check(prefix, "prefixes")
	}
	if p.config.Root != "" {
		check(p.config.Root, "root")
	}
	for _, ns := range slices.Sorted(maps.Keys(p.config.Packages)) {
		check(ns, "packages", ns)
	}
}

// namespaces lists the namespaces of the schema, sorted.
func (p *planner) namespaces() []string {
	found := map[string]bool{}
	add := func(name string) {
		for name = namespace(name); name != "" && !found[name]; name = namespace(name) {
			found[name] = true
		}
	}
	for _, f := range p.schema.Functions {
		add(f.Name)
	}
	for _, t := range p.schema.Types {
		add(t.Key)
	}
	return slices.Sorted(maps.Keys(found))
}

// memberEntries gives the fields and methods of a type that is not generated the
// same status as the type.
func (p *planner) memberEntries(t *schema.Type, of *Entry) {
	for _, f := range t.Fields {
		e := p.entry(KindField, t.Key+"."+f.Name, f.Name)
		e.Status, e.Reason = of.Status, of.Reason
	}
	for _, m := range t.Methods {
		e := p.entry(KindMethod, t.Key+"."+m.Name, m.Name)
		e.Status, e.Reason = of.Status, of.Reason
	}
}

// wanted reports whether an item belongs to a prefix or a library of the config. If the
// config has neither, all items of the bound libraries are wanted.
func (p *planner) wanted(name, library string) bool {
	for _, prefix := range p.config.Prefixes {
		if strings.HasPrefix(name, prefix+".") {
			return true
		}
	}
	if len(p.config.Libraries) > 0 {
		return slices.Contains(p.config.Libraries, library)
	}
	return len(p.config.Prefixes) == 0 && p.boundLibrary(library)
}

// boundLibrary reports whether the exports of a library are bound.
func (p *planner) boundLibrary(file string) bool {
	if len(p.config.Libraries) > 0 {
		return slices.Contains(p.config.Libraries, file)
	}
	return slices.ContainsFunc(p.schema.Libraries, func(l schema.Library) bool {
		return l.File == file && l.Role == schema.RoleBound
	})
}

// entry adds the report entry of an item.
func (p *planner) entry(kind Kind, name, local string) *Entry {
	e := &Entry{Kind: kind, Name: name, Status: Generated, local: local}
	p.entries = append(p.entries, e)
	return e
}

// skip applies the skip list.
func (p *planner) skip(e *Entry) bool {
	for _, key := range []string{e.Name, e.id()} {
		if slices.Contains(p.config.Skip, key) {
			p.used["skip "+key] = true
			e.Status, e.Reason = Skipped, "in the skip list"
		}
	}
	return e.Status == Skipped
}

// lastPart returns the part of a registry name after the last dot.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// namespace returns the part of a registry name before the last dot.
func namespace(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }
