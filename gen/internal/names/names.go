// Package names chooses all Go names, and groups the declarations into files. It comes after
// package members, because a name depends on types: a constructor's on what makes its
// object, a variant's on its parts, and an import's on what the code mentions.
//
// The wishes are in names.go, helpers.go (for generated code only) and
// params.go. A claim (claim.go) is a wish for a name in a scope (scope.go). Names of an earlier run
// are kept (kept.go).
package names

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/gen/internal/types"
)

// rename looks an entry up in the config. Names that derive from an item, such as the
// name of a setter, follow the item. all is true if the name is for all overloads of a method.
func (n *namer) rename(e *plan.Entry) (name string, all bool) {
	if !reported(e.Kind) {
		return "", false
	}
	for _, key := range e.Keys() {
		all := e.Overload != "" && e.Plain(key)
		if name, ok := n.Config.Rename[key]; ok {
			n.Used["rename "+key] = true
			return name, all
		}
		if item := n.Config.Functions[key]; item.Name != "" {
			return item.Name, all
		}
	}
	return "", false
}

// named returns the Go name that the first names file with one gives an entry, or "". It is a
// wish: if the name is taken, the entry gets another.
func (n *namer) named(e *plan.Entry) string {
	if !reported(e.Kind) {
		return ""
	}
	for _, file := range n.Config.Names {
		for _, key := range e.Keys() {
			if name := file.Items[key].Name; token.IsExported(name) && token.IsIdentifier(name) {
				return name
			}
		}
	}
	return ""
}

// standardMethods are names with a meaning in the standard library. A member of a
// library must not have one of them.
var standardMethods = []string{"Format", "GobDecode", "GobEncode", "MarshalJSON", "MarshalXML", "ReadByte", "ReadFrom",
	"ReadRune", "Scan", "Seek", "UnmarshalJSON", "UnmarshalXML", "UnreadByte", "UnreadRune", "WriteByte", "WriteTo",
	"MarshalText", "UnmarshalText", "MarshalBinary", "UnmarshalBinary", "GoString", "Error"}

// A namer knows the names of each package, and of the members of each type.
type namer struct {
	*types.Types
	scopes  map[*plan.Package]*scope
	members map[*plan.Object]*scope
	kept    map[*plan.Package]*kept
	present map[string]bool                 // the items of all packages
	derived map[*plan.Object][]*plan.Object // the types that derive from one
}

// Choose chooses all names. Earlier choices win: types, functions, constructors and their
// options, enums, members, options, and at last the names that only generated code uses. Then it fills the names into the
// entries, and groups the declarations into files.
func Choose(t *types.Types) {
	n := &namer{t, map[*plan.Package]*scope{}, map[*plan.Object]*scope{}, map[*plan.Package]*kept{}, map[string]bool{}, map[*plan.Object][]*plan.Object{}}
	n.Names = config.GoNames{Root: t.Root, Packages: map[string]map[string]string{}}
	for _, pkg := range n.Packages {
		n.kept[pkg] = n.keep(pkg)
		for _, o := range pkg.Objects {
			for _, a := range o.Ancestors() {
				n.derived[a] = append(n.derived[a], o)
			}
		}
	}
	members := newScope(universe)
	members.add("a method of the runtime", "Release", "String", "TVMFFIObject", "TVMFFIType")
	members.add("a standard method", standardMethods...)
	for _, key := range slices.Sorted(maps.Keys(n.Markers)) {
		members.add("the marker of "+key, n.Markers[key])
	}
	for _, pkg := range n.Packages {
		n.openScope(pkg)
		n.nameTypes(pkg)
	}
	for _, pkg := range n.Packages {
		n.nameFunctions(pkg)
		n.nameEnums(pkg)
		n.nameVariants(pkg)
	}
	for _, pkg := range n.Packages {
		n.nameForwards(pkg)
	}
	for _, t := range n.Items.Types {
		n.nameMembers(n.Objects[t.Schema.Key], members)
	}
	for _, pkg := range n.Packages {
		n.nameOptions(pkg)
		n.nameHelpers(pkg)
	}
	for _, pkg := range n.Packages {
		n.nameAllParams(pkg)
		report(pkg)
		group(pkg)
	}
	n.compareMeanings()
}

