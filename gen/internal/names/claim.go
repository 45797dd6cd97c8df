package names

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// A claim is the wish of one item for one Go name.
type claim struct {
	entry    *plan.Entry
	item     string // what the name stands for, in GoNames
	local    string // the item's own spelling
	want     string
	to       *string  // the name is written there, unless the consumer has declared it
	declared *bool    // set then, unless it is nil
	spare    []string // names to take before those with a suffix
	short    bool     // want leaves out words of the registry name
	owner    string   // "Rose." for methods of Rose
	fixed    bool     // want is from the config
	given    bool     // want is from a names file, or it is one that the config gives to all overloads
}

// derived returns the claim of a name that derives from an item of the registry. The report does
// not show it.
func derived(kind plan.Kind, name, item, local, want string, to *string) claim {
	return claim{entry: &plan.Entry{Kind: kind, Name: name}, item: item, local: local, want: want, to: to}
}

// exact reports whether the registry spells the name like Go.
func (c claim) exact() bool { return c.want == c.local }

// plain reports whether nothing was left out of the registry name.
func (c claim) plain() bool { return !c.hidden() && !c.short }

// hidden reports whether a part of the registry name starts with an underscore, which the Go
// name leaves out.
func (c claim) hidden() bool {
	return strings.HasPrefix(c.local, "_") || strings.Contains(c.local, "._")
}

// settle gives every claim a name that is free in s. Names from the config come first, then
// exact spellings, then names of which nothing was left out, each in the order of the registry
// names. An item whose name is taken gets another one. An item that had a name in an earlier run
// has it again, unless the config or a names file gives it another.
func (n *namer) settle(pkg *plan.Package, s *scope, claims []claim) {
	for i := range claims {
		c := &claims[i]
		if c.item == "" {
			c.item = c.entry.Item()
		}
		if name, all := n.rename(c.entry); name != "" {
			c.want, c.fixed, c.given = name, !all, all
		} else if name := n.named(c.entry); name != "" {
			c.want, c.given = name, true
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int {
		return cmp.Or(plan.Order(b.fixed)-plan.Order(a.fixed), plan.Order(b.exact())-plan.Order(a.exact()), plan.Order(b.plain())-plan.Order(a.plain()),
			cmp.Compare(a.entry.Name, b.entry.Name), cmp.Compare(a.local, b.local))
	})
	for _, c := range claims {
		n.settleOne(pkg, s, c)
	}
}

func (n *namer) settleOne(pkg *plan.Package, s *scope, c claim) {
	name, e := c.want, c.entry
	h, taken := s.conflict(name, c.local, c.item)
	before := n.kept[pkg].names[c.item]
	_, lost := s.conflict(before, c.local, c.item)
	again := !c.fixed && (!c.given || taken)
	if c.given && e.Overload != "" { // overloads share the given name, with numbers
		again = strings.HasPrefix(before, c.want)
	}
	if again && before != "" && !lost {
		name = before
	}
	take := func() {
		s.names[name] = holder{who: who(e), local: c.local, kind: e.Kind}
	}
	if pkg.User[c.owner+name] {
		e.Note = "the consumer declares " + c.owner + name + "; it is not generated again"
		take()
		if c.declared != nil {
			*c.declared = true
		}
		return
	}
	switch {
	case taken && c.fixed && h.reserved == "":
		n.Errs = append(n.Errs, fmt.Errorf("rename of %s: the name %s is taken by %s; choose another: rename: {%q: %q}",
			e.ID(), name, h.who, e.ID(), name+"2"))
		return
	case taken && !c.fixed:
		e.Renamed = c.want + " is taken by " + h.who
		if name == c.want {
			name = s.other(c, h)
		}
	case c.fixed:
		e.Renamed = "the configuration says so"
	case name != c.want:
		e.Renamed = "it had this name when the bindings were generated before"
	}
	take()
	if c.fixed || c.given {
		c.item += byConfig
	}
	n.note(pkg, c.owner+name, c.item)
	*c.to = name
}

func who(e *plan.Entry) string { return string(e.Kind) + " " + e.Name }

// other returns the name of an item that wants a name which h has: the first free one of the
// spare names, the name with a sign of what distinguishes the item from h, and that with a
// number. An overload of h gets the name with a number.
func (s *scope) other(c claim, h holder) string {
	name := c.want + kindSuffixes[c.entry.Kind]
	if h.kind == c.entry.Kind {
		name = c.spelling()
	}
	names := append(slices.Clone(c.spare), name)
	if owner, _, _ := strings.Cut(h.who, "("); c.entry.Overload != "" && owner == who(c.entry) {
		name, names = c.want, nil
	}
	for n := max(2, s.numbers[name]); ; n++ {
		for _, name := range names {
			if _, taken := s.conflict(name, c.local, c.item); !taken {
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
	case !strings.ContainsFunc(c.local, unicode.IsUpper):
		return c.want + "Lower"
	}
	return c.want
}

// setterOf begins the items that are setters.
const setterOf = "setter"

// The kinds of names that derive from an item and have no entry.
const (
	kindRef        plan.Kind = "Ref interface of"
	kindSetter     plan.Kind = "setter of"
	kindOptionType plan.Kind = "option type of"
	kindOption     plan.Kind = "option"
)

// reported reports whether a kind is one of the report.
func reported(k plan.Kind) bool {
	return k == plan.KindFunction || k == plan.KindType || k == plan.KindField || k == plan.KindMethod || k == plan.KindConstructor
}

// kindSuffixes tell an item from one of another kind with its name.
var kindSuffixes = map[plan.Kind]string{
	plan.KindFunction: "Func", plan.KindType: "Type", plan.KindField: "Field", plan.KindMethod: "Method", plan.KindConstructor: fromInit,
	kindRef: "Interface", kindSetter: "Field", kindOptionType: "Type", kindOption: "Option",
}
