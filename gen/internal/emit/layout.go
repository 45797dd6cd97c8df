package emit

import (
	"bytes"
	"go/format"
	gotoken "go/token"
	"slices"
	"strings"
)

// layout returns a file of jennifer in the form of gofmt. It formats the declarations that most
// bindings consist of by itself, and gives every other one to go/format, which takes ten times
// as long: a fifth of the time of gen for a large library.
func layout(file []byte) ([]byte, error) {
	l := layouter{out: make([]byte, 0, len(file))}
	for len(file) > 0 {
		var decl []byte
		if decl, file = cutDecl(file); len(decl) == 0 {
			continue
		}
		if len(l.out) > 0 {
			l.out = append(l.out, '\n')
		}
		if start := len(l.out); !l.decl(string(decl)) {
			text, err := formatDecl(decl)
			if err != nil {
				return nil, err
			}
			l.out = append(l.out[:start], text...)
		}
	}
	return l.out, nil
}

// formatDecl formats a declaration, or a package clause, with go/format.
func formatDecl(decl []byte) ([]byte, error) {
	const clause = "package p\n\n"
	if last := decl[bytes.LastIndexByte(decl, '\n')+1:]; !bytes.HasPrefix(last, []byte("package ")) {
		decl = append([]byte(clause), decl...)
	}
	text, err := format.Source(append(decl, '\n'))
	return bytes.TrimPrefix(text, []byte(clause)), err
}

// cutDecl cuts the declaration off that the first blank line outside of brackets ends.
func cutDecl(text []byte) (decl, rest []byte) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case '"', '\'', '`':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && c != '`' {
					i++
				}
			}
		case '/':
			if end := bytes.IndexByte(text[i:], '\n'); end > 0 && text[i+1] == '/' {
				i += end - 1
			}
		case '\n':
			if depth == 0 && (i+1 == len(text) || text[i+1] == '\n') {
				return bytes.TrimSpace(text[:i]), text[i+1:]
			}
		}
	}
	return bytes.TrimSpace(text), nil
}

// layouter writes declarations like gofmt, without their syntax tree. Its methods return false for
// what they do not know, which may be more than necessary, and leave the output unfinished then.
type layouter struct {
	out     []byte
	depth   int    // braces that earlier lines opened
	members string // struct or interface, if the lines are its members
	named   int    // fields with a name
}

func (l *layouter) decl(text string) bool {
	l.depth, l.members, l.named = 0, "", 0
	lines := strings.Split(text, "\n")
	if marker := strings.HasPrefix(text, markerStart); marker || lines[0] == "import (" || strings.HasPrefix(text, "package ") && len(lines) == 1 {
		for i, line := range lines { // jennifer has sorted the imports
			if line != "" && !marker && i > 0 && i < len(lines)-1 {
				l.out = append(l.out, '\t')
			}
			l.out = append(append(l.out, line...), '\n')
		}
		return !marker || strings.HasPrefix(lines[len(lines)-1], "//")
	}
	code := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "//") })
	if code < 0 || !plainDoc(lines[:code]) {
		return false
	}
	for _, line := range lines[:code] {
		l.out = append(append(l.out, line...), '\n')
	}
	for i, line := range lines[code:] {
		if i > 0 && l.depth == 0 || strings.TrimSpace(line) == "" || !l.line(line) {
			return false
		}
	}
	return l.depth == 0
}

