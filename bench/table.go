package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

var titles = map[string]string{
	"cpp": "C++", "ours": "**tvmffi**", "light": "tvmffi, light calls", "cgo": "cgo", "purego": "purego", "python": "Python", "rust": "Rust", "cupy": "CuPy",
	"cpp.c": "C API", "cgo.expert": "expert cgo", "purego.register": "purego RegisterFunc",
}

// table is the result as Markdown: medians, the ratio to C++, and allocations.
func (m measurements) table(rows []row, all *team) string {
	var b strings.Builder
	b.WriteString(all.header())
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.title)
		base := 0.0
		if s := m[key{r.name, "cpp", r.name}]; s != nil {
			base = median(s.ns)
		}
		for _, p := range all.peers {
			for _, variant := range p.columns() {
				k := cellOf(r, p, variant)
				b.WriteString(" " + m.cell(k, base, k.peer != "cpp" || variant != "") + " |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// header is the head of a table with all columns.
func (all *team) header() string {
	names, rule := "| |", "|---|"
	for _, p := range all.peers {
		for _, variant := range p.columns() {
			names += " " + titles[p.name+variant] + " |"
			rule += "---|"
		}
	}
	return names + "\n" + rule + "\n"
}

// cellOf is the figure of a row in a column.
func cellOf(r row, p *peer, variant string) key {
	k := key{r.name, p.name, r.name + variant}
	if p.name == "ours" {
		k = ours(r.name)
	}
	if r.name == "floor" { // a program of its own measures it, without cgo as ours
		switch p.name {
		case "ours":
			k.peer = "purego"
		case "purego":
			k.peer = ""
		}
	}
	return k
}

// columns are the ends of the names of the items in the columns of a peer.
func (p *peer) columns() []string {
	if v, ok := variants[p.name]; ok {
		return []string{"", v}
	}
	return []string{""}
}

func (m measurements) cell(k key, base float64, ratio bool) string {
	s := m[k]
	if s == nil {
		return ""
	}
	ns := median(s.ns)
	text := duration(ns)
	if ratio && base >= 1 { // anything faster is a load, for which a ratio means nothing
		text += " (" + number(ns/base) + "x)"
	}
	switch n := median(s.allocs); {
	case k.peer == "cpp" || k.peer == "python" || k.peer == "rust" || k.peer == "cupy":
	case n < 0.05:
		text += " 0a"
	case n < 1000:
		text += fmt.Sprintf(" %.0fa", n)
	default:
		text += fmt.Sprintf(" %.0fka", n/1000)
	}
	return text
}

func duration(ns float64) string {
	switch {
	case ns >= 1e6:
		return number(ns/1e6) + " ms"
	case ns >= 1e4:
		return number(ns/1e3) + " us"
	}
	return number(ns)
}

// number writes about three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// verdict is a target of an item and what became of it.
type verdict struct {
	item, what string
	got, most  float64
	allocation bool
	// remark is what may explain a missed target on this machine.
	remark string
}

func (v verdict) met() bool { return v.got <= v.most || v.allocation && v.got < v.most+0.05 }

// beyond reports whether allocations are more than their target, or a ratio is more than
// times its target.
func (v verdict) beyond(times float64) bool {
	return !v.met() && (v.allocation || v.got > v.most*times)
}

// judge compares with the targets.
func (m measurements) judge() []verdict {
	var all []verdict
	for _, g := range goals {
		got, ok := m.ratio(g.item, g.peer, g.peerItem)
		if !ok {
			continue
		}
		v := verdict{item: g.item, what: "times " + g.reference(), got: got, most: g.most}
		if s := m.scaling(); slices.Contains(twoCores, g.item) && s < 1/g.most {
			v.remark = fmt.Sprintf("; C++ is %.2f times as fast on two threads", s)
		}
		all = append(all, v)
	}
	for _, r := range items {
		worst := verdict{item: r.name, most: 1}
		for _, rival := range rivals {
			if got, ok := m.ratio(r.name, rival, r.name); ok && got > worst.got && r.name != "floor" && hosts[r.name] != rival {
				worst.got, worst.what = got, "times the fastest rival, "+titles[rival]
			}
		}
		if worst.got > 0 {
			all = append(all, worst)
		}
	}
	for _, r := range items {
		if most, ok := allocations[r.name]; ok {
			if s := m[key{r.name, "ours", r.name}]; s != nil {
				all = append(all, verdict{item: r.name, what: "allocations", got: median(s.allocs), most: most, allocation: true})
			}
		}
	}
	return all
}

// reference names what a target compares with.
func (g goal) reference() string {
	r, _ := itemOf(g.peerItem)
	switch {
	case g.peerItem == "floor":
		return "the empty crossing"
	case strings.HasSuffix(g.peerItem, ".c"):
		return "the C getter"
	case g.peer == "ours":
		return r.title
	case hosts[g.item] != "":
		return "C++"
	}
	_, variant, _ := strings.Cut(g.peerItem, ".")
	return cmp.Or(titles[g.peer+"."+variant], titles[g.peer])
}

func judgements(all []verdict) string {
	var b strings.Builder
	b.WriteString("| item | target | at most | measured | |\n|---|---|---|---|---|\n")
	for _, v := range all {
		word := met(v.met())
		if !v.met() {
			word += v.remark
		}
		r, _ := itemOf(v.item)
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f | %s |\n", r.title, v.what, strings.TrimSuffix(fmt.Sprintf("%.2f", v.most), ".00"), v.got, word)
	}
	return b.String()
}

// met is the word for a target that is met, or not.
func met(yes bool) string {
	if yes {
		return "met"
	}
	return "**missed**"
}

// failures are the rows with a verdict that is beyond its target by that factor.
func failures(all []verdict, times float64) []row {
	var rows []row
	for _, r := range items {
		if slices.ContainsFunc(all, func(v verdict) bool { return v.item == r.name && v.beyond(times) }) {
			rows = append(rows, r)
		}
	}
	return rows
}

// titlesOf joins the titles of rows.
func titlesOf(rows []row) string {
	var names []string
	for _, r := range rows {
		names = append(names, r.title)
	}
	return strings.Join(names, "; ")
}

// describe returns what was measured, and on which machine.
func (t *tree) describe(ctx context.Context, runs int, all *team) string {
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "g++"
	}
	lines := []string{
		fmt.Sprintf("%s, %d CPUs, %s/%s; load %s.", cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load()),
		fmt.Sprintf("apache-tvm-ffi %s; %s; %s; %s; %s.", wheel.DefaultVersion, strings.TrimPrefix(runtime.Version(), "go version "),
			version(ctx, compiler, "--version"), version(ctx, t.python, "--version"), version(ctx, "rustc", "--version")),
		fmt.Sprintf("Command: `bench/run -runs %d`. Medians of %d interleaved runs of 5 batches of 2 ms; ns unless a unit is given;", runs, runs),
		"in brackets the ratio to C++; `a` are Go allocations. Targets: medians of the ratios of the undisturbed runs.",
	}
	lines = append(lines, "Commit "+version(ctx, "git", "describe", "--always", "--dirty")+".")
	for _, missing := range all.missing {
		lines = append(lines, "No column for "+missing+".")
	}
	return strings.Join(lines, "\n") + "\n"
}

// version is the first line that a program prints about itself.
func version(ctx context.Context, args ...string) string {
	out, err := command(ctx, "", nil, args...)
	if err != nil {
		return args[0] + ": none"
	}
	return firstLine(out)
}

// load is the load of the machine in the last minute, as Linux reports it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpu is the model of the processor, as Linux reports it.
func cpu() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if name, value, ok := strings.Cut(in.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
