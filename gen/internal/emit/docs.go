package emit

import (
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
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
// name, the signature, the text of the registry, notes and warnings.
func document(goName string, d plan.Doc) []string {
	intro := clean(d.Intro)
	lines := []string{"// " + goName + " " + intro}
	if d.Signature != "" {
		lines[0] = strings.TrimSuffix(lines[0], ".") + ":"
		lines = append(lines, "//", "//\t"+clean(d.Signature))
	}
	for _, text := range []string{d.Text, d.Note, d.Warning} {
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, "//")
			lines = append(lines, foreign(text)...)
		}
	}
	return lines
}

// foreign turns text of a library into comment lines. Each line becomes one comment
// line, so the text cannot end the comment.
func foreign(text string) []string {
	var lines []string
	blank := false
	for line := range strings.SplitSeq(breaks.Replace(text), "\n") {
		line = strings.TrimRight(clean(line), " ")
		if line == "" {
			blank = true
			continue
		}
		if blank && len(lines) > 0 {
			lines = append(lines, "//")
		}
		blank = false
		lines = append(lines, "// "+line)
	}
	return lines
}

// breaks turns all line terminators into newlines.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")

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
