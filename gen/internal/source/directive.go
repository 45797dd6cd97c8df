package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
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
	verbError  = "error"
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

// wordLend is the option of funcs and methods that lends the memory of slices.
const wordLend = "lend"

// takesDefaults reports whether the options of a verb are lend and defaults of parameters.
func takesDefaults(verb string) bool {
	return verb == verbExport || verb == verbMethod || verb == verbConstructor
}

// verbs lists the directives for errors.
const verbs = "export, object, method, constructor, property, error, repr, equal, hash and compare"

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
		words, err := split(text)
		if err != nil {
			seen[c.Pos()] = true
			r.fail(c.Pos(), "%v", err)
			continue
		}
		if len(words) == 0 || text[0] == ' ' || text[0] == '\t' {
			continue // stray reports it
		}
		seen[c.Pos()] = true
		d := directive{verb: words[0], options: words[1:], pos: c.Pos()}
		if !isVerb(d.verb) {
			r.fail(c.Pos(), "unknown directive //tvmffi:%s: there are %s", d.verb, verbs)
			continue
		}
		if len(d.options) > 0 && !isOption(d.verb, d.options[0]) {
			d.name, d.options = d.options[0], d.options[1:]
		}
		if r.refuseWords(d) {
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

// isOption reports whether a word behind a verb is an option, and not a name.
func isOption(verb, word string) bool {
	switch {
	case verb == verbObject:
		return strings.Contains(word, "=") || flags[word] != "" || word == wordOpaque
	case verb == verbError:
		return strings.Contains(word, "=")
	case takesDefaults(verb):
		return strings.Contains(word, "=") || word == wordLend
	}
	return false
}

// refuseWords reports words that the verb does not take.
func (r *reader) refuseWords(d directive) bool {
	if takesDefaults(d.verb) {
		if d.verb == verbConstructor && d.name != "" {
			r.fail(d.pos, "//tvmffi:constructor takes no name, but defaults such as n=3: remove %q", d.name)
			return true
		}
		for _, o := range d.options {
			if !isOption(d.verb, o) {
				r.fail(d.pos, "//tvmffi:%s takes one name, and after it defaults such as n=3, and lend: remove %q", d.verb, o)
				return true
			}
		}
		return false
	}
	switch {
	case d.verb != verbObject && d.verb != verbError && len(d.options) > 0:
		r.fail(d.pos, "//tvmffi:%s takes one name: remove %q", d.verb, strings.Join(d.options, " "))
	case hooks[d.verb] != "" && d.name != "":
		r.fail(d.pos, "//tvmffi:%s takes no name: remove %q", d.verb, d.name)
	default:
		return false
	}
	return true
}

// split returns the words of a directive, without a comment behind them. A text with spaces
// is quoted as in Go, behind the equal sign of an option.
func split(text string) (words []string, err error) {
	for {
		text = strings.TrimLeft(text, " \t\r")
		if text == "" || strings.HasPrefix(text, "//") && len(words) > 0 {
			return words, nil
		}
		end := strings.IndexAny(text, " \t\r")
		if end < 0 {
			end = len(text)
		}
		word := text[:end]
		if name, value, ok := strings.Cut(text, "=\""); ok && len(name) < end {
			quoted, err := strconv.QuotedPrefix("\"" + value)
			if err != nil {
				return nil, fmt.Errorf("the text of %s= has no end: write it as in Go, %s=\"text\"", name, name)
			}
			value, _ = strconv.Unquote(quoted) // QuotedPrefix has checked it
			word, end = name+"="+value, len(name)+1+len(quoted)
		}
		words, text = append(words, word), text[end:]
	}
}

func isVerb(word string) bool {
	switch word {
	case verbExport, verbObject, verbMethod, verbConstructor, verbProperty, verbError:
		return true
	}
	return hooks[word] != ""
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
				r.fail(c.Pos(), "this comment is not a directive: there are %s%s, without a space", prefix, verbs)
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
