package face

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// A File is a file of a face. Path is relative to the folder of the face, with forward slashes.
type File struct {
	Path    string
	Content []byte
}

// A Scope gives out names that differ.
type Scope struct {
	Taken map[string]bool
	spell func(string) string
}

// NewScope returns a scope of a language that spells names by spell, in which some are taken.
func NewScope(spell func(string) string, taken ...string) Scope {
	s := Scope{map[string]bool{}, spell}
	for _, name := range taken {
		s.Taken[name] = true
	}
	return s
}

// Claim returns the name of something in the language. Underscores follow a name that is taken.
func (s Scope) Claim(name string) string {
	name = s.spell(name)
	for s.Taken[name] {
		name += "_"
	}
	s.Taken[name] = true
	return name
}

// Types returns the names of the classes, enums, errors and records of l.
func (s Scope) Types(l *Library) map[any]string {
	names := map[any]string{}
	for _, c := range l.Classes {
		names[c] = s.Claim(c.Name)
	}
	for _, e := range l.Enums {
		names[e] = s.Claim(e.Name)
	}
	for _, e := range l.Errors {
		names[e] = s.Claim(e.Name)
	}
	for _, r := range l.Records().List {
		names[r] = s.Claim(r.Name)
	}
	return names
}

// Clean replaces what ends a line, changes the direction of a text or cannot be seen, except tabs and ends of lines.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
			return ' '
		}
		return r
	}, text)
}

// Words returns the words of a text as a set.
func Words(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// A Table has what a language needs to know about each kind.
type Table[Row any] map[crossing.Kind]Row

// Has reports whether the table has a row for k.
func (t Table[Row]) Has(k crossing.Kind) bool { _, ok := t[k]; return ok }

// Row returns the row of k.
func (t Table[Row]) Row(k crossing.Kind) Row {
	row, ok := t[k]
	if !ok {
		panic(fmt.Sprintf("%T has no row for the kind %v", t, k))
	}
	return row
}

// Expand replaces the words with $ in a text of a table by what word returns for t. A digit at the end of a word means an
// element of t. One that Go does not name is any value.
func Expand(t *Type, text string, word func(t *Type, name string) string) string {
	return os.Expand(text, func(name string) string {
		i := strings.IndexByte("01", name[len(name)-1])
		switch {
		case i < 0:
			return word(t, name)
		case i < len(t.Elems):
			return word(t.Elems[i], name[:len(name)-1])
		}
		return word(&Type{Kind: crossing.KindAny}, name[:len(name)-1])
	})
}

// List joins what f returns for each type.
func List(types []*Type, f func(*Type) string) string {
	var texts []string
	for _, t := range types {
		texts = append(texts, f(t))
	}
	return strings.Join(texts, ", ")
}
