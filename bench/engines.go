package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// engineRows are the rows of the engines, which need whole libraries and so are not among items.
var engineRows = []row{
	{"xg_compile", "XGrammar: JSON schema compiled + released"},
	{"xg_accept", "XGrammar: accept of %d tokens, then reset"},
	{"xg_mask", "XGrammar: masks for %d tokens"},
	{"xg_step", "XGrammar: mask and accept of %d tokens, then reset"},
	{"xg_batch", "XGrammar: mask and accept of %d tokens in 16 texts, then reset"},
	{"vm_int", "Relax VM: int -> int"},
	{"vm_tensor", "Relax VM: tensor -> tensor, with a check of its shape"},
	{"rpc_int", "RPC: int -> int"},
	{"rpc_bytes", "RPC: echo of 1 MB of bytes"},
	{"rpc_tensor", "RPC: tensor of 1 MB written and read"},
	{"disco_int", "Disco: call with an int on 3 workers"},
	{"disco_bytes", "Disco: call with 1 MB of bytes on 3 workers"},
	{"disco_tensor", "Disco: broadcast of a tensor of 1 MB to 3 workers"},
}

// engineGoal is a target of the engines.
type engineGoal struct {
	goal
	// overhead says that the time of the C API is subtracted on both sides.
	overhead bool
}

var engineGoals = []engineGoal{
	{goal: goal{"xg_compile", "cpp", "xg_compile", 1.05}},
	{goal: goal{"xg_accept", "cpp", "xg_accept", 1.05}},
	{goal: goal{"xg_mask", "cpp", "xg_mask", 1.05}},
	{goal: goal{"xg_accept", "python", "xg_accept", 0.5}},
	{goal: goal{"xg_mask", "python", "xg_mask", 0.5}},
	{goal: goal{"xg_batch", "python", "xg_batch", 1.05}}, // the C API takes 0.92 times as long as Python
	{goal{"vm_int", "python", "vm_int", 1.0 / 3}, true},
	{goal{"vm_tensor", "python", "vm_tensor", 1.0 / 3}, true},
	{goal: goal{"vm_tensor", "python", "vm_named", 1.0 / 3}}, // programs in Python write vm["main"](x)
	{goal: goal{"rpc_int", "python", "rpc_int", 1.1}},
	{goal: goal{"rpc_bytes", "python", "rpc_bytes", 1.1}},
	{goal: goal{"rpc_tensor", "python", "rpc_tensor", 1.1}},
	{goal: goal{"disco_int", "python", "disco_int", 1.1}},
	{goal: goal{"disco_bytes", "python", "disco_bytes", 1.1}},
	{goal: goal{"disco_tensor", "python", "disco_bytes", 1.1}},
}

// engines measures the engines and writes the results, unless only some rows are asked for. The
// error lists the missed targets.
func (t *tree) engines(ctx context.Context, o options) error {
	f, err := t.engineFiles(ctx)
	if err != nil {
		return err
	}
	rows, err := chosenEngines(o.only, f.tokens)
	if err != nil {
		return err
	}
	all, err := t.engineTeam(ctx, f)
	if err != nil {
		return err
	}
	defer all.stop()
	started := time.Now()
	m := measurements{}
	if err := all.measure(ctx, m, rows, o.runs); err != nil {
		return err
	}
	verdicts, missed := m.engineVerdicts(rows)
	report := fmt.Sprintf("# Engines: benchmark of %s\n\n%s\n%s\n## Targets\n\n%s", started.Format(time.DateOnly), t.engineHeader(ctx, f, o.runs), m.engineTable(rows), verdicts)
	fmt.Print(report)
	if o.only == "" && o.results {
		err = t.writeResults(map[string]string{"engines-" + started.Format(time.DateOnly) + ".md": report})
	}
	if len(missed) > 0 {
		err = errors.Join(err, errors.New("missed: "+strings.Join(missed, "; ")))
	}
	return err
}

