package pynames

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// introduced matches what gives a function of C++ its name in TVM-FFI, up to the function: the export from a module, or
// the registration of a function, method or constructor. GlobalDef and ObjectDef say what the next registrations are for.
// The last part matches the documentation of an export.
// The names are texts, which withoutComments has removed.
var introduced = regexp.MustCompile(`\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)\s*,\s*` +
	`|\bGlobalDef\s*(\()` +
	`|\b(?:Overload)?ObjectDef\s*<\s*(?:\w+\s*::\s*)*(\w+)\s*>` +
	`|\.\s*def(_method|_static|)\s*\((\s*),\s*` +
	`|\.\s*def\s*\(\s*(?:\w+\s*::\s*)*init\s*(<)` +
	`|\bTVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC\s*(\()\s*(\w+)\s*,`)

// keyed matches the declaration of an object type, whose key is a text.
var keyed = regexp.MustCompile(`\bTVM_FFI_DECLARE_OBJECT_INFO(?:_FINAL)?\s*\((\s*),\s*(\w+)\s*,`)

// inQuotes matches a name in quotes.
var inQuotes = regexp.MustCompile(`^\s*"([\w.]+)"\s*$`)

// qualified matches the name of a function of C++, with the namespace or class before it.
var qualified = regexp.MustCompile(`^&?\s*(?:(?:\w+\s*::\s*)*?(\w+)\s*::\s*)?(\w+)\s*[,)]`)

// defined matches the start of the definition of a class, up to its body.
var defined = regexp.MustCompile(`\b(?:class|struct)\s+(?:\w+\s+)*?(\w+)\s*(?:\bfinal\s*)?(?::[^;{(]*)?\{`)

// natives are sources of C++, without comments and texts, and the bodies of their classes.
type natives struct {
	sources []source
	texts   []string
	classes map[string][]string
}

// literal matches a text of C++.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// declared returns the parameter names of the functions that C++ sources export or register, by their names in TVM-FFI,
// without the receivers of methods. A function with several declarations has several lists; one that is registered several
// times, as overloads are, has them for each time. docs has the documentation of registered functions, which the registry
// does not keep, and of exports.
func declared(sources []source) (exported map[string][][]string, registered map[string][][][]string, docs map[string]string) {
	n := &natives{sources: sources, texts: make([]string, len(sources)), classes: map[string][]string{}}
	keys := map[string]string{}
	for i, s := range sources {
		n.texts[i] = withoutComments(string(s.data))
		n.addClasses(n.texts[i])
		for _, m := range keyed.FindAllStringSubmatchIndex(n.texts[i], -1) {
			class := n.texts[i][m[4]:m[5]]
			if key := inQuotes.FindSubmatch(s.data[m[2]:m[3]]); key != nil && (keys[class] == "" || keys[class] == string(key[1])) {
				keys[class] = string(key[1])
			} else {
				keys[class] = "?" // two classes of one name, or a macro: no type has such a key
			}
		}
	}
	exported, registered, docs = map[string][][]string{}, map[string][][][]string{}, map[string]string{}
	for i, s := range sources {
		class := ""
		for _, m := range introduced.FindAllStringSubmatchIndex(n.texts[i], -1) {
			rest := n.texts[i][m[1]:]
			switch {
			case m[2] >= 0:
				name := n.texts[i][m[2]:m[3]]
				lists, _ := n.lists(i, rest)
				exported[name] = append(exported[name], lists...)
			case m[4] >= 0:
				class = ""
			case m[6] >= 0:
				class = n.texts[i][m[6]:m[7]]
			case m[12] >= 0:
				var lists [][]string
				for _, body := range n.classes[class] {
					lists = append(lists, declarations(body, class, true)...)
				}
				full := keys[class] + "." + constructor
				registered[full] = append(registered[full], lists)
			case m[14] >= 0:
				inside, _, _ := parenthesis(n.texts[i][m[14]:])
				docs[n.texts[i][m[16]:m[17]]] = lastText(inside, s.data[m[15]:])
			default:
				text, how := inQuotes.FindSubmatch(s.data[m[10]:m[11]]), n.texts[i][m[8]:m[9]]
				if text == nil || class != "" && keys[class] == "" {
					continue
				}
				name := string(text[1])
				if inside, _, _ := parenthesis(n.texts[i][m[10]-1:]); class == "" {
					docs[name] = lastText(inside, s.data[m[10]:])
				}
				lists, member := n.lists(i, rest)
				for k, list := range lists {
					switch {
					case class == "" && how == "_method" && member:
						lists[k] = append([]string{""}, list...) // the receiver is a parameter of the function
					case class != "" && how == "" && !member && len(list) > 0:
						lists[k] = list[1:]
					}
				}
				full := name
				if class != "" {
					full = keys[class] + "." + name
				}
				registered[full] = append(registered[full], lists)
			}
		}
	}
	return exported, registered, docs
}

