package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// scratch makes a module outside the repository that uses it, like that of a user.
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

// generation is the speed of the generator, in milliseconds.
type generation struct {
	stubgen, all []float64
	stages       map[string][]float64
	order        []string
}

// generator compares tvmffi-bind with tvm-ffi-stubgen on libtvm_ffi and its
// testing library together, each into an empty folder.
func (t *tree) generator(ctx context.Context, runs int) (*generation, error) {
	if err := t.venv(ctx); err != nil {
		return nil, err
	}
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
	out := filepath.Join(module, "out")
	ours := []string{tool, "gen", "--timing", "--lib", t.wheel.Library(), "--lib", t.wheel.TestingLibrary(), "--package", "out", "--out", out}
	stubgen, err := t.stubgen(ctx, out)
	if err != nil {
		return nil, err
	}
	g := &generation{stages: map[string][]float64{}}
	for round := range runs + 1 { // the first one warms the caches
		fmt.Fprintf(os.Stderr, "\rround %d of %d ", round, runs)
		printed, took, err := timed(ctx, module, out, ours)
		if err != nil {
			return nil, err
		}
		_, other, err := timed(ctx, module, out, stubgen)
		// Its exit code is 2 if it cannot complete one of its own files; most of its work is done then.
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) {
			return nil, err
		}
		if round == 0 {
			continue
		}
		g.all, g.stubgen = append(g.all, took), append(g.stubgen, other)
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

// stubgen is the command of tvm-ffi-stubgen for both libraries.
func (t *tree) stubgen(ctx context.Context, out string) ([]string, error) {
	// A blank prefix stands for everything; without one stubgen writes nothing new.
	// It has loaded the copy of the library in its own package, so it gets that one.
	dir := "import os, tvm_ffi; print(os.path.join(os.path.dirname(tvm_ffi.__file__), 'lib'))"
	lib, err := command(ctx, "", nil, t.python, "-c", dir)
	if err != nil {
		return nil, err
	}
	lib = strings.TrimSpace(lib)
	dlls := filepath.Join(lib, filepath.Base(t.wheel.Library())) + ";" + filepath.Join(lib, filepath.Base(t.wheel.TestingLibrary()))
	return []string{filepath.Join(filepath.Dir(t.python), "tvm-ffi-stubgen"), out, "--dlls", dlls,
		"--init-lib", "tvm_ffi", "--init-pypkg", "apache-tvm-ffi", "--init-prefix", " "}, nil
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

// timed runs a command that writes to an empty folder and returns what it printed
// and how many milliseconds it took.
func timed(ctx context.Context, dir, out string, args []string) (string, float64, error) {
	if err := os.RemoveAll(out); err != nil {
		return "", 0, err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return "", 0, err
	}
	start := time.Now()
	printed, err := command(ctx, dir, nil, args...)
	return printed, float64(time.Since(start).Microseconds()) / 1000, err
}

// own is the time without the type check.
func (g *generation) own() float64 { return median(g.all) - median(g.stages["typecheck"]) }

func (g *generation) ratio() float64 { return g.own() / median(g.stubgen) }

func (g *generation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "libtvm_ffi and its testing library, read to written, medians of %d runs with a warm build cache:\n", len(g.all))
	fmt.Fprintf(&b, "tvmffi-bind %.0f ms (%.2fx) and %.0f ms for the type check, tvm-ffi-stubgen %.0f ms; at most %dx: %s.\n",
		g.own(), g.ratio(), median(g.stages["typecheck"]), median(g.stubgen), generatorTarget, met(g.ratio() <= generatorTarget))
	b.WriteString("Stages:")
	for i, name := range g.order {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s %.0f ms", name, median(g.stages[name]))
	}
	b.WriteString(".\n")
	return b.String()
}
