package docstring

import (
	"strings"
	"unicode/utf8"
)

// Width is the number of characters after which lines of a comment are wrapped.
const Width = 95

// GoDoc returns the lines of a Go doc comment, without the slashes. The map gives new names
// to parameters.
func (d Doc) GoDoc(rename map[string]string) []string {
	w := &writer{rename: rename}
	w.paragraphs(d.Text)
	for _, s := range d.Sections {
		if len(s.Entries) == 0 && len(s.Text) == 0 {
			continue
		}
		if lone, ok := s.lone(); ok {
			w.blank()
			w.wrap("", "", s.Title+": "+lone)
			continue
		}
		w.blank()
		w.lines = append(w.lines, s.Title+":")
		for _, e := range s.Entries {
			w.entry(e)
		}
		w.paragraphs(s.Text)
	}
	return w.lines
}

// lone returns the text of a section that is one sentence.
func (s Section) lone() (string, bool) {
	if len(s.Entries) == 1 && len(s.Text) == 0 && s.Entries[0].Name == "" {
		return s.Entries[0].Text, true
	}
	if len(s.Entries) == 0 && len(s.Text) == 1 && !s.Text[0].Item && s.Text[0].Code == nil {
		return s.Text[0].Text, true
	}
	return "", false
}

type writer struct {
	lines  []string
	rename map[string]string
}

// blank writes an empty line, unless it would be the first or follow another.
func (w *writer) blank() {
	if n := len(w.lines); n > 0 && w.lines[n-1] != "" {
		w.lines = append(w.lines, "")
	}
}

func (w *writer) paragraphs(all []Paragraph) {
	code := false
	for _, p := range all {
		switch {
		case p.Code != nil:
			w.blank()
			base := smallest(p.Code)
			for _, line := range p.Code {
				w.lines = append(w.lines, strings.TrimRight("\t"+line[min(base, len(line)):], " \t"))
			}
		case p.Item && code:
			w.blank() // an indented line would continue the block
			w.wrap("", "", "- "+p.Text)
		case p.Item:
			w.wrap("  - ", "    ", p.Text)
		default:
			w.blank()
			w.wrap("", "", p.Text)
		}
		code = p.Code != nil
	}
}

// entry writes a line of a list.
func (w *writer) entry(e Entry) {
	var names []string
	for name := range strings.SplitSeq(e.Name, ",") {
		name = strings.TrimSpace(name)
		if other := w.rename[name]; other != "" {
			name = other
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if e.Type != "" {
		text = strings.TrimSpace(text + " (" + e.Type + ")")
	}
	switch {
	case text == "":
		text = e.Text
	case e.Text != "":
		text += ": " + e.Text
	}
	w.wrap("  - ", "    ", text)
}

// wrap writes a text in lines of Width characters, the first after one prefix and the
// others after another.
func (w *writer) wrap(first, next, text string) {
	w.lines = append(w.lines, wrap(first, next, text)...)
}

// Wrap divides a text into lines of Width characters, without prefixes.
func Wrap(text string) []string { return wrap("", "", text) }

func wrap(first, next, text string) []string {
	var lines []string
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width {
			lines = append(lines, line)
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	if !empty {
		lines = append(lines, line)
	}
	return lines
}
