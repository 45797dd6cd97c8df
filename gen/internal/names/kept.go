package names

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// kept are the names that an earlier run gave in one package to items that still exist.
type kept struct {
	names map[string]string // by item; a member's without its type
	items map[string]string // by name, and Type.Member
}

// keep finds what an earlier run named in a package. An item whose parameters changed, or whose
// library has another file name, is the same item if no other fits.
func (n *namer) keep(pkg *plan.Package) *kept {
	k := &kept{map[string]string{}, map[string]string{}}
	if n.Config.Before == nil {
		return k
	}
	before := n.Config.Before.Packages[plan.Display(pkg.Dir)]
	now, same := n.items(pkg), map[string]string{}
	for item := range now {
		n.present[item] = true
	}
	missing, unnamed := map[string][]string{}, map[string][]string{}
	named := map[string]bool{}
	for _, item := range before {
		item, _ = strings.CutSuffix(item, byConfig)
		named[item] = true
		if _, is := now[item]; !is && baseOf(item) == item {
			missing[roughly(item)] = append(missing[roughly(item)], item)
		}
	}
	for item := range now {
		if !named[item] {
			unnamed[roughly(item)] = append(unnamed[roughly(item)], item)
		}
	}
	for rough, items := range missing {
		if len(items) == 1 && len(unnamed[rough]) == 1 {
			same[items[0]] = unnamed[rough][0]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		item, byConfig := strings.CutSuffix(before[name], byConfig)
		base := baseOf(item)
		if to, ok := same[base]; ok {
			item = strings.TrimSuffix(item, base) + to
			base = to
		}
		e, is := now[base]
		if !is || k.names[item] != "" || byConfig && !n.namedByConfig(e) {
			continue
		}
		k.items[name] = item
		k.names[item] = name[strings.LastIndexByte(name, '.')+1:]
	}
	return k
}

// byConfig follows an item whose name is from the configuration or a names file. The item loses the name when
// they no longer give it one.
const byConfig = ", named by the configuration"

func (n *namer) namedByConfig(e *plan.Entry) bool {
	if e == nil {
		return false
	}
	name, _ := n.rename(e)
	return name != "" || n.named(e) != ""
}

// items returns the items of a package with their entries, and what its signatures mention: variants, enums and options,
// which have none.
func (n *namer) items(pkg *plan.Package) map[string]*plan.Entry {
	all := map[string]*plan.Entry{}
	for _, o := range pkg.Objects {
		all[o.Entry.Item()] = o.Entry
		for _, f := range o.Fields {
			all[f.Entry.Item()] = f.Entry
		}
	}
	for _, a := range pkg.Aliases {
		all[a.Object.Entry.Item()] = a.Object.Entry
		for _, f := range a.Forwards {
			all[f.To.Entry.Item()] = f.To.Entry
		}
	}
	for _, f := range pkg.AllFuncs() {
		all[f.Entry.Item()] = f.Entry
		if f.Call != nil && f.Call.Options != nil {
			for _, option := range f.Call.Options.Funcs {
				all[optionItem(option.Name)] = nil
			}
		}
	}
	for name := range pkg.Enums {
		all[enumItem(name)] = nil
	}
	for text := range pkg.Variants {
		all[variantItem(text)] = nil
	}
	return all
}

// Names that derive from an item of the registry, or that have no entry there.
func optionItem(name string) string  { return "option:" + name }
func enumItem(name string) string    { return "enum:" + name }
func variantItem(text string) string { return "variant:" + text }

// from describes what derives from an item.
func from(what, item string) string { return what + " of " + item }

// baseOf returns the item from which one derives, or the item itself.
func baseOf(item string) string {
	colon, of := strings.IndexByte(item, ':'), strings.Index(item, " of ")
	if of < 0 || of > colon {
		return item
	}
	return item[of+len(" of "):]
}

// export begins the items that are functions of modules.
const export = "export"

// roughly returns an item without what may change while it stays the same: the parameters of a
// method, and the library of an export.
func roughly(item string) string {
	switch kind, _, _ := strings.Cut(item, ":"); kind {
	case string(plan.KindMethod), string(plan.KindConstructor):
		item, _, _ = strings.Cut(item, "(")
	case export:
		item = item[:max(strings.LastIndex(item, " of "), 0)]
	}
	return item
}

// reservation holds a name for an item that had it before.
func reservation(item string) holder {
	kind, _, _ := strings.Cut(item, ":")
	if kind == export {
		kind = string(plan.KindFunction)
	}
	return holder{who: strings.Replace(item, ":", " ", 1), reserved: item, local: plan.LastPart(roughly(baseOf(item))), kind: plan.Kind(kind)}
}

// reserve keeps the names that items of a package have from others. A member's name is kept in its
// type, and in the types from which it derives: a member of those must not be hidden.
func (n *namer) reserve(pkg *plan.Package, s *scope) {
	for name, item := range n.kept[pkg].items {
		if _, taken := s.holder(name); !taken && !strings.Contains(name, ".") {
			s.names[name] = reservation(item)
		}
	}
}

func (n *namer) reserveMembers(o *plan.Object, s *scope) {
	add := func(of *plan.Object, below bool) {
		typ, ok := n.kept[of.Pkg].names[of.Entry.Item()]
		if !ok {
			return
		}
		for _, item := range n.membersOf(of) {
			name, ok := n.kept[of.Pkg].names[item]
			if ok && n.kept[of.Pkg].items[typ+"."+name] == item {
				h := reservation(item)
				h.below = below
				if _, taken := s.names[name]; !taken {
					s.names[name] = h
				}
			}
		}
	}
	add(o, false)
	for _, d := range n.derived[o] {
		add(d, true)
	}
}

// membersOf returns the members of a type, and the setters.
func (n *namer) membersOf(o *plan.Object) []string {
	var all []string
	for _, f := range o.Fields {
		all = append(all, f.Entry.Item(), from(setterOf, f.Entry.Item()))
	}
	for _, f := range o.Methods {
		all = append(all, f.Entry.Item())
	}
	return all
}

// note records the name of an item.
func (n *namer) note(pkg *plan.Package, name, item string) {
	dir := plan.Display(pkg.Dir)
	if n.Names.Packages[dir] == nil {
		n.Names.Packages[dir] = map[string]string{}
	}
	n.Names.Packages[dir][name] = item
}

// give names something without an entry: as before if that is possible, otherwise by the first
// candidate that is free.
func (n *namer) give(pkg *plan.Package, s *scope, item, who string, candidates ...string) string {
	if name := n.kept[pkg].names[item]; name != "" {
		candidates = slices.Insert(slices.Clone(candidates), 0, name)
	}
	name := s.freeFor(item, who, candidates...)
	n.note(pkg, name, item)
	return name
}

// compareMeanings finds the names that stand for other items than before. Members of a type whose name
// stands for another type are not listed.
func (n *namer) compareMeanings() {
	if n.Config.Before == nil {
		return
	}
	for dir, before := range n.Config.Before.Packages {
		now := n.Names.Packages[dir]
		for name, was := range before {
			typ, _, member := strings.Cut(name, ".")
			if is := now[name]; is != "" && !n.same(was, is) && !(member && !n.same(before[typ], now[typ])) {
				n.Meanings = append(n.Meanings, plan.Meaning{Package: dir, GoName: name, Was: strings.TrimSuffix(was, byConfig), Now: strings.TrimSuffix(is, byConfig), Gone: !n.present[baseOf(strings.TrimSuffix(was, byConfig))]})
			}
		}
	}
	slices.SortFunc(n.Meanings, func(a, b plan.Meaning) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.GoName, b.GoName))
	})
}

// same reports whether an item is the one that it was, perhaps with other parameters.
func (n *namer) same(was, is string) bool {
	was, _ = strings.CutSuffix(was, byConfig)
	is, _ = strings.CutSuffix(is, byConfig)
	before, now := baseOf(was), baseOf(is)
	return was == is || !n.present[before] && roughly(before) == roughly(now) && strings.TrimSuffix(was, before) == strings.TrimSuffix(is, now)
}
