package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// scratch makes a module outside the repository that uses it, like a user's module.
func (t *tree) scratch(ctx context.Context, name string, files map[string]string) (string, error) {
	dir := filepath.Join(t.cache, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	root := filepath.Dir(t.bench)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return "", err
	}
	files["go.sum"] = string(sums)
	files["go.mod"] = fmt.Sprintf("module example.com/%s\n\ngo 1.26\n\nrequire github.com/tvmffi-go/tvmffi v0.0.0\n\nreplace github.com/tvmffi-go/tvmffi => %q\n", name, root)
	for file, text := range files {
		file = filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	_, err = command(ctx, dir, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "mod", "tidy")
	return dir, err
}

// bound is a set of libraries for which both generators write bindings.
type bound struct {
	title  string
	pip    []string // what pip installs; nothing stands for the environment of the other items
	files  []string // the libraries in site-packages, without the ending
	prefix string   // for tvm-ffi-stubgen, which takes a blank for everything

	times  float64 // the most CPU time of ours, in times of tvm-ffi-stubgen
	memory float64 // the most memory of ours, in MB, 0 for any
}

// packages holds whole libraries, which fit one libtvm_ffi, and what the Python of TVM needs
// for its VM, RPC and Disco.
var packages = []string{"--no-deps", "apache-tvm==0.27.0.post1", "xgrammar==0.2.9", "apache-tvm-ffi==0.1.14.post1", "typing_extensions",
	"cloudpickle==3.1.2", "ml_dtypes", "numpy", "psutil", "tornado"}

// libraries lists what is bound. The first one needs no further download.
var libraries = []bound{
	{"libtvm_ffi and its testing library", nil, []string{"tvm_ffi/lib/libtvm_ffi", "tvm_ffi/lib/libtvm_ffi_testing"}, " ", 1.3, 0},
	{"xgrammar", packages, []string{"xgrammar/libxgrammar_bindings"}, "xgrammar.", 1.3, 0},
	{"TVM", packages, []string{"tvm/lib/libtvm_runtime", "tvm/lib/libtvm_runtime_extra", "tvm/lib/libtvm_compiler"}, " ", 1.5, 130},
}

// usage is what a run of a generator took, with its child processes.
type usage struct {
	cpu    float64 // seconds, of user and system
	memory float64 // MB, the peak of the largest process
}

// generation compares tvmffi-bind with tvm-ffi-stubgen on one set of libraries.
type generation struct {
	bound
	ours, stubgen []usage
	again         []usage              // ours a second time, with nothing changed
	stages        map[string][]float64 // milliseconds
	order         []string
}

// generator compares the generators, with the type check of ours, in turn.
func (t *tree) generator(ctx context.Context, sets []bound, runs int) ([]*generation, error) {
	fmt.Fprintln(os.Stderr, "building the generator")
	tool, err := t.goBuild(ctx, filepath.Join(filepath.Dir(t.bench), "cmd", "tvmffi-bind"), "tvmffi-bind")
	if err != nil {
		return nil, err
	}
	module, err := t.scratch(ctx, "generated", map[string]string{
		"user.go": "package user\n\nimport _ \"github.com/tvmffi-go/tvmffi/runtime/bindrt\"\n",
	})
	if err != nil {
		return nil, err
	}
	var all []*generation
	for _, set := range sets {
		g, err := t.generate(ctx, set, tool, module, runs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.title, err)
		}
		all = append(all, g)
	}
	return all, os.RemoveAll(module)
}

// generate measures one set of libraries. Each run writes to a new folder: where many files were
// just removed, some file systems take long to make a file.
func (t *tree) generate(ctx context.Context, set bound, tool, module string, runs int) (*generation, error) {
	python, err := t.generatorPython(ctx, set)
	if err != nil {
		return nil, err
	}
	// tvm-ffi-stubgen has loaded the libtvm_ffi of its own package, so both get that one.
	site, err := command(ctx, "", nil, python, "-c", "import os, tvm_ffi; print(os.path.dirname(os.path.dirname(tvm_ffi.__file__)))")
	if err != nil {
		return nil, err
	}
	core := filepath.Join(strings.TrimSpace(site), "tvm_ffi", "lib", filepath.Base(t.wheel.Library()))
	var files, flags []string
	for _, f := range set.files {
		files = append(files, filepath.Join(strings.TrimSpace(site), filepath.FromSlash(f)+filepath.Ext(core)))
		flags = append(flags, "--lib", files[len(files)-1])
	}
	g := &generation{bound: set, stages: map[string][]float64{}}
	for round := range runs + 1 { // the first one warms the caches
		fmt.Fprintf(os.Stderr, "\r%s: round %d of %d ", set.title, round, runs)
		folder, err := os.MkdirTemp(module, "run")
		if err != nil {
			return nil, err
		}
		out := filepath.Join(folder, "out")
		gen := append([]string{tool, "gen", "--package", "out", "--out", out}, flags...)
		printed, ours, err := used(ctx, module, core, append(gen, "--timing")...)
		if err != nil {
			return nil, err
		}
		_, stubgen, err := used(ctx, module, core, filepath.Join(filepath.Dir(python), "tvm-ffi-stubgen"), folder, "--dlls", strings.Join(files, ";"),
			"--init-lib", "bench", "--init-pypkg", "bench", "--init-prefix", set.prefix)
		// Its exit code is 2 if it cannot complete one of its own files; most of its work is done then.
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) {
			return nil, err
		}
		if round == 0 {
			continue
		}
		_, again, err := used(ctx, module, core, gen...) // with nothing changed
		if err != nil {
			return nil, err
		}
		g.ours, g.stubgen, g.again = append(g.ours, ours), append(g.stubgen, stubgen), append(g.again, again)
		if err := g.addStages(printed); err != nil {
			return nil, err
		}
	}
	fmt.Fprint(os.Stderr, "\r")
	if len(g.stages["typecheck"]) != runs {
		return nil, errors.New("tvmffi-bind gen --timing does not print the time of its type check")
	}
	return g, nil
}