// plainDoc reports whether gofmt leaves a doc comment alone: paragraphs of text and code
// between single blank lines, without lists, headings and quotes.
func plainDoc(lines []string) bool {
	const blank, code, text = 0, 1, 2
	kind := func(i int) int {
		switch {
		case i < 0 || i >= len(lines) || lines[i] == "//":
			return blank
		case strings.HasPrefix(lines[i], "//\t"):
			return code
		}
		return text
	}
	for i, line := range lines {
		before, after := kind(i-1), kind(i+1)
		switch kind(i) {
		case blank:
			if before == blank || i == len(lines)-1 {
				return false
			}
		case code:
			if i == 0 || before == text || after == text || !plain(line[3:]) {
				return false
			}
		case text:
			if len(line) < 4 || line[2] != ' ' || !plain(line[3:]) {
				return false
			}
			first, last := line[3], line[len(line)-1]
			list := strings.IndexByte("-*+#0123456789", first) >= 0 || first >= 0x80 // perhaps a bullet
			heading := before == blank && after == blank && i > 0 && i+1 < len(lines) && last != '.' && last != ':'
			if list || heading || before == code || strings.Contains(line, "``") || strings.Contains(line, "''") || strings.Contains(line, "]:") {
				return false
			}
		}
	}
	return true
}

