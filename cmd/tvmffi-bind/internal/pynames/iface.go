package pynames

import (
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// constructor is the name of the method that constructs objects.
const constructor = "__ffi_init__"

// iface is what libraries offer, by name. A nil *iface knows nothing and allows everything.
type iface struct {
	items      map[string]item
	types      hints.Types
	all        []string            // the names of items that take parameters, sorted
	namespaces map[string]bool     // in which a bound library has an item
	exports    map[string]bool     // the functions of modules, which no name in Python refers to
	overloads  map[string][]string // the names of the overloads of a method, such as garden.Rose.find(int), in their order
}

// item is a function, method, constructor, type or field.
type item struct {
	kind     string // as in a report
	name     string // without the parameters of an overload
	overload int    // its number, 0 if there is one method of the name
	// params and returns are those of the signature, without the receiver.
	params  []schema.Param
	returns schema.TypeSchema
	typed   bool // it has a signature
	bound   bool // it is of a library that is bound, not of a dependency
	method  bool // it has a receiver
	noted   bool // the library notes the width of an int among its parameters
	size    int  // of a field, in bytes
}

// newIface indexes a schema.
func newIface(s schema.Schema) *iface {
	in := &iface{items: map[string]item{}, types: hints.Types{}, namespaces: map[string]bool{}, exports: map[string]bool{}, overloads: map[string][]string{}}
	bound := map[string]bool{}
	for _, l := range s.Libraries {
		bound[l.File] = l.Role == schema.RoleBound
	}
	for i := range s.Types {
		t := &s.Types[i]
		in.types[t.Key] = t
	}
	for _, t := range s.Types {
		in.items[t.Key] = item{kind: "type", bound: bound[t.Library]}
		if slices.Contains(t.Attributes, constructor) {
			in.items[t.Key+"."+constructor] = item{kind: "init"} // made of the fields, which have names
		}
		for _, f := range t.Fields {
			in.items[t.Key+"."+f.Name] = item{kind: "field", bound: bound[t.Library], returns: f.Type, size: f.Size}
		}
		for _, m := range t.Methods {
			it := item{kind: "method", bound: bound[t.Library], typed: m.Signature != nil}
			if m.Name == constructor {
				it.kind = "constructor"
			}
			if it.typed {
				it.params, it.returns = m.Signature.Params, m.Signature.Return
				if m.Flags&schema.FlagIsStaticMethod == 0 && len(it.params) > 0 {
					it.params, it.method = it.params[1:], true
				}
			}
			it.name = t.Key + "." + m.Name
			if slices.ContainsFunc(t.Methods, func(o schema.Method) bool { return o.Name == m.Name && o.Params() != m.Params() }) {
				in.overloads[it.name] = append(in.overloads[it.name], it.name+m.Params())
				it.overload = len(in.overloads[it.name])
				in.items[it.name+m.Params()] = it
			}
			if it.overload <= 1 {
				in.items[it.name] = it // of overloads, the first: what is asked by this name holds for all
			}
		}
	}
	for _, f := range s.Functions {
		it := item{kind: "function", name: f.Name, bound: bound[f.Library], typed: f.Signature != nil}
		if it.typed {
			it.params, it.returns = f.Signature.Params, f.Signature.Return
			it.noted = f.Reported && slices.ContainsFunc(it.params, func(p schema.Param) bool { return hints.HasWidth(p.Noted()) })
		}
		name := f.Name
		if f.Source == schema.SourceModule && it.typed && bound[f.Library] {
			in.exports[name] = true
		}
		if other, ok := in.items[name]; ok && other.kind == "type" { // two items of one name
			in.items["type:"+name] = other
		}
		in.items[name] = it
	}
	for name, it := range in.items {
		if (it.kind == "function" || it.kind == "method" || it.kind == "constructor") && (it.overload == 0 || name != it.name) {
			in.all = append(in.all, name)
		}
		for at := strings.LastIndexByte(name, '.'); at > 0 && it.bound; at = strings.LastIndexByte(name[:at], '.') {
			in.namespaces[name[:at]] = true
		}
	}
	slices.Sort(in.all)
	return in
}

// has reports whether there may be a function of that name.
func (in *iface) has(name string) bool {
	return in != nil && in.items[name].kind == "function"
}

// typeName returns the name of a type among the items of a names file.
func (in *iface) typeName(key string) string {
	if in != nil && in.items[key].kind == "function" {
		return "type:" + key
	}
	return key
}

// loose reports whether a type is Any or any object, or holds such values: then Python may say more.
func loose(t schema.TypeSchema) bool {
	return t.Name == "Any" || t.Name == "ffi.Object" || t.Func == nil && slices.ContainsFunc(t.Args, loose) ||
		len(t.Args) == 0 && crossing.Container(t.Name)
}

// narrows returns the canonical text of a type if it says more than the library, "" otherwise.
func (in *iface) narrows(wide schema.TypeSchema, text string) string {
	wide = wide.Normalized()
	narrow, err := hints.ParseType(text)
	if err != nil || !loose(wide) {
		return ""
	}
	narrow = narrow.Normalized()
	if narrow.String() == wide.String() || in.types.Narrow(wide, narrow) != nil {
		return ""
	}
	return narrow.String()
}

// last returns the part of a name behind the last dot.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
