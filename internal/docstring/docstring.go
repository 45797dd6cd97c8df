// Package docstring reads the documentation that libraries carry, in the styles that Python
// and C++ programmers use: numpydoc, Google style and Doxygen. It writes such a text as a Go
// doc comment.
package docstring

import (
	"regexp"
	"strings"
)

// A Doc is a text of documentation in parts.
type Doc struct {
	// Text are the paragraphs before the first section.
	Text []Paragraph
	// Sections follow, in their order.
	Sections []Section
}

// A Section has a title and entries or paragraphs.
type Section struct {
	Title   string // such as Parameters
	Entries []Entry
	Text    []Paragraph
}

// An Entry is a line of a list: a parameter, a result, an exception.
type Entry struct {
	Name string // "" for a result without a name
	Type string // as the text has it, "" if it has none
	Text string // one paragraph
}

// A Paragraph is text without line breaks, or lines that keep their form.
type Paragraph struct {
	Text string
	Item bool // of a list
	Code []string
}

// Parse reads a text. Every text has a form: what is not a section is a paragraph.
func Parse(text string) Doc {
	p := &parser{lines: splitLines(text)}
	doc := Doc{}
	current := &doc.Text
	var section *Section
	var block []string
	flush := func() {
		if section != nil && listed[section.Title] {
			section.Entries = append(section.Entries, entries(block, section.Title)...)
		} else {
			*current = append(*current, paragraphs(block)...)
		}
		block = nil
	}
	for p.at < len(p.lines) {
		if title, body, ok := p.heading(); ok {
			flush()
			if n := len(doc.Sections); n == 0 || doc.Sections[n-1].Title != title || !listed[title] {
				doc.Sections = append(doc.Sections, Section{Title: title})
			}
			section = &doc.Sections[len(doc.Sections)-1]
			current, block = &section.Text, body
			if body != nil { // a section of its own lines: text may follow it
				flush()
				section, current = nil, &doc.Text
			}
			continue
		}
		block = append(block, p.lines[p.at])
		p.at++
	}
	flush()
	return doc
}

// Params returns the names in the sections about parameters, in order.
func (d Doc) Params() []string {
	var names []string
	for _, s := range d.Sections {
		if s.Title == "Parameters" {
			for _, e := range s.Entries {
				for name := range strings.SplitSeq(e.Name, ",") {
					names = append(names, strings.Trim(name, " *`"))
				}
			}
		}
	}
	return names
}

// titles maps the titles of numpydoc and of Google style, in lower case, to titles.
var titles = map[string]string{
	"parameters": "Parameters", "args": "Parameters", "arguments": "Parameters", "params": "Parameters",
	"parameter": "Parameters", "other parameters": "Parameters", "keyword args": "Parameters", "attributes": "Attributes",
	"returns": "Returns", "return": "Returns", "yields": "Returns", "raises": "Errors", "exceptions": "Errors",
	"warns": "Warnings", "warnings": "Warnings", "warning": "Warnings", "note": "Notes", "notes": "Notes", "see also": "See also",
	"references": "References", "example": "Examples", "examples": "Examples", "methods": "Methods",
}

// listed are the sections that are lists of entries.
var listed = map[string]bool{"Parameters": true, "Attributes": true, "Returns": true, "Errors": true}

type parser struct {
	lines []string
	at    int
}

var underline = regexp.MustCompile(`^\s*(-{3,}|={3,}|~{3,})\s*$`)

// doxygen matches a command of Doxygen at the start of a line.
var doxygen = regexp.MustCompile(`^\s*[\\@](param|tparam|return|returns|throws|throw|exception|note|brief|sa|see)\b(?:\[[a-z,]*\])?\s*(.*)$`)