// openScope makes the scope of a package, with the names of the consumer and the
// imports.
func (n *namer) openScope(pkg *plan.Package) {
	s := newScope(universe)
	n.scopes[pkg] = s
	for _, name := range slices.Sorted(maps.Keys(pkg.User)) {
		if !strings.Contains(name, ".") {
			s.add("the consumer's own files", name)
		}
	}
	s.add("the function that loads the library", "Load")
	pkg.Load = !pkg.User["Load"]
	s.add("the function that loads and checks the library", "LoadChecked")
	pkg.LoadChecked = !pkg.User["LoadChecked"]
	n.reserve(pkg, s)
	locals := newScope(s)
	locals.add("a local", bodyNames...)
	imports := []plan.Import{{Path: plan.Runtime, Name: "tvmffi"}, {Path: plan.Bindrt, Name: "bindrt"}, {Path: plan.Big, Name: "big"}}
	clauses := map[string]string{plan.Runtime: "tvmffi", plan.Bindrt: "bindrt", plan.Big: "big"}
	for _, used := range uses(pkg) {
		imports = append(imports, plan.Import{Path: used.Path, Name: plan.Segment(used.Name)})
		clauses[used.Path] = n.Config.PackageNames[used.Path]
		if slices.Contains(n.Packages, used) {
			clauses[used.Path] = used.Name
		}
	}
	for i := range imports {
		name := imports[i].Name
		long := strings.ReplaceAll(path.Base(path.Dir(imports[i].Path)), "-", "") + name
		imports[i].Name = locals.free("an import", name, plan.Segment(long), name+"pkg")
		imports[i].Alias = imports[i].Name != clauses[imports[i].Path] || imports[i].Name != path.Base(imports[i].Path)
		s.add("an import", imports[i].Name)
	}
	pkg.Imports = imports
}

// nameTypes names the types of a package, and the aliases.
func (n *namer) nameTypes(pkg *plan.Package) {
	var types, refs []claim
	for _, o := range pkg.Objects {
		types = append(types, claim{entry: o.Entry, local: plan.LastPart(o.Key), want: o.Want, to: &o.GoName, declared: &o.UserType})
	}
	for _, a := range pkg.Aliases {
		shadow := *a.Object.Entry
		types = append(types, claim{entry: &shadow, local: plan.LastPart(a.Object.Key), want: a.Want, to: &a.GoName})
	}
	n.settle(pkg, n.scopes[pkg], types)
	for _, o := range pkg.Objects {
		if o.GoName == "" {
			o.GoName, _ = n.rename(o.Entry)
			o.GoName = cmp.Or(o.GoName, o.Want)
		}
		o.Ref = o.GoName + "Ref"
		refs = append(refs, derived(kindRef, o.Key, from("Ref", o.Entry.Item()), plan.LastPart(o.Key), o.Ref, &o.Ref))
		refs[len(refs)-1].declared = &o.UserRef
	}
	for _, a := range pkg.Aliases {
		if a.GoName != "" {
			refs = append(refs, derived(kindRef, a.Object.Key, from("Ref", a.Object.Entry.Item()), plan.LastPart(a.Object.Key), a.GoName+"Ref", &a.Ref))
		}
	}
	n.settle(pkg, n.scopes[pkg], refs)
}

// nameFunctions names the functions of a package, static methods and
// constructors included, then the options.
func (n *namer) nameFunctions(pkg *plan.Package) {
	var functions, constructors, optionTypes, options []claim
	add := func(to *[]claim, f *plan.Func, want string, spare ...string) {
		*to = append(*to, claim{entry: f.Entry, local: f.Local, want: want, to: &f.GoName, spare: spare})
	}
	for _, f := range pkg.Funcs {
		want := f.Want
		if f.Makes != nil && f.Makes.Pkg == pkg {
			want = f.Makes.GoName
		}
		if f.Makes != nil {
			want = "New" + want
		}
		add(&functions, f, want)
	}
	for _, o := range pkg.Objects {
		for _, f := range o.Statics {
			switch {
			case f.Constructor && len(o.Makers) > 0:
				add(&constructors, f, "New"+o.GoName+raw(f))
			case f.Constructor:
				add(&constructors, f, "New"+o.GoName, "New"+o.GoName+raw(f))
			default:
				full := o.GoName + plan.Camel(f.Name)
				add(&functions, f, join(o.GoName, plan.Camel(f.Name)), full)
				c := &functions[len(functions)-1]
				c.short = c.want != full
			}
		}
	}
	n.settle(pkg, n.scopes[pkg], functions)
	n.settle(pkg, n.scopes[pkg], constructors)
	for _, o := range pkg.Objects {
		for _, f := range o.Statics {
			if f.GoName == "" || f.Init == nil || len(f.Init.Options) == 0 {
				continue
			}
			f.Init.OptionType = o.GoName + "Option"
			optionTypes = append(optionTypes, derived(kindOptionType, o.Key, from("options", f.Entry.Item()), plan.LastPart(o.Key), f.Init.OptionType, &f.Init.OptionType))
			for _, option := range f.Init.Options {
				options = append(options, derived(kindOption, o.Key+"."+option.Name, from("option "+option.Name, f.Entry.Item()), option.Name, o.GoName+plan.Camel(option.Name), &option.GoName))
			}
		}
	}
	n.settle(pkg, n.scopes[pkg], optionTypes)
	n.settle(pkg, n.scopes[pkg], options)
}

