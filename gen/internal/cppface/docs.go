package cppface

import (
	"regexp"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// doc makes a Go comment a text for Doxygen, which reads backslashes and at signs as
// commands.
func doc(text string) string {
	return strings.NewReplacer(`\`, `\\`, "@", `\@`).Replace(text)
}

// comment writes a text as comment lines with an indent; nothing for an empty text.
func comment(indent, text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(face.Clean(line), " \t")
		// A backslash at the end of the line would continue the comment, also before blanks.
		if body := strings.TrimRight(line, `\`); body != line {
			line = body + "&#92;"
		}
		line = trigraphs.ReplaceAllString(line, "?&#63;$1")
		b.WriteString(strings.TrimRight(indent+"/// "+line, " ") + "\n")
	}
	return b.String()
}

// trigraphs are characters that old compilers read as others.
var trigraphs = regexp.MustCompile(`\?\?([=/'()!<>-])`)

// join joins paragraphs that are not empty.
func join(paragraphs ...string) string {
	var some []string
	for _, p := range paragraphs {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, "\n\n")
}