// heading reads the start of a section at the current line. Google style and Doxygen give
// the lines of the section with it.
func (p *parser) heading() (title string, body []string, ok bool) {
	line := p.lines[p.at]
	name := strings.ToLower(strings.TrimSpace(line))
	if p.at+1 < len(p.lines) && underline.MatchString(p.lines[p.at+1]) && name != "" && titles[name] != "" {
		p.at += 2
		return titles[name], nil, true
	}
	if title := titles[strings.TrimSuffix(name, ":")]; title != "" && strings.HasSuffix(name, ":") && p.at+1 < len(p.lines) {
		if inside := p.indented(p.at+1, indent(line)); len(inside) > 0 {
			p.at += 1 + len(inside)
			return title, inside, true
		}
	}
	if m := doxygen.FindStringSubmatch(line); m != nil && m[1] != "brief" {
		title, parts := doxygenTitles[m[1]], []string{m[2]}
		p.at++
		for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) != "" && doxygen.FindString(p.lines[p.at]) == "" {
			parts = append(parts, strings.TrimSpace(p.lines[p.at]))
			p.at++
		}
		text := strings.Join(parts, " ")
		if title == "Parameters" || title == "Errors" {
			name, rest, _ := strings.Cut(text, " ")
			text = name + ": " + strings.TrimSpace(rest)
		}
		return title, []string{text}, true
	}
	return "", nil, false
}

var doxygenTitles = map[string]string{
	"param": "Parameters", "tparam": "Parameters", "return": "Returns", "returns": "Returns", "throws": "Errors",
	"throw": "Errors", "exception": "Errors", "note": "Notes", "sa": "See also", "see": "See also",
}

// indented returns the lines from at on that are indented more than depth, or blank.
func (p *parser) indented(at, depth int) []string {
	end := at
	for i := at; i < len(p.lines); i++ {
		blank := strings.TrimSpace(p.lines[i]) == ""
		if !blank && indent(p.lines[i]) <= depth {
			break
		}
		if !blank {
			end = i + 1
		}
	}
	return p.lines[at:end]
}

// entry matches the first line of an entry: "name : type", "name: text", "name (type): text".
var entry = regexp.MustCompile(`^(\*{0,2}[\w.]+(?:\s*,\s*\*{0,2}[\w.]+)*)\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?\s*:(.*)$`)

// entries reads a list of entries. Lines that are indented more continue an entry.
func entries(lines []string, title string) []Entry {
	var all []Entry
	var more []string // lines of the last entry after the first
	finish := func() {
		if len(more) > 0 {
			last := &all[len(all)-1]
			last.Text = strings.TrimSpace(last.Text + " " + strings.Join(more, " "))
			more = nil
		}
	}
	base := smallest(lines)
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		if indent(line) > base && len(all) > 0 {
			more = append(more, inline(text))
			continue
		}
		finish()
		all = append(all, firstLine(text, title))
	}
	finish()
	return all
}

// firstLine reads the first line of an entry. In numpydoc a space stands before the colon,
// and what follows it is a type.
func firstLine(text, title string) Entry {
	m := entry.FindStringSubmatch(text)
	switch {
	case m == nil && title == "Parameters" && !strings.Contains(text, " "):
		return Entry{Name: strings.Trim(text, "*`")}
	case m == nil && title == "Errors" && !strings.Contains(text, " "):
		return Entry{Name: text}
	case m == nil:
		return Entry{Text: inline(text)}
	}
	e := Entry{Name: strings.ReplaceAll(m[1], "*", ""), Type: inline(m[2])}
	rest := strings.TrimSpace(m[3])
	if strings.Contains(text, m[1]+" :") && m[2] == "" {
		e.Type = inline(rest)
	} else {
		e.Text = inline(rest)
	}
	return e
}

// bullet matches the start of an item of a list.
var bullet = regexp.MustCompile(`^(?:[-*+•]|\d{1,2}[.)])\s+`)

// A reader joins lines into paragraphs, list items and blocks that keep their form.
type reader struct {
	all  []Paragraph
	more []string // lines of the last paragraph after the first
	base int      // the indentation of the text
	item bool
	code bool // a block that keeps its form may follow
	open bool // the last paragraph continues
}

func paragraphs(lines []string) []Paragraph {
	r := &reader{base: smallest(lines)}
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if m := doxygen.FindStringSubmatch(line); m != nil && m[1] == "brief" {
			text = m[2]
		}
		r.line(line, text)
	}
	r.finish()
	for i := range r.all {
		for endsBlank(r.all[i].Code) {
			r.all[i].Code = r.all[i].Code[:len(r.all[i].Code)-1]
		}
	}
	return r.all
}

