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
// The last parts match the documentation of an export, and a field.
// The names are texts, which withoutComments has removed.
var introduced = regexp.MustCompile(`\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)\s*,\s*` +
	`|\bGlobalDef\s*(\()` +
	`|\b(?:Overload)?ObjectDef\s*<\s*(?:\w+\s*::\s*)*(\w+)\s*>` +
	`|\.\s*def(_method|_static|)\s*\((\s*),\s*` +
	`|\.\s*def\s*\(\s*(?:\w+\s*::\s*)*init\s*(<)` +
	`|\bTVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC\s*(\()\s*(\w+)\s*,` +
	`|\.\s*def_r[ow]\s*\((\s*),\s*&\s*(?:\w+\s*::\s*)*?(\w+)\s*::\s*(\w+)\s*[,)]`)

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
	aliases aliases
}

// declaration is one of a function: the names of its parameters, "" for those without one, and its types, "" where the source
// does not say one. Of a constructor, inner are the types of the class, to which those that TVM-FFI takes are converted.
type declaration struct {
	names, types, inner []string
	result              string
}

// tables are what C++ sources declare, by names in TVM-FFI.
type tables struct {
	exported   map[string][]declaration
	registered map[string][][]declaration // for each time that a name is registered
	fields     map[string][]string        // the types of fields
	docs       map[string]string
	aliases    aliases
}

// literal matches a text of C++.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// declared returns what C++ sources say of the functions that they export or register, without the receivers of methods, and
// of the fields. A function with several declarations has several; one that is registered several
// times, as overloads are, has them for each time. docs has the documentation of registered functions, which the registry
// does not keep, and of exports. Headers only say what the names of types stand for.
func declared(sources, headers []source) *tables {
	n := &natives{sources: sources, texts: make([]string, len(sources)), classes: map[string][]string{}, aliases: aliases{}}
	out := &tables{map[string][]declaration{}, map[string][][]declaration{}, map[string][]string{}, map[string]string{}, n.aliases}
	keys := map[string]string{}
	for i, s := range sources {
		n.texts[i] = withoutComments(string(s.data))
		n.addClasses(n.texts[i])
		n.aliases.add(n.texts[i])
		for _, m := range keyed.FindAllStringSubmatchIndex(n.texts[i], -1) {
			class := n.texts[i][m[4]:m[5]]
			if key := inQuotes.FindSubmatch(s.data[m[2]:m[3]]); key != nil && (keys[class] == "" || keys[class] == string(key[1])) {
				keys[class] = string(key[1])
			} else {
				keys[class] = "?" // two classes of one name, or a macro: no type has such a key
			}
		}
	}
	for _, h := range headers {
		n.aliases.add(withoutComments(string(h.data)))
	}
	for i, s := range sources {
		class := ""
		for _, m := range introduced.FindAllStringSubmatchIndex(n.texts[i], -1) {
			rest := n.texts[i][m[1]:]
			switch {
			case m[2] >= 0:
				name := n.texts[i][m[2]:m[3]]
				lists, _ := n.lists(i, rest)
				out.exported[name] = append(out.exported[name], lists...)
			case m[4] >= 0:
				class = ""
			case m[6] >= 0:
				class = n.texts[i][m[6]:m[7]]
			case m[12] >= 0:
				full := keys[class] + "." + constructor
				out.registered[full] = append(out.registered[full], n.constructors(class, rest))
			case m[14] >= 0:
				inside, _, _ := parenthesis(n.texts[i][m[14]:])
				out.docs[n.texts[i][m[16]:m[17]]] = lastText(inside, s.data[m[15]:])
			case m[18] >= 0:
				text := inQuotes.FindSubmatch(s.data[m[18]:m[19]])
				if text == nil || keys[class] == "" {
					continue
				}
				full := keys[class] + "." + string(text[1])
				for _, body := range n.classes[n.texts[i][m[20]:m[21]]] {
					out.fields[full] = append(out.fields[full], memberType(body, n.texts[i][m[22]:m[23]]))
				}
			default:
				text, how := inQuotes.FindSubmatch(s.data[m[10]:m[11]]), n.texts[i][m[8]:m[9]]
				if text == nil || class != "" && keys[class] == "" {
					continue
				}
				name := string(text[1])
				if inside, _, _ := parenthesis(n.texts[i][m[10]-1:]); class == "" {
					out.docs[name] = lastText(inside, s.data[m[10]:])
				}
				lists, member := n.lists(i, rest)
				for k, list := range lists {
					switch {
					case class == "" && how == "_method" && member: // the receiver is a parameter of the function
						lists[k].names, lists[k].types = append([]string{""}, list.names...), append([]string{""}, list.types...)
					case class != "" && how == "" && !member && len(list.names) > 0:
						lists[k].names, lists[k].types = list.names[1:], list.types[1:]
					}
				}
				full := name
				if class != "" {
					full = keys[class] + "." + name
				}
				out.registered[full] = append(out.registered[full], lists)
			}
		}
	}
	return out
}

// constructors returns the declarations of the constructors of a class that fit init<text. The types are the arguments of
// init, which TVM-FFI takes.
func (n *natives) constructors(class, text string) []declaration {
	var all []declaration
	for _, body := range n.classes[class] {
		all = append(all, declarations(body, class, true)...)
	}
	end := closing(text[:min(len(text), maxParameters)])
	if end < 0 {
		return all
	}
	types := splitTop(text[:end])
	for i := range all {
		if len(all[i].types) == len(types) {
			all[i].types, all[i].inner = types, all[i].types
		}
	}
	return all
}

