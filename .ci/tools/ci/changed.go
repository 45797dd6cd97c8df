package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const module = "github.com/tvmffi-go/tvmffi"

// changes says which packages the changed files can reach.
type changes struct {
	why      string // what the working tree was compared with, and the result
	all      bool   // there is nothing to compare with, or a changed file may concern every package
	packages map[string]*pkg
}

// pkg is a package of the root module, or of the one in examples.
type pkg struct {
	path           string
	imports, tests []string // what its code imports, and what its tests import
	code, test     bool     // whether a file has changed that is compiled, or that only its tests read
}

// findChanges compares the working tree with TVMFFI_CI_BASE, which .github/workflows/ci.yml sets to the commit
// before the submission. Without that it takes the commit where the branch left origin/main or main. On
// main itself there is none, so everything counts as changed.
func findChanges(ctx context.Context) (*changes, error) {
	base := os.Getenv("TVMFFI_CI_BASE")
	if _, err := lines(ctx, "git", "cat-file", "-e", base+"^{commit}"); err != nil {
		base = ""
		for _, main := range []string{"origin/main", "main"} {
			if found, err := lines(ctx, "git", "merge-base", "HEAD", main); err == nil && base == "" {
				base = found[0]
			}
		}
	}
	if base == "" {
		return &changes{all: true, why: "every step runs: there is no earlier commit to compare with"}, nil
	}
	changed, err := lines(ctx, "git", "diff", "--name-only", "--no-renames", base)
	if err != nil {
		return nil, err
	}
	added, err := lines(ctx, "git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	changed = append(changed, added...)
	if len(changed) == 0 {
		return &changes{all: true, why: "every step runs: nothing has changed since " + base}, nil
	}
	packages, err := listPackages(ctx)
	if err != nil {
		return nil, err
	}
	c := &changes{packages: packages}
	c.why = fmt.Sprintf("%d files have changed since %s", len(changed), base)
	for _, file := range changed {
		if !c.mark(file) {
			c.all = true
			c.why += "; every step runs, because " + file + " may concern all"
			break
		}
	}
	return c, nil
}

// lines returns the lines that a command prints.
func lines(ctx context.Context, words ...string) ([]string, error) {
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	stderr := &strings.Builder{}
	c.Stderr = stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, stderr)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// listPackages lists the packages of the root module and of the one in examples, by import path.
func listPackages(ctx context.Context) (map[string]*pkg, error) {
	packages := map[string]*pkg{}
	for _, dir := range []string{".", "examples"} {
		list, err := lines(ctx, "go", "-C", dir, "list", "-e", "-tags=bindings,"+allTags, "-f",
			`{{.ImportPath}};{{join .Imports " "}};{{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
		if err != nil {
			return nil, err
		}
		for _, line := range list {
			parts := strings.Split(line, ";")
			packages[parts[0]] = &pkg{path: parts[0], imports: strings.Fields(parts[1]), tests: strings.Fields(parts[2])}
		}
	}
	return packages, nil
}

// mark notes a changed file at the package that has it, and returns false if any package may read it.
func (c *changes) mark(file string) bool {
	switch {
	case strings.HasPrefix(file, ".github/"), strings.HasPrefix(file, ".ci/mutants"), strings.HasPrefix(file, ".ci/tools/mutate/"):
		return true
	case path.Ext(file) == ".md", !strings.Contains(file, "/") && path.Ext(file) == "":
		return true // texts; the tests that read them always run
	}
	if strings.HasPrefix(file, ".ci/") {
		return false
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if p := c.packages[module+"/"+dir]; p != nil {
			if strings.HasSuffix(file, "_test.go") || strings.Contains(file[len(dir):], "/testdata/") {
				p.test = true
			} else {
				p.code = true
			}
			return true
		}
	}
	return strings.HasPrefix(file, "examples/") // their step always runs
}

// reach reports whether a change concerns packages that the patterns name, what they import, or
// what their tests import. No patterns stand for a step that always runs.
func (c *changes) reach(patterns []string) bool {
	if c.all || len(patterns) == 0 {
		return true
	}
	memo := map[string]bool{}
	for _, p := range c.packages {
		if matches(patterns, p.path) && (p.test || slices.ContainsFunc(append([]string{p.path}, p.tests...), func(path string) bool { return c.dirty(path, memo) })) {
			return true
		}
	}
	return false
}

// dirty reports whether the code of a package or of one that it imports has changed.
func (c *changes) dirty(path string, memo map[string]bool) bool {
	p := c.packages[path]
	if p == nil {
		return false // of another module
	}
	if dirty, ok := memo[path]; ok {
		return dirty
	}
	memo[path] = p.code || slices.ContainsFunc(p.imports, func(i string) bool { return c.dirty(i, memo) })
	return memo[path]
}

// matches reports whether one of the patterns, such as ./runtime/..., stands for a package of this module.
func matches(patterns []string, importPath string) bool {
	rel := "." + strings.TrimPrefix(importPath, module)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		above, below := strings.CutSuffix(pattern, "/...")
		return rel == above || below && strings.HasPrefix(rel, above+"/")
	})
}
