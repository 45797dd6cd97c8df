package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	{"busy", "kernel of 40000 cycles and what the device takes, on 1 stream"},
	{"busy2", "the same on 2 streams from 2 threads, per launch over both"},
}

// launchGoals are their targets. C++ has its context current all the time, as ours has in
// WithDevice; elsewhere ours switches to the device and back in each launch, and has the
// same target.
var launchGoals = []goal{
	{"empty", "cpp", "empty", 1.05},
	{"empty", "cupy", "empty", 0.6},
	{"empty_within", "cpp", "empty", 1.05},
	{"saxpy", "cpp", "saxpy", 1.1},
	{"saxpy_within", "cpp", "saxpy", 1.1},
	{"empty2", "cpp", "empty2", 1.1},
	{"busy2", "ours", "busy", 1 / 1.8},
}

// cupyVersion is of the wheel for CUDA 12, which newer drivers take too.
const cupyVersion = "14.2.0"

// launchTeam builds and starts peers of the launches. Only CuPy may be missing.
func (t *tree) launchTeam(ctx context.Context, names ...string) (*team, error) {
	image := filepath.Join(t.bench, "launch", "kernels", "launch.ptx")
	all := &team{goals: launchGoals}
	for _, p := range []struct {
		name  string
		build func() ([]string, error)
	}{
		{"cpp", func() ([]string, error) {
			program, err := t.compile(ctx, "launch.cc", "launch")
			return []string{program}, err
		}},
		{"ours", func() ([]string, error) {
			program, err := t.goBuild(ctx, filepath.Join(t.bench, "launch"), "launch", "CGO_ENABLED=0")
			return []string{program}, err
		}},
		{"cupy", func() ([]string, error) {
			python, err := t.cupy(ctx)
			if err == nil {
				_, err = command(ctx, t.cache, nil, python, "-c", "import cupy; cupy.cuda.Device(0).use()")
			}
			return []string{python, filepath.Join(t.bench, "python", "launch.py")}, err
		}},
	} {
		if !slices.Contains(names, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "building %s\n", p.name)
		args, err := p.build()
		var started *peer
		if err == nil {
			started, err = startPeer(ctx, p.name, append(args, t.wheel.Library(), image))
		}
		switch {
		case err == nil:
			all.peers = append(all.peers, started)
		case p.name == "cupy":
			lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
			all.missing = append(all.missing, "CuPy: "+lines[len(lines)-1]) // what Python says comes last
		default:
			all.stop()
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return all, nil
}

// cupy returns a Python that has CuPy: an environment that pip fills, or where it cannot,
// the one of the machine.
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

// launches measures the launches, and returns the report and what was missed.
func (t *tree) launches(ctx context.Context, runs int) (string, error) {
	all, err := t.launchTeam(ctx, "cpp", "ours", "cupy")
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

// launchScaling says how much two threads with a stream each do in the time of one.
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
		if own != nil && other != nil {
			ratio := median(own.ns) / median(other.ns)
			word, got = "met", fmt.Sprintf("%.3f", ratio)
			if ratio > g.most {
				word = "**missed**"
				missed = append(missed, fmt.Sprintf("%s, %.3f %s, at most %.3g", launchRows[i].title, ratio, what, g.most))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.3g | %s | %s |\n", launchRows[i].title, what, g.most, got, word)
	}
	return b.String(), missed
}