// plain reports whether a line has no control characters, and no spaces around it.
func plain(line string) bool {
	return line != "" && line[0] != ' ' && line[len(line)-1] != ' ' && !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// The kinds of tokens, beside those that are a character.
const (
	start    = 'S'
	word     = 'w' // a name, a string or a number
	keyword  = 'k'
	infix    = '=' // an operator with blanks around it
	prefix   = 'p' // an operator without a blank after it
	ellipsis = 'e'
)

// line writes a line of code. It knows from the tokens before and after a place whether a blank is there.
func (l *layouter) line(text string) bool {
	closes := text[0] == '}'
	if closes {
		l.depth--
	}
	for range l.depth {
		l.out = append(l.out, '\t')
	}
	first := text[:nameEnd(text, 0)]
	block := first == "func" || first == "if" || first == "for" || first == "type"   // may end the line
	types := first == "func" || first == "var" || first == "type" || l.members != "" // until a value begins
	switch {
	case first == "type":
		l.members = strings.TrimSuffix(text[strings.LastIndexByte(text, ' ')+1:], "{")
	case l.members == "struct" && !closes && strings.Contains(strings.TrimLeft(text, "* "), " "):
		if l.named++; l.named > 1 {
			return false // gofmt aligns them
		}
	}

	begin, body := len(l.out), 0 // where the line begins, and the body of a function of one line
	previous, closed := byte(start), byte(0)
	brackets := make([]byte, 0, 8) // those that are open; the one of an array, slice or map is a prefix
	single := 0                    // how many are open in results of one type in parentheses, which gofmt removes
	for at := 0; at < len(text); {
		if text[at] == ' ' {
			at++
			continue
		}
		kind, end := token(text, at)
		// After these, a blank precedes whatever begins an operand.
		blank := previous == keyword || previous == infix || previous == ',' || previous == ':'
		operand := previous == word || previous == ')' || previous == ']' || previous == '}'
		switch kind {
		case word:
			blank = blank || previous == word || previous == ')'
		case keyword:
			blank = blank || previous == word || previous == ')'
			switch name := text[at:end]; name {
			case "map", "func":
				if at > 0 {
					kind = prefix // of a type
				}
				if name == "func" && !types {
					return false
				}
			case "struct", "interface":
				if first != "type" {
					return false
				}
			case "if", "for", "type", "var", "return", "range":
				if previous != start && previous != '{' && previous != infix {
					return false
				}
			default:
				return false
			}
		case '.':
			if blank = false; !operand {
				return false
			}
		case ',':
			blank = false
			if len(brackets) == single {
				single = 0
			}
		case ':':
			blank = false
			if len(brackets) == 0 || brackets[len(brackets)-1] != '{' {
				return false
			}
		case '(':
			blank = blank || previous == ')' && types
			if brackets = append(brackets, kind); previous == ')' && types {
				single = len(brackets)
			}
		case '[':
			bracket := kind
			if end == len(text) {
				return false
			}
			if text[end] == ']' || types && text[end] >= '0' && text[end] <= '9' || previous == prefix {
				bracket = prefix
				blank = blank || operand && previous != ']'
				if operand && !types {
					return false
				}
			}
			brackets = append(brackets, bracket)
		case ')', ']':
			blank = false
			if len(brackets) == 0 || previous == ',' || len(brackets) == single {
				return false
			}
			closed, brackets = brackets[len(brackets)-1], brackets[:len(brackets)-1]
		case '{':
			switch {
			case block && end == len(text) && len(brackets) == 0:
				blank = true
			case first == "func" && len(brackets) == 0 && body == 0:
				blank, types, body = true, false, len(l.out)+len(" { ")
			case block && body == 0 || end == len(text) || previous == infix:
				return false
			default:
				blank = false
			}
			brackets = append(brackets, kind)
		case '}':
			blank = false
			switch {
			case previous == ',':
				return false
			case len(brackets) == 0 && at > 0:
				return false
			case len(brackets) > 0:
				brackets = brackets[:len(brackets)-1]
			}
			if body > 0 && end == len(text) {
				blank = previous != '{'
				switch size := len(l.out) - begin - len(" { "); {
				case size > 95 && size < 105:
					return false // near the limit of gofmt
				case size > 100:
					blank = false
					l.out = slices.Concat(l.out[:body-1], []byte("\n\t"), l.out[body:], []byte("\n"))
				}
			}
		case infix:
			blank = true
			types = types && text[at:end] != "="
		case ellipsis:
			blank = previous == ',' || types && operand
			if types {
				kind = prefix
			}
		case prefix:
			switch {
			case previous == prefix && text[at] != '*':
				return false
			case operand: // of a type, or else an operation, whose blanks depend on others
				if !types || text[at] != '*' || previous == '}' {
					return false
				}
				blank = previous != ']'
			}
		default:
			return false
		}
		if previous == ']' && closed == '[' && (kind == word || kind == keyword || kind == prefix) {
			return false // the length of an array, which is a name
		}
		if blank || previous == '{' && body == len(l.out)+1 && kind != '}' {
			l.out = append(l.out, ' ')
		}
		l.out = append(l.out, text[at:end]...)
		previous, at = kind, end
	}
	if previous == '{' {
		l.depth++
		brackets = brackets[:len(brackets)-1]
	}
	l.out = append(l.out, '\n')
	ends := previous == '{' || previous == '}' || previous == word || previous == ')' || previous == ']' && closed == '[' || text == "return"
	return ends && len(brackets) == 0 && l.depth >= 0
}

// nameEnd returns where a name or a number ends.
func nameEnd(text string, at int) int {
	for at < len(text) && (text[at] == '_' || text[at] >= 0x80 || text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z' || text[at] >= '0' && text[at] <= '9') {
		at++
	}
	return at
}

// token returns the kind of the token at a place, 0 if it is not known, and where it ends.
func token(text string, at int) (kind byte, end int) {
	rest := text[at:]
	switch c := text[at]; {
	case strings.HasPrefix(rest, "..."):
		return ellipsis, at + 3
	case strings.IndexByte(".,:()[]{}", c) >= 0 && !strings.HasPrefix(rest, ":="):
		return c, at + 1
	case c == '"':
		for end = at + 1; end < len(text) && text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		if end >= len(text) {
			return 0, at
		}
		return word, end + 1
	case strings.HasPrefix(rest, "= "), strings.HasPrefix(rest, "< "), strings.HasPrefix(rest, "> "):
		return infix, at + 1
	case len(rest) > 2 && rest[2] == ' ' && strings.Contains(" := == != <= >= && || ", " "+rest[:3]):
		return infix, at + 2
	case strings.IndexByte("&*-!", c) >= 0 && len(rest) > 1 && (rest[1] == ' ' || nameEnd(rest, 1) > 1):
		return prefix, at + 1
	}
	end = nameEnd(text, at)
	name := text[at:end]
	switch {
	case name == "":
		return 0, at
	case name[0] >= '0' && name[0] <= '9':
		if strings.Trim(name, "0123456789") != "" || len(name) > 1 && name[0] == '0' || strings.HasPrefix(strings.TrimLeft(text[end:], " "), ".") {
			return 0, at
		}
	case gotoken.IsKeyword(name):
		return keyword, end
	}
	return word, end
}
