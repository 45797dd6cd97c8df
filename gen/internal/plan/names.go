package plan

import (
	"fmt"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// initialisms holds, in lower case, the words that Go programmers write in capitals.
var initialisms = wordSet(`acl abi api ascii ast bnf cpu css cuda dlpack dns ebnf eof ffi gpu guid
	html http https id ids io ip ir jit json kv lhs llvm qps ram rhs rng rocm rpc sla smtp sql ssa ssh tcp
	tir tls ttl tvm udp ui uid uri url utf8 uuid vm xml`)

// capitals holds the initialisms that are not simply upper case.
var capitals = map[string]string{"dlpack": "DLPack", "ids": "IDs", "rocm": "ROCm"}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// Camel converts a registry name to an exported Go identifier. Words are runs of letters
// and digits. A word with capitals stays the same; a word without them becomes an
// initialism or begins with a capital. A name gets the prefix X if it starts with a digit or
// a letter without case, or if it has no letters.
func Camel(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(title(w))
	}
	s := b.String()
	if s == "" {
		return fmt.Sprintf("X%x", name)
	}
	if first, _ := utf8.DecodeRuneInString(s); !unicode.IsUpper(first) {
		return "X" + s
	}
	return s
}

// lowerCamel converts a registry name to an unexported Go identifier.
func lowerCamel(name string) string {
	s := lowerFirst(Camel(name))
	if token.IsExported(s) { // a capital without a small letter, such as U+03D2
		return "x" + s
	}
	return s
}

// lowerFirst makes an exported identifier unexported. It lowers the leading capitals as
// one word, so IRModule becomes irModule.
func lowerFirst(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// words splits a registry name at every character that is neither a letter nor a digit.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

func title(word string) string {
	if initialisms[word] {
		if s, ok := capitals[word]; ok {
			return s
		}
		return strings.ToUpper(word)
	}
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// verbatim spells a registry name inside an identifier without loss: bytes that an
// identifier cannot contain become _x and two hexadecimal digits each.
func verbatim(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b.WriteString(name[i : i+size])
		} else {
			fmt.Fprintf(&b, "_x%x", name[i:i+size])
		}
		i += size
	}
	return b.String()
}

// awkwardSegments holds the directory names that Go or a file system treats specially,
// apart from keywords and predeclared names.
var awkwardSegments = wordSet(`internal vendor testdata main init documentation
	con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// segment converts one part of a namespace to a directory that is also a good package
// name: lower-case ASCII letters and digits. It removes underscores and dashes, puts x
// before a leading underscore or digit, writes other characters as u and the code point,
// and adds the suffix pkg to names with a special meaning.
func segment(part string) string {
	var b strings.Builder
	first := strings.TrimLeft(part, "-")
	if first == "" || first[0] == '_' || first[0] >= '0' && first[0] <= '9' {
		b.WriteByte('x')
	}
	for _, r := range part {
		if b.Len() >= maxFileName {
			break
		}
		switch {
		case r == '_' || r == '-':
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(unicode.ToLower(r))
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	s := b.String()
	if _, reserved := universe.names[s]; reserved || awkwardSegments[s] {
		s += "pkg"
	}
	return s
}
