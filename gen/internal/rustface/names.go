package rustface

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// keywords are the words of Rust, of every edition, that r# makes a name.
var keywords = face.Words(`abstract as async await become box break const continue do dyn else enum extern false final fn for gen
	if impl in let loop macro match mod move mut override priv pub ref return static struct trait true try type typeof unsafe unsized
	use virtual where while yield`)

// bare are the words that r# does not make a name.
var bare = face.Words("self Self super crate _")

// crates are names that cargo refuses, or that hide a crate which the code needs.
var crates = face.Words("test core std alloc proc_macro tvm_ffi library build deps examples incremental")

// scope gives out names that differ.
type scope struct{ face.Scope }

func newScope() scope { return scope{face.NewScope(spelt)} }

// take returns a name of Rust for name, with _ after it if another item has it.
func (s scope) take(name string) string { return raw(s.Claim(name)) }

func raw(name string) string {
	if keywords[name] {
		return "r#" + name
	}
	return name
}

// takeAll returns names for items. An item that keeps its name has it, whatever comes
// before it: foo stays foo beside Foo, which becomes foo_.
func (s scope) takeAll(names []string, style func(string) string) []string {
	taken := make([]string, len(names))
	for _, same := range []bool{true, false} {
		for i, n := range names {
			if want := style(n); (want == n) == same {
				taken[i] = s.take(want)
			}
		}
	}
	return taken
}

// spelt returns name with what an identifier of Rust may have. Both languages take
// Unicode letters, but Rust brings names to a normal form, in which some letters of Go
// are another letter or none.
func spelt(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case c < 0x80 || (unicode.IsLetter(c) || unicode.IsDigit(c)) && !changes(c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "u%04x", c)
		}
	}
	if name = b.String(); bare[name] {
		name += "_"
	}
	return name
}

// changes reports whether the normal form of c is not c itself. The ranges hold more than
// those letters: signs that look like letters, and forms for compatibility.
func changes(c rune) bool {
	for _, r := range [][2]rune{
		{0x374, 0x37A}, {0xE33, 0xE33}, {0xEB3, 0xEB3}, {0x1F71, 0x1FFC}, {0x2102, 0x214E},
		{0xF900, 0xFDFB}, {0xFE70, 0xFEFC}, {0xFF9E, 0xFF9F}, {0x2F800, 0x2FA1D},
	} {
		if c >= r[0] && c <= r[1] {
			return true
		}
	}
	return false
}

// snake is the style of functions, fields and parameters: AddOne and HTTPGet become
// add_one and http_get.
func snake(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, c := range runes {
		if i > 0 && unicode.IsUpper(c) && runes[i-1] != '_' {
			before, after := runes[i-1], 'A'
			if i+1 < len(runes) {
				after = runes[i+1]
			}
			if !unicode.IsUpper(before) || unicode.IsLower(after) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// pascal is the style of types: greet_all becomes GreetAll.
func pascal(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "r#"), "_") {
		for i, c := range part {
			if i == 0 {
				c = unicode.ToUpper(c)
			}
			b.WriteRune(c)
		}
	}
	return b.String()
}

// CrateName returns the name of the crate for a library.
func CrateName(library string) string {
	name := snake(library)
	if keywords[name] || bare[name] || crates[name] {
		name += "_go"
	}
	return name
}

// quoted returns text as a string of Rust.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
