package pynames

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// public reports whether users call a def: its name has no underscore at the start, or two on both sides.
func public(d *def) bool {
	name := last(d.Name)
	return !strings.HasPrefix(name, "_") || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// plain is a name without case and underscores, for comparisons.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// named reports whether a site is the Python form of a function: a def of its name, or the constructor of the
// class of its name.
func (s site) named(function string) bool {
	if s.def == nil || s.declares {
		return s.declares
	}
	short := last(function)
	if short == constructor {
		return last(s.def.Name) == "__init__"
	}
	if last(s.def.Name) == "__init__" {
		return s.of != nil && plain(last(s.of.Name)) == plain(short)
	}
	if plain(last(s.def.Name)) == plain(short) {
		return true
	}
	// A flat function such as ModuleGetAttr is often the method GetAttr of Module.
	return s.of != nil && plain(s.of.Name+last(s.def.Name)) == plain(short)
}

// names returns the names that a site gives to the parameters, and whether it gives each of them by position.
func (s site) names() (names []string, ok bool) {
	if s.declares {
		for i, q := range s.def.Params {
			if s.of != nil && i == 0 && !slices.Contains(s.def.Decorators, "staticmethod") {
				continue
			}
			if q.Kind != "" && !(q.Kind == "keyword" && s.alike) {
				return nil, false
			}
			names = append(names, s.clean(q.Name))
		}
		return names, true
	}
	if s.call.Keywords > 0 || len(s.call.Args) > maxArgs {
		return nil, false
	}
	taken := map[string]int{}
	for _, a := range s.call.Args {
		if a.Star {
			return nil, false
		}
		taken[a.Name]++
	}
	for _, a := range s.call.Args {
		name := a.Name
		if taken[name] > 1 && a.Longer != "" {
			name = a.Longer
		}
		if name = s.clean(name); name != a.Name && taken[name] > 0 && name != "" {
			name = a.Name // with its underscores
		}
		if slices.Contains(names, name) {
			name = ""
		}
		names = append(names, name)
	}
	return names, true
}

// clean makes a parameter name of a Python name, "" if it says nothing.
func (s site) clean(name string) string {
	switch {
	case name == "cls" || name == "self" && s.of == nil:
		return ""
	case name == "self":
		return name // until the type of the parameter is known
	case s.loose && name == strings.ToUpper(name) && len(name) > 1:
		return "" // a constant of the source
	}
	name = strings.Trim(name, "_")
	if len(name) > maxName || strings.IndexFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) >= 0 {
		return ""
	}
	return name
}

// maxArgs is larger than the number of parameters of any function.
const maxArgs = 1000

// maxName is longer than any name that helps.
const maxName = 80

// snake writes the name of a class as the name of a parameter: block_builder for BlockBuilder.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(strings.Trim(name, "_"))
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) && runes[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fits returns the names that a site gives, aligned with the parameters of a function of the interface.
func (s site) fits(it item, known bool) (names []string, ok bool) {
	names, ok = s.names()
	if ok && known && it.typed && len(names) != len(it.params) {
		if ok = it.method && len(names) == len(it.params)+1; ok { // Class.method(object, ...)
			names = names[1:]
		}
	}
	if at := slices.Index(names, "self"); ok && at >= 0 {
		of := last(s.of.Name)
		if known && it.typed && strings.Contains(it.params[at].Type.Name, ".") && !strings.HasPrefix(it.params[at].Type.Name, "ffi.") {
			of = last(it.params[at].Type.Name) // better than the name of a base class
		}
		names[at] = ""
		if name := snake(of); !slices.Contains(names, name) {
			names[at] = name
		}
	}
	return names, ok
}

// chosen is what the sites of one function agree on.
type chosen struct {
	names []string
	// best are the sites that give these names, the one that is named like the function first.
	best []site
	// disputed describes the parameters to which calls of what may be a module give several names.
	disputed map[int]string
	// fits is false if no site has the number of parameters of the function.
	fits bool
}

// choose returns the names of the parameters of a function. The public def of the name of the function wins;
// then the majority of defs decides on each parameter, and a parameter without a majority has no name.
func choose(function string, sites []site, it item, known bool) chosen {
	type vote struct {
		site  site
		names []string
	}
	var votes []vote
	seen := map[string]bool{}
	for _, s := range sites {
		names, ok := s.fits(it, known)
		if !ok {
			continue
		}
		if !(known && it.typed) && len(votes) > 0 && len(names) != len(votes[0].names) {
			continue
		}
		id := s.in.name + " " + strings.Join(names, ",")
		if s.def != nil {
			id += " " + s.def.Name
		}
		if !seen[id] {
			seen[id] = true
			votes = append(votes, vote{s, names})
		}
	}
	if len(votes) == 0 {
		return chosen{}
	}
	rank := func(v vote) int {
		switch {
		case v.site.named(function) && public(v.site.def):
			return 0
		case v.site.named(function):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(votes, func(a, b vote) int { return cmp.Compare(rank(a), rank(b)) })
	out := chosen{names: make([]string, len(votes[0].names)), fits: true, disputed: map[int]string{}}
	for i := range out.names {
		for first := 0; first < len(votes) && out.names[i] == ""; { // rank by rank
			counts := map[string]int{}
			next := first
			for ; next < len(votes) && rank(votes[next]) == rank(votes[first]); next++ {
				if name := votes[next].names[i]; name != "" {
					counts[name]++
				}
			}
			out.names[i] = most(counts)
			if len(counts) > 1 && votes[first].site.loose {
				out.names[i] = ""
				out.disputed[i] = fmt.Sprintf("parameter %d is %s", i, sortedOr(counts))
			}
			if len(counts) > 0 {
				break
			}
			first = next
		}
	}
	unique(out.names)
	for _, v := range votes {
		out.best = append(out.best, v.site)
	}
	return out
}

// sortedOr lists names.
func sortedOr(counts map[string]int) string {
	return strings.Join(slices.Sorted(maps.Keys(counts)), " or ")
}

// most returns the name with the most votes, "" if two have as many.
func most(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	if len(names) == 0 || len(names) > 1 && counts[names[0]] == counts[names[1]] {
		return ""
	}
	return names[0]
}

// unique removes names that occur twice.
func unique(names []string) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			names[i] = ""
		}
	}
}
