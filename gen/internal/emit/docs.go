package emit

import (
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// sources lists the libraries that a package is about, with the versions of the Python
// packages that they are from if versions is true.
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

// document makes the comment lines of a declaration: a sentence with the
// registry name, the signature, the text of the registry, and what to mind.
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

// foreign turns text of a library into comment lines. Each line of it becomes
// one line of comment, so nothing in it can end the comment.
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

// breaks turns whatever ends a line into a newline.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")

func lineBreak(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

// clean makes text of a library fit for one line of comment: without control
// characters and without characters that change the direction of text, and not
// readable as an instruction to a Go tool.
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

// directives are the beginnings of comments that Go tools obey.
var directives = []string{"+build", "go:", "line ", "export ", "extern ", "cgo ", "#cgo", "nolint", "lint:", "Code generated"}
