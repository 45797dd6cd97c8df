package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	runs     int
	only     string
	check    bool
	times    float64
	results  bool
	draw     bool
	library  string
	gen      bool
	engines  bool
	scale    bool
	growth   bool
	count    bool
	consumer bool
	profile  string
	launch   bool
	pack     string
	serve    time.Duration
	model    string
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 9, "measure each item so many times with each peer, in turn")
	flag.StringVar(&o.only, "only", "", "only the items with these names, separated by commas; writes no results")
	flag.BoolVar(&o.check, "check", false, "judge all targets by a few runs, and fail if one is missed; for a quiet machine")
	flag.Float64Var(&o.times, "times", 1, "with -check, fail only for a ratio that is more than this many times its target, and for any allocation beyond its target; with more than 1, never for a number of ns")
	flag.BoolVar(&o.results, "results", true, "write the table to bench/results")
	flag.BoolVar(&o.draw, "draw", false, "draw the picture of the latest results in bench/results again and do nothing else")
	flag.StringVar(&o.library, "library", "", "build the measured library to this file and do nothing else")
	flag.BoolVar(&o.gen, "gen", false, "measure the generator instead; fails if a target is missed")
	flag.BoolVar(&o.engines, "engines", false, "measure XGrammar, the Relax VM, RPC and Disco instead; fails if a target is missed")
	flag.BoolVar(&o.scale, "scale", false, "measure calls, callbacks, containers and releases by 1 to 8 goroutines instead, and the bytes of a value")
	flag.BoolVar(&o.growth, "growth", false, "measure the generator against the number of functions of a library instead; fails if the curve is not linear")
	flag.BoolVar(&o.count, "count", false, "count the instructions of an operation instead, for every row and peer")
	flag.BoolVar(&o.consumer, "consumer", false, "measure what users pay before their first result instead: builds, sizes, starts and memory")
	flag.StringVar(&o.profile, "profile", "", "with -count, list the instructions of a peer, such as ours, or of its item, such as ours.int, by function")
	flag.BoolVar(&o.launch, "launch", false, "measure the launches of kernels instead, which needs a CUDA driver; fails if a target is missed")
	flag.StringVar(&o.pack, "pack", "", "make a folder with tests for a machine with a GPU and do nothing else; bench/gpu -pack does this")
	flag.DurationVar(&o.serve, "serve", 0, "measure the servers of chat completions instead, with 1, 8 and 32 clients for so long each, such as 60s")
	flag.StringVar(&o.model, "model", "", "with -serve, `folders` that examples/llm_server/model/compile.py has written, as in PATH; only the toy without it")
	flag.Parse()
	if !o.judged() {
		fmt.Fprintln(os.Stderr, "bench: -times needs -check and a number of 1 or more")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// judged reports whether -times fits to -check.
func (o options) judged() bool { return o.times == 1 || o.times > 1 && o.check }

func run(ctx context.Context, o options) error {
	if o.launch {
		report, err := launches(ctx, o.runs)
		fmt.Print(report)
		return err
	}
	t, err := newTree(ctx)
	if err != nil {
		return err
	}
	switch {
	case o.library != "":
		return t.copyLibrary(ctx, o.library)
	case o.draw:
		return t.draw()
	case o.check:
		return check(ctx, t, o.times)
	case o.gen:
		return t.generatorOnly(ctx, o.runs)
	case o.engines:
		return t.engines(ctx, o)
	case o.scale:
		return t.scale(ctx)
	case o.growth:
		return t.growth(ctx)
	case o.count:
		return t.count(ctx, o.only, o.profile)
	case o.serve > 0:
		return t.serve(ctx, o)
	case o.consumer:
		return t.consumer(ctx, o)
	case o.pack != "":
		return t.pack(ctx, o.pack)
	}
	return t.full(ctx, o)
}

func (t *tree) copyLibrary(ctx context.Context, to string) error {
	from, err := t.library(ctx)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// scale prints what several goroutines do at once, with ordinary and with light calls.
func (t *tree) scale(ctx context.Context) error {
	library, err := t.library(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"ours", "light"} {
		program, err := t.build(ctx, name)
		if err != nil {
			return err
		}
		text, err := command(ctx, "", nil, append(program, t.wheel.Library(), library, "scale")...)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", name, text)
	}
	return nil
}

// full measures everything and writes the results.
func (t *tree) full(ctx context.Context, o options) error {
	all, err := t.start(ctx, peerNames...)
	if err != nil {
		return err
	}
	defer all.stop()
	chosen, err := chosenItems(o.only)
	if err != nil {
		return err
	}
	chosen, skipped := measurable(chosen)
	started := time.Now()
	m := measurements{}
	if err := all.measure(ctx, m, chosen, o.runs); err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# Benchmark of %s\n\n%s\n", started.Format(time.DateOnly), t.describe(ctx, o.runs, all))
	out.WriteString(m.table(chosen, all))
	if skipped != "" {
		out.WriteString("\n" + skipped + "\n")
	}
	out.WriteString("\n## Targets\n\n" + judgements(m.judge()))
	if o.only == "" {
		all.stop()
		text, err := t.withoutPeers(ctx, o.runs)
		if err != nil {
			return err
		}
		out.WriteString(text)
	}
	fmt.Print(out.String())
	if o.only != "" || !o.results {
		return nil
	}
	image, err := picture(out.String())
	if err != nil {
		return err
	}
	return t.writeResults(map[string]string{started.Format(time.DateOnly) + ".md": out.String(), "speed.svg": image})
}

// chosenItems returns the items with the given names, and all if there are none.
func chosenItems(only string) ([]row, error) {
	if only == "" {
		return items, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(only, ",") {
		it, ok := itemOf(name)
		if !ok {
			return nil, fmt.Errorf("no item is called %q", name)
		}
		chosen = append(chosen, it)
	}
	return chosen, nil
}

// withoutPeers measures what runs without peers: the generator and the start of programs.
func (t *tree) withoutPeers(ctx context.Context, runs int) (string, error) {
	all, err := t.generator(ctx, libraries, max(runs, 7))
	if err != nil {
		return "", err
	}
	s, err := t.startup(ctx, 21)
	if err != nil {
		return "", err
	}
	return "\n## The generator\n\n" + generationTable(all) + "\n## Importing a generated package\n\n" + s.text(), nil
}

// draw draws the picture of the latest results.
func (t *tree) draw() error {
	report, err := latest(t.results())
	if err != nil {
		return err
	}
	image, err := picture(report)
	if err != nil {
		return err
	}
	return t.writeResults(map[string]string{"speed.svg": image})
}

// latest returns the latest results in a folder.
func latest(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "????-??-??.md"))
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s has no results: run bench/run", dir)
	}
	report, err := os.ReadFile(slices.Max(names))
	return string(report), err
}

