// Command mutate makes small mistakes in the code of a package, one at a time, and looks
// whether a test of the package or of one that uses it fails.
//
//	mutate -root DIR [-n 30] [-seed 1] [-results FILE] [-equivalent FILE] [PACKAGE...]
//
// The packages and their tests are in a table, targets.go. A change is a condition that is
// negated or never holds, another operator, another constant, or a call, a defer, an
// assignment or an error that is left out. Changes that do not compile do not count. FILE
// of -results takes a line for each judged change; another run with it goes on where the
// last one ended. The changes in the file of -equivalent make no difference that a test
// could see, for the reason that is given there.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	root, results, equivalent, work string
	n                               int
	seed                            uint64
	again, list                     bool
	least                           float64
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the root of the module")
	flag.StringVar(&o.results, "results", "", "the file of what is known; without it nothing is kept")
	flag.StringVar(&o.equivalent, "equivalent", "", "the file of changes that make no difference")
	flag.StringVar(&o.work, "work", "", "the folder of the build cache; without it one is made and removed")
	flag.IntVar(&o.n, "n", 30, "how many changes are judged for each package")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses the places")
	flag.BoolVar(&o.again, "again", false, "judge only those that survived, by the file of -results")
	flag.BoolVar(&o.list, "list", false, "list all changes and judge none")
	flag.Float64Var(&o.least, "least", 90, "fail if less than so many percent are caught")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// result is a line of the file of -results. The last line about a mutant counts.
type result struct {
	Package, ID, Place, Outcome, By string
}

func run(ctx context.Context, o options, dirs []string) (err error) {
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	reasons, err := readReasons(o.equivalent)
	if err != nil {
		return err
	}
	known, err := readResults(o.results)
	if err != nil {
		return err
	}
	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "mutate-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.work)
	}
	if o.work, err = filepath.Abs(o.work); err != nil {
		return err
	}
	r := &runner{options: o, judge: judge{root: o.root, work: o.work, cache: filepath.Join(o.work, "cache"), took: map[string]time.Duration{}}, known: known, reasons: reasons}
	if err := r.judge.lock(); err != nil {
		return err
	}
	for _, d := range dirs {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.dir == d }) {
			return fmt.Errorf("no target is called %q; targets.go has the table", d)
		}
	}
	for _, t := range targets {
		if len(dirs) > 0 && !slices.Contains(dirs, t.dir) {
			continue
		}
		if err := r.target(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.dir, err)
		}
	}
	if o.list {
		return nil
	}
	return report(os.Stdout, r.counts, o.least)
}

// runner judges the mutants of one package after the other.
type runner struct {
	options
	judge   judge
	known   map[string]result
	reasons map[string]string
	counts  []count
}

func (r *runner) target(ctx context.Context, t target) error {
	all, err := r.mutants(ctx, t)
	if err != nil {
		return err
	}
	if r.list {
		for _, m := range all {
			fmt.Printf("%s:%d: %s\n", m.File, m.Line, m.ID())
		}
		return nil
	}
	c := count{dir: t.dir}
	for _, m := range inOrder(t.dir, r.seed, all) {
		if c.judged() == r.n {
			break
		}
		id := m.ID()
		if r.reasons[id] != "" {
			c.equivalent++
			continue
		}
		res, ok := r.known[id]
		if r.again && (!ok || res.Outcome != survived) {
			if ok {
				c.add(res)
			}
			continue
		}
		if !ok || r.again {
			res = result{Package: t.dir, ID: id, Place: fmt.Sprintf("%s:%d", m.File, m.Line)}
			if res.Outcome, res.By, err = r.judge.try(ctx, m, t.tests); err != nil {
				return err
			}
			if err := r.keep(res); err != nil {
				return err
			}
			fmt.Printf("%s  %s  %s  [%s]\n", res.Outcome, res.Place, strings.TrimPrefix(id, m.File+" "), res.By)
		}
		c.add(res)
	}
	r.counts = append(r.counts, c)
	return nil
}

// keep appends a result to the file.
func (r *runner) keep(res result) error {
	if r.results == "" {
		return nil
	}
	f, err := os.OpenFile(r.results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(res), f.Close())
}

// mutants returns what the skipped kinds leave of the mutants of a package, in the files
// that this platform builds.
func (r *runner) mutants(ctx context.Context, t target) ([]*mutant, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", `{{range .GoFiles}}{{.}} {{end}}`, "./"+t.dir)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, name := range strings.Fields(string(out)) {
		file := t.dir + "/" + name
		src, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		found, err := mutantsOf(file, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(m *mutant) bool { return slices.Contains(t.skip, m.Kind) }), nil
}

func readResults(file string) (map[string]result, error) {
	known := map[string]result{}
	text, err := os.ReadFile(file)
	if file == "" || errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		known[r.ID] = r
	}
	return known, nil
}

// readReasons reads the file of -equivalent: a line with the ID of a change, and indented
// lines with the reason. Lines that begin with # are for readers.
func readReasons(file string) (map[string]string, error) {
	reasons := map[string]string{}
	if file == "" {
		return reasons, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	id := ""
	for i, line := range strings.Split(string(text), "\n") {
		switch reason, indented := strings.CutPrefix(line, "\t"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			if id != "" && reasons[id] == "" {
				return nil, fmt.Errorf("%s:%d: %s has no reason", file, i+1, id)
			}
			id = line
		case id == "":
			return nil, fmt.Errorf("%s:%d: a reason without a change", file, i+1)
		default:
			reasons[id] = strings.TrimSpace(reasons[id] + " " + reason)
		}
	}
	if id != "" && reasons[id] == "" {
		return nil, fmt.Errorf("%s: %s has no reason", file, id)
	}
	return reasons, nil
}
