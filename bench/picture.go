package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// marks are the peers in the picture, in colours that most people tell apart.
var marks = []struct{ peer, title, colour string }{
	{"cpp", "C++", "#000000"},
	{"rust", "Rust", "#d55e00"},
	{"cgo", "cgo", "#0072b2"},
	{"purego", "purego", "#56b4e9"},
	{"python", "Python", "#e69f00"},
}

// Sizes of the picture, in its units.
const (
	labels    = 270 // the width of the names of the items
	plot      = 520
	times     = 90 // the width of the column of our times
	lineSpace = 22
	top       = 70
)

// dot is the time of a peer, in times of ours.
type dot struct {
	title, colour string
	ratio         float64
}

// line is an item of the picture.
type line struct {
	title string
	time  string // ours
	dots  []dot
}

// lines returns the items that we and at least one peer have measured.
func (m measurements) lines() []line {
	var lines []line
	for _, r := range items {
		own := m[ours(r.name)]
		if own == nil {
			continue
		}
		l := line{title: r.title, time: duration(median(own.ns))}
		if !strings.HasSuffix(l.time, "s") {
			l.time += " ns"
		}
		for _, k := range marks {
			ratio, ok := m.ratio(r.name, k.peer, r.name)
			if !ok || ratio <= 0 || hosts[r.name] == k.peer {
				continue
			}
			l.dots = append(l.dots, dot{k.title, k.colour, 1 / ratio})
		}
		if len(l.dots) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// picture draws each peer's time for each item, in times of ours, on a logarithmic
// scale: what is right of the line takes longer than this package.
func (m measurements) picture(day time.Time) string {
	lines := m.lines()
	low, high := 0.1, 10.0
	for _, l := range lines {
		for _, d := range l.dots {
			low, high = min(low, d.ratio), max(high, d.ratio)
		}
	}
	d := &drawing{
		first: math.Floor(math.Log10(low)), last: math.Ceil(math.Log10(high)),
		width: labels + plot + times, bottom: top + lineSpace*len(lines),
	}
	d.head(day)
	d.scale()
	for i, l := range lines {
		d.line(top+lineSpace*i+lineSpace/2, l)
	}
	d.WriteString("</svg>\n")
	return d.String()
}

// drawing is the text of the picture.
type drawing struct {
	strings.Builder
	first, last   float64 // the ends of the scale, as powers of ten
	width, bottom int
}

// x is the place of a ratio.
func (d *drawing) x(ratio float64) float64 {
	return labels + plot*(math.Log10(ratio)-d.first)/(d.last-d.first)
}

func (d *drawing) text(x float64, y int, anchor, style, s string) {
	fmt.Fprintf(d, `<text x="%.0f" y="%d" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, style, html.EscapeString(s))
}

// head draws the title and the legend.
func (d *drawing) head(day time.Time) {
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", d.width, d.bottom+30)
	fmt.Fprintf(d, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", d.width, d.bottom+30)
	d.text(12, 24, "start", ` font-size="15" font-weight="bold"`, "Time of each peer, in times of tvmffi ("+day.Format(time.DateOnly)+")")
	at := 12.0
	for _, k := range marks {
		fmt.Fprintf(d, `<circle cx="%.0f" cy="44" r="5" fill="%s"/>`+"\n", at+5, k.colour)
		d.text(at+15, 48, "start", "", k.title)
		at += 75
	}
}

// scale draws a vertical line for each power of ten.
func (d *drawing) scale() {
	d.text(d.x(1)-6, top-8, "end", ` fill="#666666"`, "faster")
	d.text(d.x(1)+6, top-8, "start", ` fill="#666666"`, "slower than tvmffi")
	d.text(float64(d.width-12), top-8, "end", ` fill="#666666"`, "tvmffi")
	for e := d.first; e <= d.last; e++ {
		stroke := ` stroke="#dddddd"`
		if e == 0 {
			stroke = ` stroke="#009e73" stroke-width="3"`
		}
		at := d.x(math.Pow(10, e))
		fmt.Fprintf(d, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"%s/>`+"\n", at, top, at, d.bottom, stroke)
		d.text(at, d.bottom+18, "middle", ` fill="#666666"`, fmt.Sprintf("%gx", math.Pow(10, e)))
	}
}

// line draws an item: its name, the dots of the peers and our time.
func (d *drawing) line(y int, l line) {
	d.text(labels-12, y+4, "end", "", l.title)
	d.text(float64(d.width-12), y+4, "end", "", l.time)
	for _, k := range slices.Backward(l.dots) {
		fmt.Fprintf(d, `<circle cx="%.1f" cy="%d" r="5" fill="%s" fill-opacity="0.85"><title>%s: %sx</title></circle>`+"\n",
			d.x(k.ratio), y, k.colour, html.EscapeString(k.title), number(k.ratio))
	}
}