// results is the folder for what is measured.
func (t *tree) results() string { return filepath.Join(t.bench, "results") }

// writeResults writes files to bench/results.
func (t *tree) writeResults(files map[string]string) error {
	results := t.results()
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(results, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "written to", results)
	return nil
}

// check judges all targets by a few runs. It fails for a ratio that is more than times
// its target, and for any allocation beyond its target. The rows that fail are measured again, with more runs: another program may have
// had the machine. All their runs count together, so that a good attempt does not hide a
// bad one.
func check(ctx context.Context, t *tree, times float64) error {
	all, err := t.start(ctx, "cpp", "ours", "cgo", "purego", "python")
	if err != nil {
		return err
	}
	defer all.stop()
	m := measurements{}
	rows, skipped := measurable(items)
	if skipped != "" {
		fmt.Println(skipped)
	}
	missed, rounds := rows, []int{7, 14, 28}
	if times > 1 { // such a loss shows in few runs
		rounds = slices.Insert(rounds, 0, 3)
	}
	for _, runs := range rounds {
		if err := all.measure(ctx, m, missed, runs); err != nil {
			return err
		}
		verdicts := m.judge()
		if len(missed) < len(rows) {
			verdicts = slices.DeleteFunc(verdicts, func(v verdict) bool {
				return !slices.ContainsFunc(missed, func(r row) bool { return r.name == v.item })
			})
		}
		fmt.Printf("%d more runs:\n%s\n", runs, judgements(verdicts))
		if missed = failures(verdicts, times); len(missed) == 0 {
			break
		}
	}
	all.stop()
	generations, err := t.generator(ctx, libraries[:1], 7)
	if err != nil {
		return err
	}
	fmt.Print(generationTable(generations))
	if len(missed) > 0 {
		err = fmt.Errorf("an allocation beyond its target, or a ratio more than %g x its target: %s", times, titlesOf(missed))
	}
	if missed := generations[0].missed(times); missed != "" {
		err = errors.Join(err, errors.New(missed))
	}
	line, late, failed := t.over(ctx, times)
	fmt.Print(line)
	if late != "" {
		err = errors.Join(err, errors.New(late))
	}
	return errors.Join(err, failed)
}
