package emit

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/docstring"
)

// sources lists the libraries that a package binds. If versions is true, the version of
// the Python package follows each name.
func sources(pkg *plan.Package, versions bool) string {
	names := make([]string, len(pkg.Sources))
	for i, l := range pkg.Sources {
		names[i] = clean(l.File)
		if versions && l.PackageVersion != "" {
			names[i] += " " + clean(l.PackageVersion)
		}
	}
	return strings.Join(names, ", ")
}

// document returns the comment lines of a declaration: a sentence with the registry
// name, the signature, the text of the library, notes and warnings. Text that begins with a
// verb or an article comes first, as the sentence that Go doc begins with.
func document(goName string, d plan.Doc) []string {
	calls := func(subject string) []string {
		sentence := "// " + subject + " " + clean(d.Intro)
		if d.Signature == "" {
			return []string{sentence}
		}
		return []string{strings.TrimSuffix(sentence, ".") + ":", "//", "//\t" + clean(d.Signature)}
	}
	text := foreign(d.Text, d.Params)
	blocks := [][]string{calls(goName), text}
	if len(text) > 0 {
		if sentence, ok := sentence(strings.TrimPrefix(text[0], "// "), cmp.Or(d.Noun, "is")); ok {
			text[0] = "// " + goName + " " + sentence
			blocks = [][]string{text, calls("It")}
		}
	}
	for _, about := range d.About {
		blocks = append(blocks, wrap(about))
	}
	return paragraphs(append(blocks, comment(d.Note), comment(d.Warning))...)
}

// sentence returns the text of a library in the form that follows a name: "returns the plant." for
// "Return the plant.", and, with the verb "is", "is a plant." for "A plant." A text with a verb of its
// own has no such form, such as "A plant has leaves."
func sentence(text, verb string) (string, bool) {
	if s, ok := docstring.ThirdPerson(text); ok {
		return s, true
	}
	first, _, _ := strings.Cut(text, ". ")
	words := strings.Fields(first)
	if len(words) < 2 || words[0] != "A" && words[0] != "An" && words[0] != "The" {
		return "", false
	}
	for i, word := range words[1:] {
		_, third := docstring.ThirdPerson(strings.ToUpper(word[:1]) + word[1:])
		if (third && strings.HasSuffix(word, "s") || slices.Contains(finite, word)) && !slices.Contains(relative, words[i]) {
			return "", false
		}
	}
	return verb + " " + strings.ToLower(text[:1]) + text[1:], true
}

// finite are verbs that make a sentence of a noun, and relative the words after which they do not.
var (
	finite   = strings.Fields("is are was were has have had can may might must will would should does do cannot isn't doesn't")
	relative = strings.Fields("that which who whose where when if and or")
)

// paragraphs joins comment lines, with an empty one between the parts.
func paragraphs(blocks ...[]string) []string {
	var lines []string
	for _, block := range blocks {
		if len(block) > 0 && len(lines) > 0 {
			lines = append(lines, "//")
		}
		lines = append(lines, block...)
	}
	return lines
}

// foreign turns text of a library into comment lines. Each line becomes one comment
// line, so the text cannot end the comment.
func foreign(text string, params map[string]string) []string {
	return comment(strings.Join(docstring.Parse(text).GoDoc(params), "\n"))
}

// wrap turns a paragraph into comment lines.
func wrap(text string) []string { return comment(strings.Join(docstring.Wrap(text), "\n")) }

// comment turns lines into comment lines.
func comment(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if code, ok := strings.CutPrefix(line, "\t"); ok {
			lines[i] = "//\t" + clean(code)
		} else {
			lines[i] = strings.TrimRight("// "+clean(line), " ")
		}
	}
	return lines
}

func lineBreak(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

// clean makes text of a library safe for one comment line: it removes control
// characters and characters that change the direction of text, and quotes text that a
// Go tool would read as a directive.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || lineBreak(r):
			return ' '
		case r == unicode.ReplacementChar:
			return '?'
		case unicode.Is(unicode.C, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	trimmed := strings.TrimSpace(text)
	for _, directive := range directives {
		if strings.HasPrefix(trimmed, directive) {
			return "\u201c" + trimmed + "\u201d"
		}
	}
	return text
}

// directives are the prefixes of comments that Go tools obey.
var directives = []string{"+build", "go:", "line ", "export ", "extern ", "cgo ", "#cgo", "nolint", "lint:", "Code generated"}
