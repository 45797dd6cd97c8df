package rustface

import (
	"go/doc/comment"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// markdown turns a doc comment of Go into one of Rust. Its code is marked as text, which
// rustdoc does not compile, and what looks like Markdown or HTML in the prose is escaped.
func markdown(doc string) string {
	var parser comment.Parser
	printer := comment.Printer{HeadingID: func(*comment.Heading) string { return "" }}
	var parts []string
	for _, block := range parser.Parse(doc).Content {
		if code, ok := block.(*comment.Code); ok {
			fence := "```"
			for strings.Contains(code.Text, fence) {
				fence += "`"
			}
			parts = append(parts, fence+"text\n"+strings.TrimSuffix(code.Text, "\n")+"\n"+fence)
			continue
		}
		text := string(printer.Markdown(&comment.Doc{Content: []comment.Block{block}}))
		parts = append(parts, strings.TrimSpace(strings.ReplaceAll(text, "]:", `\]:`)))
	}
	return strings.Join(parts, "\n\n")
}

// comment writes a doc comment with the mark /// or //!. Notes are paragraphs that follow
// the doc of Go; they are Markdown.
func (w *writer) comment(indent, mark, doc, otherwise string, notes ...string) {
	text := markdown(doc)
	if text == "" {
		text = otherwise
	}
	for _, n := range notes {
		text += "\n\n" + n
	}
	for line := range strings.SplitSeq(face.Clean(text), "\n") {
		w.p("%s%s\n", indent, strings.TrimRight(mark+" "+line, " \t"))
	}
}
