package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// launchRows are the rows of the launches, which need a CUDA driver and so are not
// among items.
var launchRows = []row{
	{"empty", "empty kernel of 3 arguments"},
	{"empty_within", "the same, in `cuda.WithDevice`"},
	{"saxpy", "saxpy of 256, typed and checked"},
	{"saxpy_within", "the same, in `cuda.WithDevice`"},
	{"empty2", "empty kernel on 2 streams from 2 threads, per launch over both"},
	{"graph", "graph of 20 empty kernels, in `cuda.WithDevice`"},
	{"busy", "kernel of 40000 cycles and what the device takes, on 1 stream"},
	{"busy2", "the same on 2 streams from 2 threads, per launch over both"},
}

// launchGoals are their targets. C++ has its context current all the time, like ours in
// WithDevice; otherwise ours switches to the device and back in each launch, and has the
// same target.
var launchGoals = []goal{
	{"empty", "cpp", "empty", 1.05},
	{"empty", "cupy", "empty", 0.6},
	{"empty_within", "cpp", "empty", 1.02},
	{"saxpy", "cpp", "saxpy", 1.05},
	{"saxpy_within", "cpp", "saxpy", 1.05},
	{"empty2", "cpp", "empty2", 1.1},
	{"graph", "cpp", "graph", 1.02},
	{"busy2", "ours", "busy", 1 / 1.8},
}

// cupyVersion is of the wheel for CUDA 12, which newer drivers take too.
const cupyVersion = "14.2.0"

// launchFiles are what the peers of the launches need, without Go, a compiler or the
// network.
type launchFiles struct {
	cpp, ours      string // programs
	python, script string // of CuPy
	library, image string
	missing        string // why there is no CuPy, or ""
}

// launchBuilt builds the peers.
func (t *tree) launchBuilt(ctx context.Context) (f launchFiles, err error) {
	f.library, f.image = t.wheel.Library(), filepath.Join(t.bench, "launch", "kernels", "launch.ptx")
	f.script = filepath.Join(t.bench, "python", "launch.py")
	fmt.Fprintln(os.Stderr, "building the peers of the launches")
	if f.cpp, err = t.compile(ctx, "launch.cc", "launch", "-Wl,--as-needed"); err != nil {
		return f, err
	}
	f.ours, err = t.goBuild(ctx, filepath.Join(t.bench, "launch"), "launch", "CGO_ENABLED=0")
	return f, err
}

// start starts peers; CuPy may be missing.
func (f launchFiles) start(ctx context.Context, names ...string) (*team, error) {
	all := &team{goals: launchGoals}
	for _, name := range names {
		args := map[string][]string{"cpp": {f.cpp}, "ours": {f.ours}, "cupy": {f.python, f.script}}[name]
		if name == "cupy" {
			if f.missing == "" {
				if _, err := command(ctx, "", nil, f.python, "-c", "import cupy; cupy.cuda.Device(0).use()"); err != nil {
					f.missing = lastLine(err.Error())
				}
			}
			if f.missing != "" {
				all.missing = append(all.missing, "CuPy: "+f.missing)
				continue
			}
		}
		p, err := startPeer(ctx, name, append(args, f.library, f.image))
		if err != nil {
			all.stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all.peers = append(all.peers, p)
	}
	return all, nil
}

// overGoal is by how many ns a typed and checked launch may take longer than the crossing with cuLaunchKernel.
const overGoal = 60

var (
	overResult   = regexp.MustCompile(`(?m)^BenchmarkTyped\S*\s.*?([0-9.]+) ns/over`)
	overAllocate = regexp.MustCompile(`(?m)^BenchmarkTyped\S*\s.*?([0-9]+) allocs/op`)
)

// over measures launches on the driver that does nothing, by the benchmark of kernelrt, and returns what was missed.
func (t *tree) over(ctx context.Context, times float64) (line, missed string, err error) {
	if runtime.GOOS != "linux" {
		return "typed launches were not measured: the driver that does nothing is built for Linux\n", "", nil
	}
	out, err := command(ctx, filepath.Dir(t.bench), []string{"CGO_ENABLED=0"}, "go", "test", "./cuda/kernelrt", "-run", "^$", "-bench", "^BenchmarkTyped$")
	if err != nil {
		return "", "", err
	}
	return overVerdict(out, times)
}

// overVerdict reads what the benchmark printed. The time is in ns and depends on the machine, so it fails only where
// times is 1; line says missed everywhere.
func overVerdict(out string, times float64) (line, missed string, err error) {
	ns, allocs := overResult.FindStringSubmatch(out), overAllocate.FindStringSubmatch(out)
	if ns == nil || allocs == nil {
		return "", "", fmt.Errorf("the benchmark of typed launches printed no result:\n%s", out)
	}
	over, err := strconv.ParseFloat(ns[1], 64)
	if err != nil {
		return "", "", err
	}
	line = fmt.Sprintf("a typed and checked launch takes %.1f ns over the crossing, at most %d, and %s allocations, at most 0: ", over, overGoal, allocs[1])
	late, allocates := over > overGoal, allocs[1] != "0"
	if late && times == 1 || allocates {
		missed = fmt.Sprintf("a typed and checked launch: %.1f ns over the crossing, at most %d, and %s allocations", over, overGoal, allocs[1])
	}
	line += met(!late && !allocates) + "\n"
	return line, missed, nil
}

// lastLine is the line in which Python reports an error.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// cupy returns a Python that has CuPy: an environment that pip fills, or if pip fails,
// that of the machine.
func (t *tree) cupy(ctx context.Context) (string, error) {
	dir := filepath.Join(t.cache, "venv-cupy-"+cupyVersion)
	python := filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, ".complete")
	if _, err := os.Stat(ready); err == nil {
		return python, nil
	}
	_, err := command(ctx, t.cache, nil, "python3", "-m", "venv", "--clear", dir)
	if err == nil {
		_, err = command(ctx, t.cache, nil, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
			"--only-binary=:all:", "cupy-cuda12x=="+cupyVersion)
	}
	if err == nil {
		return python, os.WriteFile(ready, nil, 0o600)
	}
	if _, other := command(ctx, t.cache, nil, "python3", "-c", "import cupy"); other != nil {
		return "", fmt.Errorf("pip did not install it, and python3 does not have it: %w", err)
	}
	return "python3", nil
}

