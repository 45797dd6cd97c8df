// Command mutate makes small mistakes in the code of packages, one at a time, and looks whether
// a test of the package or of one that imports it fails.
//
//	mutate -work DIR [-n 30] [-seed 1] [-tags LIST] [-results FILE [-again]] [-equivalent FILE] [-by LIST] [-run REGEXP] PACKAGE...
//
// A PACKAGE is a pattern of go list. The source stays as it is: the compiler reads the changed
// file through an overlay. A change that does not compile does not count. FILE of -results takes
// the outcome of each change, and another run goes on from there. The changes in FILE of
// -equivalent make no difference that a test could see, for the reason given there. With -by and
// -run a few tests judge alone: a change of these tests is good if they catch as much as before.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	work       = flag.String("work", os.TempDir(), "the folder for the build cache and the changed file")
	n          = flag.Int("n", 30, "how many changes are judged for each package")
	seed       = flag.Uint64("seed", 1, "chooses the places")
	tags       = flag.String("tags", "", "build tags besides those that the package needs, such as e2e")
	results    = flag.String("results", os.DevNull, "the file of what is known")
	again      = flag.Bool("again", false, "judge only those that survived, by the file of -results")
	judges     = flag.String("by", "", "the packages whose tests judge, such as ./runtime,./reflection, in place of the package and those that import it")
	only       = flag.String("run", "", "the tests that judge, as in go test")
	equivalent = flag.String("equivalent", os.DevNull, "the file of changes that make no difference")
)

// The module that is judged, and the outcomes of a change.
const module, caught, survived, broken = "github.com/tvmffi-go/tvmffi/", "caught", "survived", "does not compile"

// must returns v, or ends the program if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal("mutate: ", err)
	}
	return v
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// If a change allocates without end, the kernel ends its test and nothing else.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) //nolint:errcheck // only Linux has it
	keep := must(os.OpenFile(*results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	known, reasons := must(readList(*results)), must(readList(*equivalent))
	for _, t := range list(ctx, *tags, flag.Args()...) {
		count, survivors, all := map[string]int{}, "", t.mutants()
		rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		for _, m := range all {
			outcome, by := known[m.ID], ""
			if count[caught]+count[survived] == *n || reasons[m.ID] != "" || *again && outcome == "" {
				continue
			}
			if outcome == "" || *again && outcome == survived {
				outcome, by = t.try(ctx, m)
				fmt.Printf("%s  %s  %s  [%s]\n", outcome, m.Place, m.ID, by)
				must(fmt.Fprintf(keep, "%s\n\t%s\n", m.ID, outcome))
			}
			if count[outcome]++; outcome == survived {
				survivors += "\n" + m.Place + "\n" + m.ID + "\n"
			}
		}
		fmt.Printf("%s: %d caught, %d survived, %d do not compile\n%s", t.ImportPath, count[caught], count[survived], count[broken], survivors)
	}
}

// readList reads a file of -results or -equivalent: a line with the ID of a change, and indented
// lines with its outcome or the reason. The last line counts. Those that begin with # are for readers.
func readList(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	found, id := map[string]string{}, ""
	for line := range strings.SplitSeq(string(text)+"\nend", "\n") {
		switch reason, indented := strings.CutPrefix(line, "\t"); {
		case indented && id != "":
			found[id] = reason
		case line == "" || strings.HasPrefix(line, "#"):
		case indented || id != "" && found[id] == "":
			return nil, fmt.Errorf("%s: %q has no reason, or the reason %q no change", name, id, reason)
		default:
			id = line
		}
	}
	return found, err
}

// needed has the build tags of the packages that have few tests without them.
var needed = map[string]string{
	"tvm/": "tvm", "generated/tvm": "tvm", "examples/tvm_": "tvm", "cuda/spec/check": "cute,tvm", "examples/cute_dsl": "cute", "examples/orcjit": "orcjit",
	"examples/go_library": "checkers", "examples/flashinfer": "flashinfer", "examples/cutlass_gemm": "flashinfer",
}

// pkg is a package as go list describes it.
type pkg struct {
	Dir, ImportPath                                                                        string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles, Imports, TestImports, XTestImports, Deps []string

	// testers are the packages whose tests judge this one.
	testers []*pkg
	// took is how long its tests take without a change; negative if they fail then, 0 before they ran.
	took time.Duration
}

// list runs go list.
func list(ctx context.Context, tags string, patterns ...string) (found []*pkg) {
	out, err := run(ctx, ".", "", "go", append([]string{"list", "-json", "-tags", tags}, patterns...)...)
	if err != nil {
		log.Fatalf("mutate: %s: %s", err, out)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		found = append(found, &pkg{})
		must(0, d.Decode(found[len(found)-1]))
	}
	return found
}

// tags returns the tags for a package.
func (p *pkg) tags() string {
	for prefix, list := range needed {
		if strings.HasPrefix(strings.TrimPrefix(p.ImportPath, module), prefix) {
			return list + "," + *tags
		}
	}
	return *tags
}

// mutants returns the mutants of the files that this platform builds.
func (p *pkg) mutants() (all []*mutant) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		all = append(all, must(mutantsOf(strings.TrimPrefix(p.ImportPath, module)+"/"+name, must(os.ReadFile(filepath.Join(p.Dir, name)))))...)
	}
	return all
}

