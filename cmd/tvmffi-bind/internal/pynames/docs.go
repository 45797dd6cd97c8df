package pynames

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// boilerplate is what generators write as documentation.
var boilerplate = regexp.MustCompile(`^(FFI (binding|APIs?|API bindings)|Package [\w.]+|The FFI API)\b.{0,80}$`)

// clean returns documentation without control characters, cut to what a names file holds.
func clean(doc string) (text string, cut bool) {
	doc = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError) {
			return -1
		}
		return r
	}, strings.ReplaceAll(doc, "\r\n", "\n"))
	doc = strings.TrimSpace(doc)
	if boilerplate.MatchString(doc) {
		return "", false
	}
	if len(doc) <= hints.MaxDoc {
		return doc, false
	}
	const mark = "\n..."
	doc = doc[:hints.MaxDoc-len(mark)]
	for !utf8.ValidString(doc) {
		doc = doc[:len(doc)-1]
	}
	return doc + mark, true
}

// docOf returns the documentation of a function: that of the def of its name, of the class that it constructs,
// or of the only public def that calls it, if that is what the def is for.
func docOf(function string, best []site) string {
	only := map[*def]string{}
	for _, s := range best {
		if s.def == nil {
			continue
		}
		doc := s.doc()
		if s.named(function) && doc != "" {
			return doc
		}
		if public(s.def) && !s.declares {
			if !s.serves() {
				doc = ""
			}
			only[s.def] = cmp.Or(only[s.def], doc)
		}
	}
	if len(only) == 1 {
		return slices.Collect(maps.Values(only))[0]
	}
	return ""
}

// serves reports whether the def returns what the call returns, or makes it for its effect. A call in an
// expression is one step of many.
func (s site) serves() bool {
	use := s.call.Use[len(s.call.Use)-1]
	return use != "part"
}

// doc returns the documentation of the def. A constructor that says little has that of its class.
func (s site) doc() string {
	if s.of != nil && last(s.def.Name) == "__init__" && s.of.Doc != "" && len(strings.Fields(s.def.Doc)) < 3 {
		return s.of.Doc
	}
	return s.def.Doc
}

// namespaceDoc returns the documentation of a namespace: that of the module with its functions, or of the
// package of its name around a private module, or of the module of its name that calls the functions.
func (p *program) namespaceDoc(m *module, callers map[*module]bool) string {
	public := m
	for strings.HasPrefix(last(public.name), "_") {
		at := strings.LastIndexByte(public.name, '.')
		if at < 0 || p.modules[public.name[:at]] == nil {
			break
		}
		public = p.modules[public.name[:at]]
	}
	if public == m || last(public.name) == last(m.namespace) {
		if doc, _ := clean(public.Doc); doc != "" {
			return doc
		}
	}
	for _, c := range p.sorted() {
		if callers[c] && last(c.name) == last(m.namespace) {
			if doc, _ := clean(c.Doc); doc != "" {
				return doc
			}
		}
	}
	return ""
}