// launches measures the launches and returns the report. The error lists the missed targets.
func launches(ctx context.Context, runs int) (string, error) {
	t, err := newTree(ctx)
	if err != nil {
		return "", err
	}
	files, err := t.launchBuilt(ctx)
	if err != nil {
		return "", err
	}
	if files.python, err = t.cupy(ctx); err != nil {
		files.missing = lastLine(err.Error())
	}
	all, err := files.start(ctx, "cpp", "ours", "cupy")
	if err != nil {
		return "", err
	}
	defer all.stop()
	m := measurements{}
	if err := all.measure(ctx, m, launchRows, runs); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d interleaved runs, each of 5 answers of each peer in turn, and each answer of 5 batches of 200 launches\n", runs)
	b.WriteString("(50 of the kernel that takes time), between which the device is waited for. ns per launch; in brackets the ratio to C++;\n")
	b.WriteString("`a` are Go allocations.\n\n")
	b.WriteString(m.launchTable() + "\n" + m.launchScaling() + "\n")
	for _, missing := range all.missing {
		fmt.Fprintf(&b, "No column for %s.\n\n", missing)
	}
	verdicts, missed := m.launchVerdicts()
	b.WriteString(verdicts)
	if len(missed) > 0 {
		return b.String(), errors.New("missed: " + strings.Join(missed, "; "))
	}
	return b.String(), nil
}

func (m measurements) launchTable() string {
	var b strings.Builder
	b.WriteString("| | C++ | **tvmffi** | CuPy |\n|---|---|---|---|\n")
	for _, r := range launchRows {
		cpp := key{r.name, "cpp", strings.TrimSuffix(r.name, "_within")}
		base := 0.0
		if s := m[cpp]; s != nil {
			base = median(s.ns)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.title, m.cell(cpp, base, false), m.cell(ours(r.name), base, true),
			m.cell(key{r.name, "cupy", r.name}, base, true))
	}
	return b.String()
}

// launchScaling returns how much two threads with a stream each do in the time of one.
func (m measurements) launchScaling() string {
	var b strings.Builder
	for _, item := range []struct{ one, two, what string }{{"empty", "empty2", "launches"}, {"busy", "busy2", "kernels"}} {
		fmt.Fprintf(&b, "Two streams from two threads, %s per time against one:", item.what)
		for _, peer := range []string{"cpp", "ours"} {
			one := item.one
			if peer == "ours" && one == "empty" {
				one = "empty_within" // as the two
			}
			a, b2 := m[key{one, peer, one}], m[key{item.two, peer, item.two}]
			if a != nil && b2 != nil {
				fmt.Fprintf(&b, " %s %.2f.", strings.Trim(titles[peer], "*"), median(a.ns)/median(b2.ns))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// launchVerdicts is the table of the targets, and what was missed: medians, and no more
// than the target.
func (m measurements) launchVerdicts() (table string, missed []string) {
	var b strings.Builder
	b.WriteString("| item | target | at most | measured | |\n|---|---|---|---|---|\n")
	for _, g := range launchGoals {
		i := slices.IndexFunc(launchRows, func(r row) bool { return r.name == g.item })
		what := "times " + titles[g.peer]
		if g.peer == "ours" {
			what = "times one stream"
		}
		word, got := "not measured", ""
		own, other := m[ours(g.item)], m[key{g.item, g.peer, g.peerItem}]
		switch {
		case own != nil && other != nil:
			ratio := median(own.ns) / median(other.ns)
			word, got = "met", fmt.Sprintf("%.3f", ratio)
			if ratio > g.most {
				word = "**missed**"
				missed = append(missed, fmt.Sprintf("%s, %.3f %s, at most %.3g", launchRows[i].title, ratio, what, g.most))
			}
		case g.peer != "cupy": // which may be missing
			missed = append(missed, launchRows[i].title+": not measured")
		}
		fmt.Fprintf(&b, "| %s | %s | %.3g | %s | %s |\n", launchRows[i].title, what, g.most, got, word)
	}
	return b.String(), missed
}
