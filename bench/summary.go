package main

import (
	"fmt"
	"slices"
)

// summaryRows are the items of the small picture, with titles for readers who do not know the table.
var summaryRows = []struct{ item, title string }{
	{"int", "a function of an int"},
	{"string32", "a string in and out"},
	{"field_int", "a field of an object"},
	{"callback", "a callback"},
	{"tensors3", "three tensors in"},
}

// summaryPeers are the peers of the small picture.
var summaryPeers = []string{"Rust", "cgo", "Python"}

// Sizes of the small picture, in its units.
const (
	barSpace  = 16
	barHeight = 11
	rowGap    = 12
)

// summary draws a few items for the README: a bar for each peer, from our time to its own. Every bar has
// its name and its ratio beside it.
func (r recorded) summary() string {
	var lines []line
	height := 0
	for _, s := range summaryRows {
		it, _ := itemOf(s.item)
		i := slices.IndexFunc(r.rows, func(row recordedRow) bool { return row.title == it.title })
		if i < 0 {
			continue
		}
		l := r.rows[i].line()
		l.title = s.title
		l.dots = slices.DeleteFunc(l.dots, func(d dot) bool { return !slices.Contains(summaryPeers, d.title) })
		slices.SortFunc(l.dots, func(a, b dot) int {
			return slices.Index(summaryPeers, a.title) - slices.Index(summaryPeers, b.title)
		})
		lines = append(lines, l)
		height += barSpace*len(l.dots) + rowGap
	}
	d := newDrawing(lines)
	d.left, d.plot, d.width, d.top = 220, 460, 720, 62
	d.bottom = d.top + height
	d.head(r)
	d.scale()
	y := d.top + rowGap/2
	for _, l := range lines {
		d.text(12, y+13, "start", ` font-weight="bold"`, l.title)
		d.text(12, y+29, "start", grey, "tvmffi "+l.time)
		for _, p := range l.dots {
			d.bar(y, p)
			y += barSpace
		}
		y += rowGap
	}
	d.WriteString("</svg>\n")
	return d.String()
}

// bar draws the time of a peer, with its name and its ratio.
func (d *drawing) bar(y int, p dot) {
	from, to := min(d.x(1), d.x(p.ratio)), max(d.x(1), d.x(p.ratio))
	fmt.Fprintf(d, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", from, y+(barSpace-barHeight)/2, to-from, barHeight, p.colour)
	at, anchor := to+5, "start"
	if p.ratio < 1 {
		at, anchor = from-5, "end"
	}
	d.text(at, y+12, anchor, "", number(p.ratio)+"x")
	d.text(float64(d.left-18), y+12, "end", "", p.title)
}
