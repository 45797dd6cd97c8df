package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A claim is the wish of one item for one Go name.
type claim struct {
	entry  *Entry
	want   string
	spare  []string // names to take before those with a suffix
	short  bool     // want leaves out words of the registry name
	owner  string   // "Rose." for methods of Rose
	fixed  bool     // want is from the config
	assign func(name string)
	// declared is called instead if the consumer has declared the name.
	declared func()
}

// spare returns the other name of a later method of one name: the name and its number.
func (f *Func) spare(name string) []string {
	if f.overload > 1 {
		return []string{name + strconv.Itoa(f.overload)}
	}
	return nil
}

// exact reports whether the registry spells the name like Go.
func (c claim) exact() bool { return c.want == c.entry.local }

// plain reports whether nothing was left out of the registry name.
func (c claim) plain() bool { return !c.hidden() && !c.short }

// hidden reports whether a part of the registry name starts with an underscore, which the Go
// name leaves out.
func (c claim) hidden() bool {
	return strings.HasPrefix(c.entry.local, "_") || strings.Contains(c.entry.local, "._")
}

// settle gives every claim a name that is free in s. Names from the config come first, then
// exact spellings, then names of which nothing was left out, each in the order of the registry
// names. An item whose name is taken gets another one.
func (p *planner) settle(pkg *Package, s *scope, claims []claim) {
	for i := range claims {
		c := &claims[i]
		if name, ok := p.rename(c.entry); ok {
			c.want, c.fixed = name, true
		} else {
			c.want = cmp.Or(p.named(c.entry), c.want)
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int {
		return cmp.Or(order(b.fixed)-order(a.fixed), order(b.exact())-order(a.exact()), order(b.plain())-order(a.plain()),
			cmp.Compare(a.entry.Name, b.entry.Name), cmp.Compare(a.entry.local, b.entry.local))
	})
	for _, c := range claims {
		p.settleOne(pkg, s, c)
	}
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

func (p *planner) settleOne(pkg *Package, s *scope, c claim) {
	name, e := c.want, c.entry
	take := func() { s.names[name] = holder{who: string(e.Kind) + " " + e.Name, local: e.local, kind: e.Kind} }
	if pkg.user[c.owner+name] {
		e.Note = "the consumer declares " + c.owner + name + "; it is not generated again"
		take()
		c.declared()
		return
	}
	h, taken := s.conflict(name, e.local)
	switch {
	case taken && c.fixed:
		p.fail(fmt.Errorf("rename of %s: the name %s is taken by %s; choose another: rename: {%q: %q}",
			e.id(), name, h.who, e.id(), name+"2"))
		return
	case taken:
		e.Renamed = name + " is taken by " + h.who
		name = s.other(c, h)
	case c.fixed:
		e.Renamed = "the configuration says so"
	}
	take()
	c.assign(name)
}

// other returns the name of an item that wants a name which h has: the first free one of the
// spare names, the name with a sign of what distinguishes the item from h, and that with a
// number.
func (s *scope) other(c claim, h holder) string {
	name := c.want + kindSuffixes[c.entry.Kind]
	if h.kind == c.entry.Kind {
		name = c.spelling()
	}
	names := append(slices.Clone(c.spare), name)
	for n := max(2, s.numbers[name]); ; n++ {
		for _, name := range names {
			if _, taken := s.conflict(name, c.entry.local); !taken {
				return name
			}
		}
		s.numbers[name] = n
		names = []string{name + strconv.Itoa(n)}
	}
}

// spelling returns the name with a sign of how the registry spells it: X for a leading
// underscore, Lower for a name without capitals.
func (c claim) spelling() string {
	switch {
	case c.hidden():
		return "X" + c.want
	case !strings.ContainsFunc(c.entry.local, unicode.IsUpper):
		return c.want + "Lower"
	}
	return c.want
}

// kindSuffixes tell an item from one of another kind with its name.
var kindSuffixes = map[Kind]string{
	KindFunction: "Func", KindType: "Type", KindField: "Field", KindMethod: "Method", KindConstructor: fromInit,
	kindRef: "Interface", kindSetter: "Field", kindOptionType: "Type", kindOption: "Option",
}
