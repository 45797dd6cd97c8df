package plan

import "go/token"

// A scope maps the names of one level of Go source to what holds them. A name
// is free only if no enclosing scope has it, so nothing generated ever shadows.
type scope struct {
	outer *scope
	names map[string]holder
}

// A holder is what has a name: who is for people, and local is the spelling of
// the registry if it is an item of it.
type holder struct{ who, local string }

func newScope(outer *scope) *scope {
	return &scope{outer: outer, names: map[string]holder{}}
}

// holder says what holds the name here or in an enclosing scope.
func (s *scope) holder(name string) (holder, bool) {
	for ; s != nil; s = s.outer {
		if h, ok := s.names[name]; ok {
			return h, true
		}
	}
	return holder{}, false
}

// conflict says what keeps an item from having the name. What an outer scope
// holds for an item with the same registry name is redefined, which is no
// conflict: so a type redefines a field or method of its parent.
func (s *scope) conflict(name, local string) (who string, taken bool) {
	if h, taken := s.names[name]; taken {
		return h.who, true
	}
	h, taken := s.outer.holder(name)
	return h.who, taken && (h.local == "" || h.local != local)
}

// add takes names for something that is no item of the registry.
func (s *scope) add(who string, names ...string) {
	for _, n := range names {
		s.names[n] = holder{who: who}
	}
}

// free returns the first of the candidates that is free and takes it; if none
// is, it appends underscores to the last.
func (s *scope) free(who string, candidates ...string) string {
	var name string
	for _, name = range candidates {
		if _, taken := s.holder(name); !taken {
			s.add(who, name)
			return name
		}
	}
	return s.free(who, name+"_")
}

// universe holds Go's keywords and predeclared names.
var universe = func() *scope {
	s := newScope(nil)
	for t := token.BREAK; t <= token.VAR; t++ {
		s.add("a keyword of Go", t.String())
	}
	s.add("a predeclared name of Go",
		"any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64",
		"int", "int8", "int16", "int32", "int64", "rune", "string", "uint", "uint8", "uint16", "uint32",
		"uint64", "uintptr", "true", "false", "iota", "nil", "append", "cap", "clear", "close", "complex",
		"copy", "delete", "imag", "len", "make", "max", "min", "new", "panic", "print", "println", "real",
		"recover", "_")
	return s
}()

// bodyNames are all locals of generated function bodies. No import may have one
// of them.
var bodyNames = []string{"a", "args", "c", "err", "fn", "i", "o", "ok", "options", "v", "x"}