// findTesters finds the packages with tests for p: p itself, then those that import it, the small
// ones first. If none of them has tests, those count that import it indirectly.
func (p *pkg) findTesters(ctx context.Context) {
	if *judges != "" {
		p.testers = list(ctx, p.tags(), strings.Split(*judges, ",")...)
		return
	}
	var direct, indirect []*pkg
	for _, q := range list(ctx, p.tags(), "./...") {
		switch {
		case q.ImportPath == p.ImportPath || len(q.TestGoFiles)+len(q.XTestGoFiles) == 0:
		case slices.Contains(slices.Concat(q.Imports, q.TestImports, q.XTestImports), p.ImportPath):
			direct = append(direct, q)
		case slices.Contains(q.Deps, p.ImportPath):
			indirect = append(indirect, q)
		}
	}
	if len(direct) == 0 {
		direct = indirect
	}
	slices.SortStableFunc(direct, func(a, b *pkg) int { return len(a.Deps) - len(b.Deps) })
	p.testers = append([]*pkg{p}, direct...)
}

// try returns what the tests say to a mutant, and which of them failed.
func (p *pkg) try(ctx context.Context, m *mutant) (outcome, by string) {
	if p.testers == nil {
		p.findTesters(ctx)
	}
	name, _, _ := strings.Cut(filepath.Base(m.Place), ":")
	file, changed, overlay := filepath.Join(p.Dir, name), filepath.Join(*work, "changed.go"), filepath.Join(*work, "overlay.json")
	must(0, os.WriteFile(changed, m.apply(must(os.ReadFile(file))), 0o600))
	must(0, os.WriteFile(overlay, must(json.Marshal(map[string]map[string]string{"Replace": {file: changed}})), 0o600))
	for _, q := range p.testers {
		if q.took == 0 {
			out, took, err := q.test(ctx, p.tags(), "", 10*time.Minute)
			if q.took = took; err != nil {
				q.took = -1
				fmt.Printf("without %s, whose tests fail without a change: %s\n", q.ImportPath, failure(out, err))
			}
		}
		if q.took < 0 {
			continue
		}
		out, took, err := q.test(ctx, p.tags(), overlay, 20*time.Second+8*q.took)
		switch {
		case err != nil && took == 0:
			return broken, failure(out, err)
		case err != nil:
			return caught, strings.TrimPrefix(q.ImportPath, module) + " " + failure(out, err)
		}
	}
	return survived, ""
}

// test runs the tests of a package, and ends them after the limit. What the compiler takes does not count: a busy machine
// would catch every change by it. If the tests do not compile, they took no time.
func (p *pkg) test(ctx context.Context, tags, overlay string, limit time.Duration) (out []byte, took time.Duration, err error) {
	binary := filepath.Join(*work, "tests.exe")
	os.Remove(binary) //nolint:errcheck // the compiler makes none if there is no test
	out, err = run(ctx, p.Dir, overlay, "go", "test", "-c", "-o", binary, "-vet=off", "-ldflags=-s -w", "-tags", tags, ".")
	must(0, ctx.Err())
	if _, missing := os.Stat(binary); err != nil || missing != nil {
		return out, 0, err
	}
	timed, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end after %s", limit.Round(time.Second)))
	defer cancel()
	start := time.Now()
	out, err = run(timed, p.Dir, overlay, binary, "-test.failfast", "-test.run="+*only, "-test.paniconexit0")
	must(0, ctx.Err())
	if timed.Err() != nil {
		err = context.Cause(timed)
	}
	return out, time.Since(start), err
}

// run runs a command in a folder, with an overlay for the go command and for those that tests start.
// Everything that it has started ends with it.
func run(ctx context.Context, dir, overlay, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, must(exec.LookPath(name)), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(*work, "cache"), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second // for a pipe that a child has kept
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	cmd.Cancel() //nolint:errcheck // usually none is left
	return out.Bytes(), err
}

// output keeps the beginning of what a process writes.
type output struct{ bytes.Buffer }

// Write keeps p as far as there is room, and never fails.
func (o *output) Write(p []byte) (int, error) {
	o.Buffer.Write(p[:min(len(p), max(0, 64<<20-o.Len()))])
	return len(p), nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^((?:panic|fatal error|SIG).*)|^(\S+\.go:\d+.*)`)

// failure names the test that failed, or how the process ended.
func failure(out []byte, err error) string {
	if m := failed.FindSubmatch(out); m != nil {
		return oneLine(string(bytes.Join(m[1:], nil)))
	}
	return err.Error()
}