// generatorPython returns the Python that has a set of libraries.
func (t *tree) generatorPython(ctx context.Context, set bound) (string, error) {
	if set.pip == nil {
		err := t.venv(ctx)
		return t.python, err
	}
	return t.environment(ctx, "venv-libraries-"+strings.Join(versions.FindAllString(strings.Join(set.pip, " "), -1), "-"), set.pip...)
}

// versions finds the versions in what pip installs.
var versions = regexp.MustCompile(`\d+\.\d[\w.]*`)

// used runs a command with a libtvm_ffi. It returns what it printed and what it took.
func used(ctx context.Context, dir, core string, args ...string) (string, usage, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TVMFFI_LIBRARY="+core)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	if cmd.ProcessState == nil {
		return "", usage{}, err
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return string(out), usage{took.Seconds(), float64(peakMemory(cmd.ProcessState)) / 1e6}, err
}

// peakMemory returns the most bytes that a process, or one of its children, has had at a time.
// The type of SysUsage depends on the system. Windows does not say, so there it is 0.
func peakMemory(p *os.ProcessState) int64 {
	peak := reflect.Indirect(reflect.ValueOf(p.SysUsage())).FieldByName("Maxrss")
	switch {
	case !peak.IsValid():
		return 0
	case runtime.GOOS == "darwin":
		return peak.Int()
	}
	return 1024 * peak.Int()
}

// addStages adds the times that tvmffi-bind gen --timing has printed.
func (g *generation) addStages(printed string) error {
	for _, m := range stage.FindAllStringSubmatch(printed, -1) {
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		if g.stages[m[1]] == nil {
			g.order = append(g.order, m[1])
		}
		g.stages[m[1]] = append(g.stages[m[1]], ms)
	}
	return nil
}

// stage is a line of tvmffi-bind gen --timing.
var stage = regexp.MustCompile(`(?m)^([a-z]+) +(\d+) ms$`)

func cpuTime(all []usage) float64 {
	return medianOf(all, func(u usage) float64 { return u.cpu })
}

func peak(all []usage) float64 {
	return medianOf(all, func(u usage) float64 { return u.memory })
}

func medianOf(all []usage, of func(usage) float64) float64 {
	var list []float64
	for _, u := range all {
		list = append(list, of(u))
	}
	return median(list)
}

// ratio is the CPU time in times of tvm-ffi-stubgen, the median of the runs.
func (g *generation) ratio() float64 { return g.ratioOf(g.ours) }

func (g *generation) ratioOf(runs []usage) float64 {
	var ratios []float64
	for i, u := range runs {
		ratios = append(ratios, u.cpu/g.stubgen[i].cpu)
	}
	return median(ratios)
}

// missed says which targets are missed by more than the given factor, "" if none is.
func (g *generation) missed(times float64) string {
	var missed []string
	if g.ratio() > g.times*times {
		missed = append(missed, fmt.Sprintf("the generator takes %.2f times as long as tvm-ffi-stubgen for %s", g.ratio(), g.title))
	}
	if g.memory > 0 && peak(g.ours) > g.memory*times {
		missed = append(missed, fmt.Sprintf("the generator needs %.0f MB for %s", peak(g.ours), g.title))
	}
	return strings.Join(missed, "; ")
}

// generationTable shows what was measured.
func generationTable(all []*generation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "From the library to the written files, with the type check, medians of %d runs with a warm build cache.\n"+
		"CPU time and the peak of the memory include child processes.\n\n", len(all[0].ours))
	b.WriteString("| library | tvmffi-bind | tvm-ffi-stubgen | times | at most | memory | of stubgen | at most | |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range all {
		most := "any"
		if g.memory > 0 {
			most = fmt.Sprintf("%.0f MB", g.memory)
		}
		fmt.Fprintf(&b, "| %s | %.2f s | %.2f s | %.2f | %g | %.0f MB | %.0f MB | %s | %s |\n", g.title, cpuTime(g.ours), cpuTime(g.stubgen),
			g.ratio(), g.times, peak(g.ours), peak(g.stubgen), most, met(g.missed(1) == ""))
	}
	b.WriteString("\nA second run with nothing changed:\n")
	for _, g := range all {
		fmt.Fprintf(&b, "- %s: %.2f s, %.2f times as long as tvm-ffi-stubgen; the aim is 0.2\n", g.title, cpuTime(g.again), g.ratioOf(g.again))
	}
	b.WriteString("\nThe stages in wall time:\n")
	for _, g := range all {
		var stages []string
		for _, name := range g.order {
			stages = append(stages, fmt.Sprintf("%s %.0f ms", name, median(g.stages[name])))
		}
		fmt.Fprintf(&b, "- %s: %s\n", g.title, strings.Join(stages, ", "))
	}
	return b.String()
}

// generatorOnly measures the generator and fails if it misses a target.
func (t *tree) generatorOnly(ctx context.Context, runs int) error {
	all, err := t.generator(ctx, libraries, runs)
	if err != nil {
		return err
	}
	fmt.Print(generationTable(all))
	for _, g := range all {
		if missed := g.missed(1); missed != "" {
			err = errors.Join(err, errors.New(missed))
		}
	}
	return err
}
