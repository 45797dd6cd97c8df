package pynames

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// cppType is a type of C++ as far as the widths of ints matter: its last name, with the arguments of a template.
type cppType struct {
	name string
	args []cppType
	call []cppType // of a function: the result and the parameters
}

// cppInts are the integers of C++, with their words in alphabetical order, by the names that hints have for them. An int64 is
// an int. The others depend on the platform: long, char and wchar_t, and int_fast32_t and its siblings. They have no entry.
var cppInts = func() map[string]string {
	ints := map[string]string{}
	for name, all := range map[string]string{
		"int8":  "int8_t, int_least8_t, char signed",
		"uint8": "uint8_t, uint_least8_t, char unsigned",
		"int16": "int16_t, int_least16_t, short, int short, short signed, int short signed", "uint16": "uint16_t, uint_least16_t, char16_t, short unsigned, int short unsigned",
		"int32": "int32_t, int_least32_t, int, signed, int signed", "uint32": "uint32_t, uint_least32_t, char32_t, unsigned, int unsigned",
		"int":    "int64_t, int_least64_t, ssize_t, ptrdiff_t, intptr_t, intmax_t, long long, int long long, long long signed, int long long signed",
		"uint64": "uint64_t, uint_least64_t, size_t, uintptr_t, uintmax_t, long long unsigned, int long long unsigned",
	} {
		for words := range strings.SplitSeq(all, ", ") {
			ints[words] = name
		}
	}
	return ints
}()

// platformInts are those without an entry there.
var platformInts = []string{"char", "long", "int long", "long signed", "int long signed", "long unsigned", "int long unsigned", "wchar_t"}

// converts reports whether TVM-FFI converts a template of C++ to a type of the registry.
func converts(template, name string) bool {
	kind, _ := crossing.Named(name)
	row := &crossing.Rows[kind]
	switch {
	case kind == crossing.KindTuple && template == "pair":
		return true
	case kind == crossing.KindOptional, kind == crossing.KindTuple, kind == crossing.KindVariant, crossing.Container(name):
		return template == row.Name || slices.Contains(row.Same, "std::"+template)
	}
	return false
}

// cppWords are words before or behind a type that do not change its values.
var cppWords = strings.Fields("const volatile static inline constexpr consteval virtual extern friend explicit typename struct enum class register mutable")

// parseCPP reads a type of C++. It reports false for a pointer, and for what is not a type.
func parseCPP(text string) (t cppType, ok bool) {
	text = strings.TrimSpace(text)
	head, rest, template := strings.Cut(text, "<")
	words := strings.FieldsFunc(strings.ReplaceAll(head, "&", " "), func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(cppWords, w) || macro(w) })
	if len(words) == 0 || len(words) > 4 || strings.ContainsAny(head, "*()[]{};=,") {
		return t, false
	}
	if !template {
		for i, w := range words {
			words[i] = lastName(w)
		}
		slices.Sort(words)
		t.name = strings.Join(words, " ")
		return t, true
	}
	end := closing(rest)
	after := strings.TrimSpace(strings.NewReplacer("&", "", "const", "").Replace(rest[min(end+1, len(rest)):]))
	if len(words) > 1 || end < 0 || after != "" {
		return t, false
	}
	t.name = lastName(words[0])
	for _, arg := range splitTop(rest[:end]) {
		arg = strings.TrimSpace(arg)
		part, ok := parseCPP(arg)
		if at := strings.IndexByte(arg, '('); at > 0 && strings.HasSuffix(arg, ")") { // R(A, B)
			part.call = []cppType{{}}
			part.call[0], _ = parseCPP(arg[:at])
			for _, p := range splitTop(arg[at+1 : len(arg)-1]) {
				_, p = nameOf(p)
				x, _ := parseCPP(p)
				part.call = append(part.call, x)
			}
		} else if !ok {
			part = cppType{}
		}
		t.args = append(t.args, part)
	}
	return t, true
}

// macro reports whether a word looks like a macro before a type, such as TVM_FFI_INLINE, or an attribute.
func macro(word string) bool {
	return len(word) > 3 && strings.Contains(word, "_") && strings.ToUpper(word) == word
}