// chosenEngines returns the rows with the given names, and all if there are none.
func chosenEngines(only string, tokens int) (rows []row, err error) {
	names := strings.Split(only, ",")
	for _, name := range names {
		if only != "" && !slices.ContainsFunc(engineRows, func(r row) bool { return r.name == name }) {
			return nil, fmt.Errorf("no row of the engines is called %q", name)
		}
	}
	for _, r := range engineRows {
		if only == "" || slices.Contains(names, r.name) {
			r.title = strings.ReplaceAll(r.title, "%d", fmt.Sprint(tokens))
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// engineHeader returns what was measured, and on which machine.
func (t *tree) engineHeader(ctx context.Context, f engineFiles, runs int) string {
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "g++"
	}
	var whole []string
	for _, p := range packages {
		if name, version, ok := strings.Cut(p, "=="); ok {
			whole = append(whole, name+" "+version)
		}
	}
	return fmt.Sprintf("%s, %d CPUs, %s/%s; load %s.\n%s; %s; %s; %s.\n", cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load(),
		strings.Join(whole, ", "), runtime.Version(), version(ctx, compiler, "--version"), version(ctx, f.python, "--version")) +
		fmt.Sprintf("Command: `bench/run -engines -runs %d`. Medians of %d interleaved runs of 5 batches of 2 ms, or of one operation that takes longer;\n", runs, runs) +
		"ns unless a unit is given; in brackets the ratio to the C API; `a` are Go allocations. Targets: medians of the ratios of the undisturbed runs,\n" +
		"with the least and the greatest ratio of a run. Overhead is the time beyond that of the same call by the C API.\n" +
		"Commit " + version(ctx, "git", "describe", "--always", "--dirty") + ".\n"
}

// engineTable is the table of the engines.
func (m measurements) engineTable(rows []row) string {
	var b strings.Builder
	b.WriteString("| | C API | **tvmffi** | Python |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.title)
		base := 0.0
		if s := m[key{r.name, "cpp", r.name}]; s != nil {
			base = median(s.ns)
		}
		for _, peer := range []string{"cpp", "ours", "python"} {
			fmt.Fprintf(&b, " %s |", m.cell(key{r.name, peer, r.name}, base, peer != "cpp"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// engineRatios returns the ratio of each undisturbed run, or of each run if all were disturbed.
func (m measurements) engineRatios(g engineGoal) (all []float64) {
	own, other, base := m[ours(g.item)], m[key{g.item, g.peer, g.peerItem}], m[key{g.item, "cpp", g.item}]
	if own == nil || other == nil || g.overhead && base == nil {
		return nil
	}
	var quiet []float64
	for run, ns := range own.ns {
		ratio := ns / other.ns[run]
		undisturbed := own.quiet[run] && other.quiet[run]
		if g.overhead {
			ratio = (ns - base.ns[run]) / (other.ns[run] - base.ns[run])
			undisturbed = undisturbed && base.quiet[run]
		}
		all = append(all, ratio)
		if undisturbed {
			quiet = append(quiet, ratio)
		}
	}
	if quiet != nil {
		return quiet
	}
	return all
}

// what names what a target compares with.
func (g engineGoal) what() string {
	what := "times " + titles[g.peer]
	switch {
	case g.peer == "cpp":
		what = "times the C API"
	case g.overhead:
		what = "overhead, times that of " + titles[g.peer]
	case g.peerItem == "vm_named":
		what += ", by name"
	case g.peerItem == "disco_bytes" && g.item != g.peerItem:
		what += " with bytes" // it cannot broadcast a tensor between CPUs
	}
	return what
}

// engineVerdicts is the table of the targets, and what was missed.
func (m measurements) engineVerdicts(rows []row) (table string, missed []string) {
	var b strings.Builder
	b.WriteString("| item | target | at most | measured | least | greatest | |\n|---|---|---|---|---|---|---|\n")
	for _, g := range engineGoals {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == g.item })
		all := m.engineRatios(g)
		if i < 0 || all == nil {
			continue
		}
		ratio := median(all)
		fmt.Fprintf(&b, "| %s | %s | %.3g | %.3f | %.3f | %.3f | %s |\n", rows[i].title, g.what(), g.most, ratio, slices.Min(all), slices.Max(all), met(ratio <= g.most))
		if ratio > g.most {
			missed = append(missed, fmt.Sprintf("%s, %.3f %s, at most %.3g", rows[i].title, ratio, g.what(), g.most))
		}
	}
	return b.String(), missed
}
