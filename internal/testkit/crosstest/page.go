package crosstest

import (
	"fmt"
	"slices"
	"strings"
)

// page is docs/CROSSES.md. Its tables and lists of errors are between two comments each, and the text around them is kept.
type page struct {
	parts    []string // text, and where the tables of a group, the versions or the errors stand, their marks
	versions map[string]edition
	cells    map[string]map[string]string // by peer and row
}

// edition is what a column was made with, and when.
type edition struct{ version, date string }

// The marks of the page.
const (
	markVersions = "versions"
	markErrors   = "errors"
	opening      = "<!-- begin "
	closing      = "<!-- end -->\n"
	ending       = " -->\n"
	sayers       = " : " // between the text of an error and the rows that have it
)

// code shows text as code, and uncode reads that again.
func code(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

func uncode(text string) string {
	if inner, ok := strings.CutPrefix(text, "`` "); ok {
		return strings.TrimSuffix(inner, " ``")
	}
	return strings.Trim(text, "`")
}

// parse reads the page. The texts of errors are read before the tables, which have only their kinds.
func parse(text string) (*page, error) {
	p := &page{versions: map[string]edition{}, cells: map[string]map[string]string{}}
	for {
		before, rest, more := strings.Cut(text, opening)
		p.parts = append(p.parts, before)
		if !more {
			break
		}
		mark, rest, ok := strings.Cut(rest, ending)
		body, rest, closed := strings.Cut(rest, closing)
		if !ok || !closed {
			return nil, fmt.Errorf("the comment %q of the page has no end", mark)
		}
		p.parts = append(p.parts, mark)
		text = rest
		if err := p.read(mark, strings.Split(strings.TrimSpace(body), "\n")); err != nil {
			return nil, fmt.Errorf("%s: %w", mark, err)
		}
	}
	return p, nil
}

func (p *page) read(mark string, lines []string) error {
	switch mark {
	case markVersions:
		for _, line := range rowsOf(lines) {
			p.versions[line[0]] = edition{line[1], line[2]}
		}
		return nil
	case markErrors:
		peer := ""
		for _, line := range lines {
			if title, ok := strings.CutPrefix(line, "### "); ok {
				peer = title
			} else if message, names, ok := strings.Cut(strings.TrimPrefix(line, "- "), sayers); ok {
				for name := range strings.SplitSeq(names, "; ") {
					p.cells[peer][name] += ": " + uncode(message)
				}
			}
		}
		return nil
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil // not written yet
	}
	head := cellsOf(lines[0])
	for _, line := range rowsOf(lines) {
		if len(line) != len(head) {
			return fmt.Errorf("the row of %q has %d cells, want %d", line[0], len(line), len(head))
		}
		for i, cell := range line[1:] {
			peer := head[i+1]
			if p.cells[peer] == nil {
				p.cells[peer] = map[string]string{}
			}
			if kind, ok := strings.CutPrefix(cell, "**"); ok {
				cell = refused + strings.TrimSuffix(kind, "**")
			} else {
				cell = uncode(cell)
			}
			p.cells[peer][line[0]] = cell
		}
	}
	return nil
}

// rowsOf returns the cells of the lines below the head of a table.
func rowsOf(lines []string) (rows [][]string) {
	for i, line := range lines {
		if i >= 2 {
			rows = append(rows, cellsOf(line))
		}
	}
	return rows
}

// cellsOf cuts a line of a table; a bar in a cell has a backslash before it.
func cellsOf(line string) []string {
	const bar = "\x00"
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, bar), "|"), "|")
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), bar, "|")
	}
	return cells
}

// set replaces the column of a peer, and returns the differences.
func (p *page) set(peer string, cells map[string]string) (differences []string) {
	was := p.cells[peer]
	for _, g := range Groups {
		if !slices.Contains(g.Peers, peer) {
			continue
		}
		for _, r := range g.Rows {
			if was[r.Name] != cells[r.Name] {
				differences = append(differences, fmt.Sprintf("%s: the page has %q, the run %q", r.Name, was[r.Name], cells[r.Name]))
			}
		}
	}
	p.cells[peer] = cells
	return differences
}

// String returns the page.
func (p *page) String() string {
	var b strings.Builder
	for i, part := range p.parts {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		b.WriteString(opening + part + ending + "\n")
		switch part {
		case markVersions:
			p.writeVersions(&b)
		case markErrors:
			p.writeErrors(&b)
		default:
			p.writeTable(&b, part)
		}
		b.WriteString("\n" + closing)
	}
	return b.String()
}

// peers returns the names of all columns in their order.
func peers() (all []string) {
	for _, g := range Groups {
		for _, peer := range g.Peers {
			if !slices.Contains(all, peer) {
				all = append(all, peer)
			}
		}
	}
	return all
}

func (p *page) writeVersions(b *strings.Builder) {
	b.WriteString("| column | version | run on |\n|---|---|---|\n")
	for _, peer := range peers() {
		fmt.Fprintf(b, "| %s | %s | %s |\n", peer, p.versions[peer].version, p.versions[peer].date)
	}
}

func (p *page) writeTable(b *strings.Builder, title string) {
	i := slices.IndexFunc(Groups, func(g Group) bool { return g.Title == title })
	if i < 0 {
		return
	}
	g := Groups[i]
	b.WriteString("| value | " + strings.Join(g.Peers, " | ") + " |\n|---" + strings.Repeat("|---", len(g.Peers)) + "|\n")
	for _, r := range g.Rows {
		b.WriteString("| " + r.Name)
		for _, peer := range g.Peers {
			cell := p.cells[peer][r.Name]
			if kind, ok := strings.CutPrefix(cell, refused); ok {
				kind, _, _ = strings.Cut(kind, ": ")
				cell = "**" + kind + "**"
			} else if cell != Same && cell != "" {
				cell = code(strings.ReplaceAll(cell, "|", `\|`))
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
}

// writeErrors lists the texts of the errors of each peer, in the order of the rows, with the rows of each.
func (p *page) writeErrors(b *strings.Builder) {
	for _, peer := range peers() {
		var order []string
		rows := map[string][]string{}
		for _, g := range Groups {
			for _, r := range g.Rows {
				if text, ok := strings.CutPrefix(p.cells[peer][r.Name], refused); ok && slices.Contains(g.Peers, peer) {
					_, message, _ := strings.Cut(text, ": ")
					if rows[message] == nil {
						order = append(order, message)
					}
					rows[message] = append(rows[message], r.Name)
				}
			}
		}
		if len(order) > 0 {
			b.WriteString("### " + peer + "\n")
		}
		for _, message := range order {
			b.WriteString("- " + code(message) + sayers + strings.Join(rows[message], "; ") + "\n")
		}
	}
}
