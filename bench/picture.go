package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// marks are the peers in the picture, in colours that most people tell apart.
var marks = []struct{ peer, title, colour string }{
	{"cpp", "C++", "#000000"},
	{"rust", "Rust", "#d55e00"},
	{"cgo", "expert cgo", "#cc79a7"},
	{"cgo", "cgo", "#0072b2"},
	{"purego", "purego", "#56b4e9"},
	{"python", "Python", "#e69f00"},
}

// Sizes of the picture, in its units.
const (
	labels    = 300 // the width of the names of the items
	plot      = 520
	times     = 90 // the width of the column of our times
	width     = labels + plot + times
	lineSpace = 22
	top       = 70
)

// dot is the time of a peer, relative to ours.
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

// picture returns the picture of these results.
func picture(report string) (string, error) {
	r, err := record(report)
	if err != nil {
		return "", err
	}
	return r.speed(), nil
}

// lines returns the items that we and at least one peer have measured.
func (r recorded) lines() []line {
	var lines []line
	for _, row := range r.rows {
		if l := row.line(); len(l.dots) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// line compares the peers with us.
func (r recordedRow) line() line {
	own, ok := r.cells["tvmffi"]
	l := line{title: r.title, time: own.text}
	name := ""
	if i := slices.IndexFunc(items, func(it row) bool { return it.title == r.title }); i >= 0 {
		name = items[i].name
	}
	if !ok || own.ns <= 0 || name == "floor" {
		return l
	}
	for _, k := range marks {
		if peer, ok := r.cells[k.title]; ok && hosts[name] != k.peer {
			l.dots = append(l.dots, dot{k.title, k.colour, peer.ns / own.ns})
		}
	}
	return l
}

// speed draws the time of each peer for each item, relative to ours, on a logarithmic
// scale: what is right of the line takes longer than this package.
func (r recorded) speed() string {
	lines := r.lines()
	d := newDrawing(lines)
	d.head(r)
	d.legend()
	d.scale()
	for i, l := range lines {
		d.line(top+lineSpace*i+lineSpace/2, l)
	}
	d.WriteString("</svg>\n")
	return d.String()
}

// drawing is the text of a picture.
type drawing struct {
	strings.Builder
	first, last float64 // the ends of the scale, as powers of ten
	bottom      int
}

// newDrawing returns a drawing whose scale has these lines.
func newDrawing(lines []line) *drawing {
	low, high := 0.1, 10.0
	for _, l := range lines {
		for _, d := range l.dots {
			low, high = min(low, d.ratio), max(high, d.ratio)
		}
	}
	return &drawing{first: math.Floor(math.Log10(low)), last: math.Ceil(math.Log10(high)), bottom: top + lineSpace*len(lines)}
}

// x is the place of a ratio.
func (d *drawing) x(ratio float64) float64 {
	return labels + plot*(math.Log10(ratio)-d.first)/(d.last-d.first)
}

func (d *drawing) text(x float64, y int, anchor, style, s string) {
	fmt.Fprintf(d, `<text x="%.0f" y="%d" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, style, html.EscapeString(s))
}

// head begins the picture, on a ground of its own, which dark pages need. It says what the
// picture shows, on which machine and when.
func (d *drawing) head(r recorded) {
	const title = "Time relative to tvmffi; right is slower"
	height := d.bottom + 50
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(d, "<title>%s</title>\n", title)
	fmt.Fprintf(d, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="6" fill="#ffffff" stroke="#d0d7de"/>`+"\n", width-1, height-1)
	d.text(12, 24, "start", ` font-size="15" font-weight="bold"`, title)
	d.text(12, height-10, "start", grey, r.machine+", "+r.day+"; medians, logarithmic scale")
}

// grey is the style of what is not data. Its contrast to white is 7.0.
const grey = ` fill="#595959"`

// legend names the colours of the dots.
func (d *drawing) legend() {
	at := 12.0
	for _, k := range marks {
		fmt.Fprintf(d, `<circle cx="%.0f" cy="44" r="5" fill="%s"/>`+"\n", at+5, k.colour)
		d.text(at+15, 48, "start", "", k.title)
		at += 30 + 7*float64(len(k.title))
	}
	d.text(float64(width-12), top-8, "end", grey, "tvmffi")
}

// scale draws a vertical line for each power of ten.
func (d *drawing) scale() {
	d.text(d.x(1)-6, top-8, "end", grey, "faster")
	d.text(d.x(1)+6, top-8, "start", grey, "slower than tvmffi")
	for e := d.first; e <= d.last; e++ {
		stroke := ` stroke="#dddddd"`
		if e == 0 {
			stroke = ` stroke="#009e73" stroke-width="3"`
		}
		at := d.x(math.Pow(10, e))
		fmt.Fprintf(d, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"%s/>`+"\n", at, top, at, d.bottom, stroke)
		d.text(at, d.bottom+18, "middle", grey, fmt.Sprintf("%gx", math.Pow(10, e)))
	}
}

// line draws an item: its name, the dots of the peers and our time.
func (d *drawing) line(y int, l line) {
	d.text(labels-12, y+4, "end", "", l.title)
	d.text(float64(width-12), y+4, "end", "", l.time)
	for _, k := range slices.Backward(l.dots) {
		fmt.Fprintf(d, `<circle cx="%.1f" cy="%d" r="5" fill="%s" fill-opacity="0.85"><title>%s: %sx</title></circle>`+"\n",
			d.x(k.ratio), y, k.colour, html.EscapeString(k.title), number(k.ratio))
	}
}