// begin starts a paragraph.
func (r *reader) begin(p Paragraph) {
	r.finish()
	r.all = append(r.all, p)
}

// finish joins the lines of the last paragraph.
func (r *reader) finish() {
	if len(r.more) > 0 {
		r.last().Text = strings.TrimSpace(r.last().Text + " " + strings.Join(r.more, " "))
		r.more = nil
	}
}

// last returns the last paragraph, or an empty one if there is none.
func (r *reader) last() *Paragraph {
	if len(r.all) == 0 {
		return &Paragraph{}
	}
	return &r.all[len(r.all)-1]
}

func (r *reader) line(line, text string) {
	deep := indent(line) > r.base
	inCode := r.code && (deep || r.last().Code != nil && !endsBlank(r.last().Code))
	switch {
	case text == "":
		r.open = false
		if last := r.last(); last.Code != nil {
			last.Code = append(last.Code, "")
		}
	case directive.MatchString(text):
		m := directive.FindStringSubmatch(text)
		if r.code = codeDirectives[m[1]]; !r.code {
			r.begin(Paragraph{Text: label(m[1], m[2])})
		}
		r.open = !r.code
	case strings.HasPrefix(text, ">>>") && !inCode:
		r.code, r.open = true, false
		r.begin(Paragraph{Code: []string{text}})
	case inCode:
		r.keep(strings.TrimRight(line[min(r.base, len(line)):], " "))
	case bullet.MatchString(text):
		r.begin(Paragraph{Text: inline(bullet.ReplaceAllString(text, "")), Item: true})
		r.item, r.open, r.code = true, true, false
	case r.open && len(r.all) > 0 && (deep || !r.item):
		r.more = append(r.more, inline(text))
		r.literal(text)
	default:
		r.code, r.item, r.open = false, false, true
		r.begin(Paragraph{Text: inline(text)})
		r.literal(text)
	}
}

// keep adds a line to a block that keeps its form.
func (r *reader) keep(line string) {
	if last := r.last(); last.Code != nil {
		last.Code = append(last.Code, line)
		return
	}
	r.begin(Paragraph{Code: []string{line}})
}

// literal notes that the last line of a paragraph ends in two colons, after which a block
// follows.
func (r *reader) literal(line string) {
	if strings.HasSuffix(inline(line), "::") {
		r.finish()
		last := r.last()
		last.Text, r.code, r.open = strings.TrimSuffix(last.Text, ":"), true, false
	}
}

func endsBlank(lines []string) bool { return len(lines) > 0 && lines[len(lines)-1] == "" }

// directive matches a directive of reStructuredText.
var directive = regexp.MustCompile(`^\.\. *([\w-]+)::\s*(.*)$`)

var codeDirectives = map[string]bool{"code": true, "code-block": true, "math": true, "highlight": true, "doctest": true}

func label(name, text string) string {
	name = strings.ToUpper(name[:1]) + name[1:]
	return strings.TrimSpace(name + ": " + inline(text))
}

// role matches a role of reStructuredText, such as :py:class:`Name`.
var role = regexp.MustCompile(":[a-z]+(?::[a-z]+)?:`~?([^`<]*?)(?:\\s*<[^`]*>)?`")

// inline removes the markup inside a line.
func inline(text string) string {
	text = role.ReplaceAllString(strings.TrimSpace(text), "$1")
	text = strings.ReplaceAll(text, "``", "`")
	text = strings.ReplaceAll(text, "**", "")
	return strings.ReplaceAll(text, "`", "")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// smallest returns the smallest indentation of the lines that are not blank.
func smallest(lines []string) int {
	least := -1
	for _, line := range lines {
		if n := indent(line); strings.TrimSpace(line) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	return max(least, 0)
}

// breaks turns all line terminators into newlines, and tabs into spaces.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\t", "    ", "\f", " ", "\v", " ")

// splitLines divides a text into lines without the indentation that all lines after the
// first share.
func splitLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(breaks.Replace(text)), "\n")
	lines[0] = strings.TrimSpace(lines[0])
	base := smallest(lines[1:])
	for i := range lines[1:] {
		line := strings.TrimRight(lines[i+1], " ")
		lines[i+1] = line[min(base, len(line)):]
	}
	return lines
}
