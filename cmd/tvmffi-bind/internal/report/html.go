package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
)

// pageGenerator stands in the head of every page that ls writes.
const pageGenerator = `<meta name="generator" content="tvmffi-bind ls">`

//go:embed ls.html
var pageText string

// WriteHTML writes the listing as a page to a file, with the Go declarations of the items. It
// replaces only a page that ls wrote.
func (l *Listing) WriteHTML(con *console.Console, file string, names bindings.GoNames) error {
	var page bytes.Buffer
	if err := l.renderHTML(&page, names); err != nil {
		return err
	}
	if err := files.WriteOne(file, page.Bytes(), isOurPage); err != nil {
		return err
	}
	con.Notef("%s: %s\n", file, Size(l.shown))
	return nil
}

func (l *Listing) renderHTML(w io.Writer, names bindings.GoNames) error {
	t, err := template.New("ls").Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(w, l.newPage(names))
}

// isOurPage reports whether data is a page that ls wrote.
func isOurPage(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 512)], []byte(pageGenerator))
}