// lastText returns the text that is the last argument of a call. inside are the arguments in data, without texts.
func lastText(inside string, data []byte) string {
	before := strings.TrimRight(inside, " \t\r\n")
	if !strings.HasSuffix(before, ",") {
		return ""
	}
	doc := ""
	for _, part := range literal.FindAll(data[len(before):len(inside)], -1) {
		text, err := strconv.Unquote(string(part))
		if err != nil {
			return ""
		}
		doc += text
	}
	return doc
}

// addClasses adds the bodies of the classes of a text.
func (n *natives) addClasses(text string) {
	starts := map[int]string{}
	for _, m := range defined.FindAllStringSubmatchIndex(text, -1) {
		starts[m[1]-1] = text[m[2]:m[3]]
	}
	var open []int
	for i := range len(text) {
		switch {
		case text[i] == '{':
			open = append(open, i)
		case text[i] == '}' && len(open) > 0:
			start := open[len(open)-1]
			open = open[:len(open)-1]
			if class := starts[start]; class != "" {
				n.classes[class] = append(n.classes[class], text[start+1:i])
			}
		}
	}
}

// lists returns the parameter names of the function with which a text of source i starts, for each of its declarations,
// and whether it is a method.
func (n *natives) lists(i int, text string) (lists [][]string, member bool) {
	if q := qualified.FindStringSubmatch(text); q != nil {
		for _, body := range n.classes[q[1]] {
			lists, member = append(lists, declarations(body, q[2], false)...), true
		}
		if member {
			return lists, true
		}
		lists = declarations(n.texts[i], q[2], false)
		for j := range n.sources {
			if len(lists) == 0 && path.Dir(n.sources[j].path) == path.Dir(n.sources[i].path) {
				lists = declarations(n.texts[j], q[2], false)
			}
		}
		return lists, false
	}
	if at := strings.IndexByte(text, ']'); strings.HasPrefix(text, "[") && at > 0 { // a lambda
		if inside, _, ok := parenthesis(text[at+1:]); ok {
			return [][]string{parameters(inside)}, false
		}
	}
	return nil, false
}

// declarations returns the parameter names of each declaration and definition of a function, or of the constructors in
// the body of a class.
func declarations(text, name string, constructors bool) [][]string {
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
		if constructors && (before == "" || strings.ContainsAny(before[len(before)-1:], "{};:")) {
			before = "explicit" // or nothing
		}
		if !ok || before == "" || start > 0 && wordByte(text[start-1]) || strings.HasSuffix(before, "return") || strings.HasSuffix(before, "else") {
			continue
		}
		// A type stands before the name, and a body or a semicolon follows: otherwise it is a call.
		if last := before[len(before)-1]; !wordByte(last) && last != '>' && last != '*' && last != '&' && !strings.HasSuffix(before, "::") {
			continue
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		if constructors && strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, ";") || strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, "noexcept") || strings.HasPrefix(rest, "const") || strings.HasPrefix(rest, "override") {
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

// native adds the names that C++ sources give to the parameters of a function. Those of a function that a module exports
// go before the names in calls, because no name in Python refers to such a function. Otherwise calls go first.
func (b *builder) native(name string, it item, names []string) []string {
	module := b.iface.exports[name]
	declared := slices.Concat(b.registered[it.name]...)
	if all := b.registered[it.name]; it.overload > 0 && len(all) == len(b.iface.overloads[it.name]) {
		declared = all[it.overload-1]
	}
	if module {
		declared = b.exported[name]
	}
	var lists [][]string
	for _, list := range declared {
		if len(list) == len(it.params) && !slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, list) }) {
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 {
		return names
	}
	out := make([]string, len(it.params))
	copy(out, names)
	for i := range out {
		if out[i] != "" && !module {
			continue
		}
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
