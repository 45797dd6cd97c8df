package names

import (
	"go/token"
	"strconv"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// A scope maps the names of one level of Go source to their holders. A name is free only
// if no enclosing scope has it, so generated code does not shadow names.
type scope struct {
	outer   *scope
	names   map[string]holder
	numbers map[string]int // the last number after a name that was taken
}

// A holder has a name. who describes it in messages, and local is its spelling in the
// registry and kind its kind if it is an item of the registry.
type holder struct {
	who, local string
	kind       plan.Kind
	reserved   string // the item that had the name in an earlier run, and has not claimed it yet
	below      bool   // the item is a member of a type that derives from this one
}

func newScope(outer *scope) *scope {
	return &scope{outer: outer, names: map[string]holder{}, numbers: map[string]int{}}
}

// holder returns the holder of a name in this or an enclosing scope.
func (s *scope) holder(name string) (holder, bool) {
	for ; s != nil; s = s.outer {
		if h, ok := s.names[name]; ok {
			return h, true
		}
	}
	return holder{}, false
}

// conflict returns the holder that prevents an item from having the name. An item may redefine
// the name of an item with the same registry name in an outer scope: so a type redefines a
// field or method of its parent.
func (s *scope) conflict(name, local, item string) (h holder, taken bool) {
	if h, taken := s.names[name]; taken && !h.yields(item) && !(h.below && h.local == local) {
		return h, true
	}
	h, taken = s.outer.holder(name)
	return h, taken && !h.yields(item) && (h.local == "" || h.local != local)
}

// yields reports whether the name is reserved for the item itself.
func (h holder) yields(item string) bool { return h.reserved != "" && h.reserved == item }

// add takes names for a holder that is not an item of the registry.
func (s *scope) add(who string, names ...string) {
	for _, n := range names {
		s.names[n] = holder{who: who}
	}
}

// free returns the first candidate that is free, and takes it. If all are taken, a number
// follows the last.
func (s *scope) free(who string, candidates ...string) string {
	return s.freeFor("", who, candidates...)
}

// freeFor is free for an item, for which a name may be reserved.
func (s *scope) freeFor(item, who string, candidates ...string) string {
	last := candidates[len(candidates)-1]
	for n := 2; ; n++ {
		for _, name := range candidates {
			if h, taken := s.holder(name); !taken || h.yields(item) {
				s.add(who, name)
				return name
			}
		}
		candidates = []string{last + strconv.Itoa(n)}
	}
}

// reserved contains the names that a local must not have: keywords, and those predeclared names
// that generated bodies may use.
var reserved = func() *scope {
	s := newScope(nil)
	for t := token.BREAK; t <= token.VAR; t++ {
		s.add("a keyword of Go", t.String())
	}
	s.add("a predeclared name of Go", plan.Basic...)
	return s
}()

// universe contains the keywords and predeclared names of Go.
var universe = func() *scope {
	s := newScope(reserved)
	s.add("a predeclared name of Go", plan.Builtin...)
	return s
}()

// bodyNames are the usual names of locals in generated functions. Imports get other
// names.
var bodyNames = []string{"a", "args", "c", "err", "fn", "i", "o", "ok", "options", "v", "x"}
