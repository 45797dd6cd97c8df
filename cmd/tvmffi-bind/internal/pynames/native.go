package pynames

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// exported matches the line by which C++ exports a function of a module, up to the function.
var exported = regexp.MustCompile(`\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)\s*,\s*`)

// qualified matches the name of a function of C++.
var qualified = regexp.MustCompile(`^(?:\w+\s*::\s*)*(\w+)\s*\)`)

// exports returns the parameter names of the functions that C++ sources export, by the exported name. A function
// that several sources export has several lists.
func exports(sources []source) map[string][][]string {
	found := map[string][][]string{}
	texts := make([]string, len(sources))
	folders := map[string][]int{}
	for i, s := range sources {
		folders[path.Dir(s.path)] = append(folders[path.Dir(s.path)], i)
	}
	text := func(i int) string {
		if texts[i] == "" {
			texts[i] = withoutComments(string(sources[i].data))
		}
		return texts[i]
	}
	for i, s := range sources {
		if !strings.Contains(string(s.data), "TVM_FFI_DLL_EXPORT_TYPED_FUNC") {
			continue
		}
		for _, m := range exported.FindAllStringSubmatchIndex(text(i), -1) {
			name, rest := text(i)[m[2]:m[3]], text(i)[m[1]:]
			var lists [][]string
			if q := qualified.FindStringSubmatch(rest); q != nil {
				lists = declarations(text(i), q[1])
				for _, other := range folders[path.Dir(s.path)] {
					if len(lists) == 0 && strings.Contains(string(sources[other].data), q[1]) {
						lists = declarations(text(other), q[1])
					}
				}
			} else if at := strings.IndexByte(rest, ']'); strings.HasPrefix(rest, "[") && at > 0 { // a lambda
				if inside, _, ok := parenthesis(rest[at+1:]); ok {
					lists = [][]string{parameters(inside)}
				}
			}
			found[name] = append(found[name], lists...)
		}
	}
	return found
}

// declarations returns the parameter names of each declaration and definition of a function.
func declarations(text, name string) [][]string {
	var lists [][]string
	for at := 0; ; {
		next := strings.Index(text[at:], name)
		if next < 0 {
			return lists
		}
		start := at + next
		at = start + len(name)
		inside, rest, ok := parenthesis(text[at:])
		before := strings.TrimRight(text[:start], " \t\r\n")
		if !ok || before == "" || start > 0 && wordByte(text[start-1]) || strings.HasSuffix(before, "return") || strings.HasSuffix(before, "else") {
			continue
		}
		// A type stands before the name, and a body or a semicolon follows: otherwise it is a call.
		if last := before[len(before)-1]; !wordByte(last) && last != '>' && last != '*' && last != '&' && !strings.HasSuffix(before, "::") {
			continue
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		if strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, ";") || strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, "noexcept") {
			lists = append(lists, parameters(inside))
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// parenthesis returns what stands in the parenthesis with which a text starts, and what follows.
func parenthesis(text string) (inside, rest string, ok bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	if !strings.HasPrefix(text, "(") {
		return "", "", false
	}
	depth := 0
	for i := range min(len(text), maxParameters) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[1:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// maxParameters is longer than the parameters of any function.
const maxParameters = 16 << 10

// parameterName matches the name at the end of a parameter, after its type.
var parameterName = regexp.MustCompile(`[\w>*&]\s*[\s*&>]([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?$`)

// typeWords end a type: a parameter that ends in one has no name.
var typeWords = strings.Fields("int long short char float double bool unsigned signed const void auto")

// parameters returns the names in a list of parameters, "" for one without a name.
func parameters(list string) []string {
	if list = strings.TrimSpace(list); list == "" || list == "void" {
		return []string{}
	}
	var names []string
	depth, start := 0, 0
	add := func(text string) {
		text, _, _ = strings.Cut(text, "=")
		name := ""
		if m := parameterName.FindStringSubmatch(strings.TrimSpace(text)); m != nil && !slices.Contains(typeWords, m[1]) {
			name = strings.Trim(m[1], "_")
		}
		names = append(names, name)
	}
	for i := range len(list) {
		switch list[i] {
		case '<', '(', '{', '[':
			depth++
		case '>', ')', '}', ']':
			depth--
		case ',':
			if depth == 0 {
				add(list[start:i])
				start = i + 1
			}
		}
	}
	add(list[start:])
	return names
}

// withoutComments replaces the comments and the texts of C++ by spaces.
func withoutComments(text string) string {
	b := []byte(text)
	for i := 0; i < len(b); i++ {
		end := 0
		switch {
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '/':
			end = strings.IndexByte(text[i:], '\n')
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '*':
			if end = strings.Index(text[i+2:], "*/"); end >= 0 {
				end += 4
			}
		case b[i] == '"':
			for end = 1; i+end < len(b) && b[i+end] != '"' && b[i+end] != '\n'; end++ {
				if b[i+end] == '\\' {
					end++
				}
			}
			end++
		default:
			continue
		}
		if end < 0 || i+end > len(b) {
			end = len(b) - i
		}
		for j := i; j < i+end; j++ {
			b[j] = ' '
		}
		i += end - 1
	}
	return string(b)
}

// native puts the names that C++ sources give to the parameters of an exported function before those of calls.
func (b *builder) native(name string, it item, names []string) []string {
	var lists [][]string
	for _, list := range b.exported[name] {
		if len(list) == len(it.params) && !slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, list) }) {
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 || !b.iface.exports[name] {
		return names
	}
	out := make([]string, len(it.params))
	copy(out, names)
	for i := range out {
		given := map[string]int{}
		for _, list := range lists {
			if list[i] != "" {
				given[list[i]]++
			}
		}
		switch {
		case len(given) == 1:
			out[i] = most(given)
		case len(given) > 1:
			out[i] = ""
			b.leaveOut(name, fmt.Sprintf("the C++ sources disagree: parameter %d is %s", i, sortedOr(given)))
		}
	}
	unique(out)
	return out
}