// memberType returns the type of a variable in the body of a class, "" if there is none.
func memberType(body, name string) string {
	var flat strings.Builder // without the bodies of functions
	depth := 0
	for i := range len(body) {
		switch c := body[i]; c {
		case '{':
			depth++
			flat.WriteByte(c)
		case '}':
			depth--
			flat.WriteByte(c)
		default:
			if depth == 0 {
				flat.WriteByte(c)
			}
		}
	}
	m := regexp.MustCompile(`(?:^|[;{}]|[^:]:)\s*([\w:<>,\s()]+?)\s+` + regexp.QuoteMeta(name) + `\s*[={;]`).FindStringSubmatch(flat.String())
	if m == nil {
		return ""
	}
	return behindAccess(m[1])
}

// behindAccess returns the text behind the last public, protected or private, or attribute.
func behindAccess(text string) string {
	for _, access := range []string{"public:", "protected:", "private:", "]]"} {
		if at := strings.LastIndex(text, access); at >= 0 {
			text = text[at+len(access):]
		}
	}
	return text
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

// lists returns the declarations of the function with which a text of source i starts, and whether it is a method.
func (n *natives) lists(i int, text string) (lists []declaration, member bool) {
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
		if inside, rest, ok := parenthesis(text[at+1:]); ok {
			return []declaration{declarationOf(inside, "auto", rest)}, false
		}
	}
	return nil, false
}

// declarations returns each declaration and definition of a function, or of the constructors in
// the body of a class.
func declarations(text, name string, constructors bool) []declaration {
	var lists []declaration
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
			lists = append(lists, declarationOf(inside, before, rest))
		}
	}
}

// maxResult is longer than the type before the name of any function.
const maxResult = 400

// directive matches a line of the preprocessor, and a list of parameters of a template, at the end of which a declaration starts.
var directive = regexp.MustCompile(`(?m)^\s*#.*$|\btemplate\s*<[^;{}]*?>\s*$`)

// owners matches the class before the name of a function.
var owners = regexp.MustCompile(`(?:\w+(?:<[^<>]*>)?\s*::\s*)+$`)

// declarationOf returns the declaration of a function with the given parameters, what stands before its name, and what follows.
func declarationOf(inside, before, rest string) declaration {
	var d declaration
	d.names, d.types = parameters(inside)
	before = before[max(0, len(before)-maxResult):]
	before = before[strings.LastIndexAny(before, ";{}")+1:]
	before = directive.ReplaceAllString(before, ";")
	before = before[strings.LastIndexByte(before, ';')+1:]
	before = strings.TrimSpace(owners.ReplaceAllString(before, ""))
	before = behindAccess(before)
	if at := strings.LastIndex(before, "template"); at >= 0 { // template <typename T> R
		if open := strings.IndexByte(before[at:], '<'); open >= 0 {
			if end := closing(before[at+open+1:]); end >= 0 {
				before = before[at+open+1+end+1:]
			}
		}
	}
	d.result = strings.TrimSpace(before)
	if words := strings.Fields(d.result); len(words) > 0 && words[len(words)-1] == "auto" {
		d.result = ""
		if arrow := strings.Index(rest[:min(len(rest), maxResult)], "->"); arrow >= 0 && !strings.ContainsAny(rest[:arrow], ";{}") {
			d.result = rest[arrow+2:][:max(0, strings.IndexAny(rest[arrow+2:], ";{"))]
		}
	}
	return d
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

// parameters returns the names and the types in a list of parameters, "" for one without a name.
func parameters(list string) (names, types []string) {
	if list = strings.TrimSpace(list); list == "" || list == "void" {
		return []string{}, nil
	}
	for _, text := range splitTop(list) {
		name, typ := nameOf(text)
		names, types = append(names, name), append(types, typ)
	}
	return names, types
}

// nameOf returns the name of a parameter, "" if it has none, and its type.
func nameOf(text string) (name, typ string) {
	text, _, _ = strings.Cut(text, "=")
	text = strings.TrimSpace(text)
	m := parameterName.FindStringSubmatchIndex(text)
	if m == nil || slices.Contains(typeWords, text[m[2]:m[3]]) {
		return "", text
	}
	typ = text[:m[2]]
	if m[3] < len(text) { // an array
		typ += "*"
	}
	return strings.Trim(text[m[2]:m[3]], "_"), typ
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

// declarations returns what C++ sources declare of a function with as many parameters.
func (b *builder) declarations(name string, it item) []declaration {
	all := slices.Concat(b.native.registered[it.name]...)
	if each := b.native.registered[it.name]; it.overload > 0 && len(each) == len(b.iface.overloads[it.name]) {
		all = each[it.overload-1]
	}
	if b.iface.exports[name] {
		all = b.native.exported[name]
	}
	return slices.DeleteFunc(slices.Clone(all), func(d declaration) bool { return len(d.names) != len(it.params) })
}

// cppNames adds the names that C++ sources give to the parameters of a function. Those of a function that a module exports
// go before the names in calls, because no name in Python refers to such a function. Otherwise calls go first.
func (b *builder) cppNames(name string, it item, names []string) []string {
	module := b.iface.exports[name]
	var lists [][]string
	for _, d := range b.declarations(name, it) {
		if !slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, d.names) }) {
			lists = append(lists, d.names)
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