// nameMembers names getters, methods and setters of a type. Parents come before
// children, so that a child does not hide an unrelated member.
func (n *namer) nameMembers(o *plan.Object, outer *scope) {
	if s := n.members[o.Parent]; s != nil {
		outer = s
	}
	s := newScope(outer)
	n.members[o] = s
	var getters, methods, setters []claim
	n.reserveMembers(o, s)
	owner := o.GoName + "."
	for _, f := range o.Fields {
		getters = append(getters, claim{entry: f.Entry, local: f.Name, want: plan.Camel(f.Name), to: &f.GoName, owner: owner})
	}
	for _, f := range o.Methods {
		methods = append(methods, claim{entry: f.Entry, local: f.Local, want: plan.Camel(f.Name), to: &f.GoName, owner: owner})
	}
	n.settle(o.Pkg, s, getters)
	n.settle(o.Pkg, s, methods)
	for _, f := range o.Fields {
		if f.Value != nil {
			setters = append(setters, derived(kindSetter, f.Entry.Name, from(setterOf, f.Entry.Item()), f.Name, "Set"+cmp.Or(f.GoName, plan.Camel(f.Name)), &f.Setter))
			setters[len(setters)-1].owner = owner
		}
	}
	n.settle(o.Pkg, s, setters)
}

// The names of the constructor __ffi_init__ of a type that a function of the library makes
// too: that function is New and the type.
const (
	fromFields = "FromFields" // the arguments are the fields
	fromInit   = "Init"       // the library declares the arguments
)

// raw returns the part after New and the type in the second name of a constructor.
func raw(f *plan.Func) string {
	if f.Init == nil {
		return fromInit
	}
	return fromFields
}

// nameForwards names the forwards of a package. A name that is taken belongs to a function
// of the namespace itself, which the library prefers.
func (n *namer) nameForwards(pkg *plan.Package) {
	s := n.scopes[pkg]
	for _, a := range pkg.Aliases {
		for _, f := range a.Forwards {
			item, name := f.To.Entry.Item(), "New"+a.GoName
			if !f.To.Constructor {
				name = join(a.GoName, plan.Camel(f.To.Name))
			} else if len(a.Object.Makers) > 0 {
				name += raw(f.To)
			}
			for _, name := range []string{n.kept[pkg].names[item], name} {
				_, taken := s.conflict(name, "", item)
				if name == "" || taken || a.GoName == "" || f.To.GoName == "" || f.GoName != "" {
					continue
				}
				s.add("the constructor of "+a.Object.Key, name)
				n.note(pkg, name, item)
				f.GoName = name
			}
		}
	}
}

// camelWords splits an identifier before each capital that starts a word: IRModuleFrame is
// IR, Module and Frame.
func camelWords(name string) []string {
	var all []string
	runes := []rune(name)
	start := 0
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			all = append(all, string(runes[start:i]))
			start = i
		}
	}
	return append(all, string(runes[start:]))
}

// join puts the name of a member after the name of its type. It leaves out the words at the
// start of the member's name with which the name of the type starts or ends.
func join(owner, member string) string {
	o, m := camelWords(owner), camelWords(member)
	n := 0
	for n < len(o) && n < len(m) && o[n] == m[n] {
		n++
	}
	for k := min(len(o), len(m)); k > 0 && n == 0; k-- {
		if slices.Equal(o[len(o)-k:], m[:k]) {
			n = k
		}
	}
	if n == len(m) {
		n = 0
	}
	return owner + strings.Join(m[n:], "")
}

// The limits of the names of variants.
const (
	maxVariantWords = 3  // alternatives that a name lists
	maxVariantName  = 40 // letters of a name
)

// nameVariants names the variants of a package after their alternatives. A name that would be
// long says OrMore after the first of them.
func (n *namer) nameVariants(pkg *plan.Package) {
	for _, text := range slices.Sorted(maps.Keys(pkg.Variants)) {
		v := pkg.Variants[text]
		words := n.Words(v)
		name := shortName(words)
		sum := sha256.Sum256([]byte(text))
		v.GoName = n.give(pkg, n.scopes[pkg], variantItem(text), "a variant", name, name+"Variant", fmt.Sprintf("%s%X", name, sum[:2]))
		methods := newScope(universe)
		for i := range v.Alternatives {
			a := &v.Alternatives[i]
			a.Of = n.give(pkg, n.scopes[pkg], from("alternative "+strconv.Itoa(i), variantItem(text)), "a variant", v.GoName+"Of"+words[i])
			a.As = methods.free("an accessor", "As"+words[i])
		}
	}
}

// shortName joins the words of a variant.
func shortName(words []string) string {
	name := strings.Join(words, "Or")
	if len(words) <= maxVariantWords && len(name) <= maxVariantName {
		return name
	}
	const more = "OrMore"
	name = words[0]
	if len(words) > 1 && len(name+"Or"+words[1]+more) <= maxVariantName {
		name += "Or" + words[1]
	}
	return name + more
}
