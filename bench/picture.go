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

// picture draws each peer's time for each item, in times of ours, on a logarithmic
// scale: what is right of the line takes longer than this package.
func (m measurements) picture(day time.Time) string {
	type dot struct {
		title, colour string
		ratio         float64
	}
	type line struct {
		row  row
		time string
		dots []dot
	}
	var lines []line
	low, high := 0.1, 10.0
	for _, r := range items {
		own := m[ours(r.name)]
		if own == nil {
			continue
		}
		l := line{row: r, time: duration(median(own.ns))}
		if !strings.HasSuffix(l.time, "s") {
			l.time += " ns"
		}
		for _, k := range marks {
			ratio, ok := m.ratio(r.name, k.peer, r.name)
			if !ok || ratio <= 0 || hosts[r.name] == k.peer {
				continue
			}
			d := dot{k.title, k.colour, 1 / ratio}
			l.dots = append(l.dots, d)
			low, high = min(low, d.ratio), max(high, d.ratio)
		}
		if len(l.dots) > 0 {
			lines = append(lines, l)
		}
	}
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	x := func(ratio float64) float64 { return labels + plot*(math.Log10(ratio)-first)/(last-first) }
	width, bottom := labels+plot+times, top+lineSpace*len(lines)

	var b strings.Builder
	text := func(x float64, y int, anchor, style, s string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, style, html.EscapeString(s))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, bottom+30)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, bottom+30)
	text(12, 24, "start", ` font-size="15" font-weight="bold"`, "Time of each peer, in times of tvmffi ("+day.Format(time.DateOnly)+")")
	at := 12.0
	for _, k := range marks {
		fmt.Fprintf(&b, `<circle cx="%.0f" cy="44" r="5" fill="%s"/>`+"\n", at+5, k.colour)
		text(at+15, 48, "start", "", k.title)
		at += 75
	}
	text(x(1)-6, top-8, "end", ` fill="#666666"`, "faster")
	text(x(1)+6, top-8, "start", ` fill="#666666"`, "slower than tvmffi")
	text(float64(width-12), top-8, "end", ` fill="#666666"`, "tvmffi")
	for e := first; e <= last; e++ {
		stroke := ` stroke="#dddddd"`
		if e == 0 {
			stroke = ` stroke="#009e73" stroke-width="3"`
		}
		at := x(math.Pow(10, e))
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"%s/>`+"\n", at, top, at, bottom, stroke)
		text(at, bottom+18, "middle", ` fill="#666666"`, fmt.Sprintf("%gx", math.Pow(10, e)))
	}
	for i, l := range lines {
		y := top + lineSpace*i + lineSpace/2
		text(labels-12, y+4, "end", "", l.row.title)
		text(float64(width-12), y+4, "end", "", l.time)
		for _, d := range slices.Backward(l.dots) {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="5" fill="%s" fill-opacity="0.85"><title>%s: %sx</title></circle>`+"\n",
				x(d.ratio), y, d.colour, html.EscapeString(d.title), number(d.ratio))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