// lastName returns a name of C++ without namespaces and classes.
func lastName(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// closing returns where the bracket closes that stands before a text, -1 if it does not.
func closing(text string) int {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '<', '(':
			depth++
		case ')':
			depth--
		case '>':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// splitTop cuts a text at the commas outside of brackets.
func splitTop(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '<', '(', '{', '[':
			depth++
		case '>', ')', '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts, start = append(parts, text[start:i]), i+1
			}
		}
	}
	return append(parts, text[start:])
}

// aliased matches the definitions of names for types, and of enums, with their underlying type.
var aliased = regexp.MustCompile(`\busing\s+(\w+)\s*=\s*([^;{}]+);|\btypedef\s+([^;{}]+?)\s*\b(\w+)\s*;|\benum\s+(class\s+|struct\s+)?(\w+)\s*(?::\s*([\w:\s]+?))?\s*[{;]`)

// templateParameter matches a parameter of a template.
var templateParameter = regexp.MustCompile(`\b(?:typename|class)\s+(\w+)\s*[,>=]`)

// aliases are the types for which names stand. A name with two meanings has none, and so has the parameter of a template.
type aliases map[string]string

// unclear is the meaning of a name that has several.
const unclear = "?"

func (a aliases) add(text string) {
	for _, m := range aliased.FindAllStringSubmatch(text, -1) {
		name, of := m[1], m[2]
		switch {
		case m[4] != "":
			name, of = m[4], m[3]
		case m[6] != "":
			name, of = m[6], m[7]
			if of == "" && m[5] != "" {
				of = "int"
			}
			if of == "" { // the values of the enum decide
				of = unclear
			}
		}
		of = strings.Join(strings.Fields(of), " ")
		if was, has := a[name]; has && was != of {
			of = unclear
		}
		a[name] = of
	}
	for _, m := range templateParameter.FindAllStringSubmatch(text, -1) {
		a[m[1]] = unclear
	}
}

// maxAliases bounds how many names stand for each other.
const maxAliases = 8

// resolve replaces the name of a type by the type for which it stands.
func (a aliases) resolve(c cppType) cppType {
	for range maxAliases {
		of := a[c.name]
		if of == "" || len(c.args) > 0 || cppInts[c.name] != "" {
			break
		}
		next, ok := parseCPP(of)
		if !ok {
			return cppType{name: unclear}
		}
		c = next
	}
	return c
}

// widths returns t, a type of the registry, with the widths that C++ says, and whether it says any, also that of int64.
func (a aliases) widths(t schema.TypeSchema, c cppType) (wide schema.TypeSchema, known bool) {
	c = a.resolve(c)
	if t.Name == "int" {
		if width := cppInts[c.name]; width != "" && len(c.args) == 0 {
			return schema.TypeSchema{Name: width}, true
		}
		return t, slices.Contains(platformInts, c.name)
	}
	if t.Func != nil {
		return a.callWidths(t, c)
	}
	ints := 0
	for _, x := range t.Args {
		if x.Name == "int" {
			ints++
		}
	}
	if len(t.Args) != len(c.args) || !converts(c.name, t.Name) || t.Name == "Variant" && ints > 1 {
		return t, false
	}
	t.Args = slices.Clone(t.Args)
	for i := range t.Args {
		var ok bool
		t.Args[i], ok = a.widths(t.Args[i], c.args[i])
		known = known || ok
	}
	return t, known
}

// callWidths is widths for a function.
func (a aliases) callWidths(t schema.TypeSchema, c cppType) (wide schema.TypeSchema, known bool) {
	if len(c.args) != 1 || len(c.args[0].call) != len(t.Func.Params)+1 || c.name != "TypedFunction" && c.name != "function" {
		return t, false
	}
	f := &schema.Signature{Params: slices.Clone(t.Func.Params)}
	f.Return, known = a.widths(t.Func.Return, c.args[0].call[0])
	for i := range f.Params {
		var ok bool
		f.Params[i].Type, ok = a.widths(f.Params[i].Type, c.args[0].call[i+1])
		known = known || ok
	}
	t.Func = f
	return t, known
}

// narrower returns the type of two with the smaller range, if that is one int in the range of another; otherwise the first.
func narrower(t, u schema.TypeSchema) schema.TypeSchema {
	m, mNarrow := hints.IntegerOf(t)
	n, nNarrow := hints.IntegerOf(u)
	if nNarrow && (!mNarrow && t.Name == "int" && n.Name != "uint64" || mNarrow && m.Least <= n.Least && m.Most >= n.Most) {
		return u
	}
	return t
}
