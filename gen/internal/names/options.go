package names

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// nameEnums names the enums of a package and their members.
func (n *namer) nameEnums(pkg *plan.Package) {
	s := n.scopes[pkg]
	for _, name := range slices.Sorted(maps.Keys(pkg.Enums)) {
		e := pkg.Enums[name]
		want := plan.Camel(name)
		e.GoName = n.give(pkg, s, enumItem(name), "an enum", want, want+"Enum")
		for i := range e.Members {
			m := &e.Members[i]
			m.GoName = n.give(pkg, s, from("member "+m.Name, enumItem(name)), "a member of the enum "+name, e.GoName+plan.Camel(strings.ToLower(m.Name)), e.GoName+"_"+plan.Verbatim(m.Name))
		}
	}
}

// nameOptions names the options of the functions of a package, after all functions and methods.
// Functions share an option if its name and its type are the same. If the types differ, most
// functions share the short name; for the others, and if the name is taken, the name of the
// function is in front.
func (n *namer) nameOptions(pkg *plan.Package) {
	s := n.scopes[pkg]
	byName := map[string][]*plan.OptionFunc{}
	functions := slices.SortedStableFunc(slices.Values(pkg.AllFuncs()), func(a, b *plan.Func) int { return cmp.Compare(a.Entry.Name, b.Entry.Name) })
	for _, f := range functions {
		if f.GoName == "" || f.Call == nil || f.Call.Options == nil {
			continue
		}
		o := f.Call.Options
		o.Type = n.give(pkg, s, from("options", f.Entry.Item()), "an option type", stems(f, "Option")...)
		o.Marker = plan.LowerFirst(o.Type)
		for i, option := range o.Funcs {
			same := slices.IndexFunc(byName[option.Name], option.Same)
			if same < 0 {
				byName[option.Name] = append(byName[option.Name], option)
				continue
			}
			o.Funcs[i] = byName[option.Name][same]
			o.Funcs[i].Users = append(o.Funcs[i].Users, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		options := byName[name]
		item := optionItem(name)
		// In an earlier run the functions that had options of their own did not have the one with the short name.
		apart := func(o *plan.OptionFunc) int {
			return plan.Order(slices.ContainsFunc(o.Users, func(f *plan.Func) bool { return n.kept[pkg].names[ownOption(f, name)] != "" }))
		}
		slices.SortStableFunc(options, func(a, b *plan.OptionFunc) int { return cmp.Or(apart(a)-apart(b), len(b.Users)-len(a.Users)) })
		for _, option := range options {
			if _, taken := s.conflict(name, "", item); !taken {
				option.GoName = n.give(pkg, s, item, "an option", name)
				pkg.Options = append(pkg.Options, option)
				continue
			}
			for _, f := range option.Users {
				own := *option
				own.GoName, own.Users = n.give(pkg, s, ownOption(f, name), "an option", stems(f, name)...), []*plan.Func{f}
				pkg.Options = append(pkg.Options, &own)
				f.Call.Options.Funcs[slices.Index(f.Call.Options.Funcs, option)] = &own
			}
		}
	}
	for _, option := range pkg.Options {
		if option.Type = option.Users[0].Call.Options.Type; len(option.Users) > 1 {
			option.Type = n.give(pkg, s, from("type", optionItem(option.Name)), "an option type", option.GoName+"Option", option.GoName+"Value")
		}
	}
	if len(pkg.Options) > 0 {
		pkg.OptionBase = s.free("a helper", "option", "optionValue")
	}
}

// ownOption returns the item of an option that a function does not share.
func ownOption(f *plan.Func, name string) string { return from("option "+name, f.Entry.Item()) }

// stems returns the names for what belongs to a function and ends in a word, best first. For the
// constructor of Rose it begins with Rose.
func stems(f *plan.Func, word string) []string {
	name := f.GoName
	if f.Constructor || f.Makes != nil {
		name = strings.TrimPrefix(name, "New")
	}
	if f.Method {
		return []string{name + word, f.Owner.GoName + name + word}
	}
	return []string{name + word, f.GoName + word}
}
