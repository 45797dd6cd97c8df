package source

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"unicode"
)

// prefix begins every directive.
const prefix = "//tvmffi:"

// The verbs of directives.
const (
	verbExport = "export"
	verbObject = "object"
	verbMethod = "method"
)

// hooks maps the verbs for methods that the library calls itself to the options of
// package define.
var hooks = map[string]string{"repr": "Repr", "equal": "EqualBy", "hash": "HashBy", "compare": "CompareBy"}

// directive is a line //tvmffi:verb [name] [options].
type directive struct {
	verb    string
	name    string
	options []string
	pos     token.Pos
}

// directives reads the directives of a comment, and records their positions in seen.
func (r *reader) directives(doc *ast.CommentGroup, seen map[token.Pos]bool) []directive {
	if doc == nil {
		return nil
	}
	var found []directive
	for _, c := range doc.List {
		text, ok := strings.CutPrefix(c.Text, prefix)
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, " //") // a comment on the directive
		verb, rest, _ := strings.Cut(strings.TrimRight(text, " \t\r"), " ")
		if verb == "" {
			continue // stray reports it
		}
		seen[c.Pos()] = true
		d := directive{verb: verb, options: strings.Fields(rest), pos: c.Pos()}
		if !isVerb(verb) {
			r.fail(c.Pos(), "unknown directive //tvmffi:%s: there are export, object, method, repr, equal, hash and compare", verb)
			continue
		}
		isOption := verb == verbObject && len(d.options) > 0 && (strings.Contains(d.options[0], "=") || flags[d.options[0]] != "")
		if len(d.options) > 0 && !isOption {
			d.name, d.options = d.options[0], d.options[1:]
		}
		if verb != verbObject && len(d.options) > 0 {
			r.fail(c.Pos(), "//tvmffi:%s takes one name: remove %q", verb, strings.Join(d.options, " "))
			continue
		}
		if hooks[verb] != "" && d.name != "" {
			r.fail(c.Pos(), "//tvmffi:%s takes no name: remove %q", verb, d.name)
			continue
		}
		found = append(found, d)
	}
	if len(found) > 1 {
		r.fail(found[1].pos, "two directives for one declaration: remove one")
		found = found[:1]
	}
	return found
}

func isVerb(word string) bool {
	return word == verbExport || word == verbObject || word == verbMethod || hooks[word] != ""
}

// stray refuses directives in places where none are read, and comments that would be
// directives without a space.
func (r *reader) stray(file *ast.File, seen map[token.Pos]bool) {
	for _, group := range file.Comments {
		for _, c := range group.List {
			text, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimSuffix(c.Text[2:], "*/")), "tvmffi:")
			if !ok || seen[c.Pos()] {
				continue
			}
			verb := ""
			if words := strings.Fields(text); len(words) > 0 {
				verb = words[0]
			}
			directive := strings.HasPrefix(c.Text, prefix)
			switch {
			case directive && strings.HasPrefix(text, verb) && verb != "":
				r.fail(c.Pos(), "%s stands alone: put it directly above a func, struct or import, in its comment", prefix+verb)
			case isVerb(verb):
				r.fail(c.Pos(), "this comment is not a directive: write %s, without a space", prefix+verb)
			case directive || strings.HasPrefix(text, verb) && verb != "":
				r.fail(c.Pos(), "this comment is not a directive: there are %sexport, object, method, repr, equal, hash and compare, without a space", prefix)
			}
		}
	}
}

// documentation returns the text of a comment without directives.
func documentation(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	return strings.TrimSpace(doc.Text()) // Text leaves directives out
}

var (
	symbolPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	keyPattern    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	methodPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func validKey(key string) bool { return keyPattern.MatchString(key) }

// Snake turns a Go name into one that other languages expect: AddOne, add_one.
func Snake(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, c := range runes {
		if unicode.IsUpper(c) {
			after := i > 0 && !unicode.IsUpper(runes[i-1]) && runes[i-1] != '_'
			last := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])
			if after || last {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
