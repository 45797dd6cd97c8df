package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// grown are the numbers of functions for which growth runs the generator, and mostGrowth is how many times the cost of a function may
// grow from one to the next.
var grown = []int{1, 100, 1000, 10_000, 100_000}

const mostGrowth = 1.5

// inPackage is how many functions each package gets.
const inPackage = 1000

// growth measures the generator against the number of functions of a library, and fails if the curve is not linear.
func (t *tree) growth(ctx context.Context) error {
	tool, err := t.goBuild(ctx, filepath.Join(filepath.Dir(t.bench), "cmd", "tvmffi-bind"), "tvmffi-bind")
	if err != nil {
		return err
	}
	module, err := t.scratch(ctx, "grown", map[string]string{
		"user.go": "package user\n\nimport _ \"github.com/tvmffi-go/tvmffi/runtime/bindrt\"\n",
	})
	if err != nil {
		return err
	}
	var all []usage
	for i, n := range append([]int{1}, grown...) { // the first one warms the caches
		text, err := schema.Encode(library(n))
		if err != nil {
			return err
		}
		file, out := filepath.Join(module, fmt.Sprintf("of%d.json", i)), filepath.Join(module, fmt.Sprintf("out%d", i))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "generating %d functions\n", n)
		_, took, err := used(ctx, module, t.wheel.Library(), tool, "gen", "--from", file, "--package", "out", "--out", out)
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	fmt.Print(growthTable(grown, all[1:]))
	return errors.Join(steep(grown, all[1:]), os.RemoveAll(module))
}

// library is the interface of a library with n functions of one argument.
func library(n int) schema.Schema {
	s := schema.Schema{Format: schema.FormatVersion, ABI: schema.Version{Minor: 1, Patch: 16}, Types: []schema.Type{{Key: "ffi.Object"}}, Libraries: []schema.Library{
		{File: "libtvm_ffi.so", Role: schema.RoleCore}, {File: "libgrown.so", Role: schema.RoleBound, SHA256: strings.Repeat("a", 64)}}}
	number := schema.TypeSchema{Name: "int"}
	for i := range n {
		s.Functions = append(s.Functions, schema.Function{Name: fmt.Sprintf("grown.s%d.f%06d", i/inPackage, i), Source: schema.SourceGlobal,
			Library: "libgrown.so", Signature: &schema.Signature{Params: []schema.Param{{Type: number}}, Return: number}})
	}
	return s
}

// growthTable shows what was measured.
func growthTable(sizes []int, all []usage) string {
	var b strings.Builder
	b.WriteString("| functions | CPU time | memory |\n|---|---|---|\n")
	for i, u := range all {
		fmt.Fprintf(&b, "| %d | %.2f s | %.0f MB |\n", sizes[i], u.cpu, u.memory)
	}
	return b.String()
}

// steep returns an error if each further function costs more than mostGrowth times as much as those before. What is there without one
// is taken from the first size.
func steep(sizes []int, all []usage) error {
	var errs []error
	slope := func(i int, of func(usage) float64) float64 {
		return (of(all[i]) - of(all[0])) / float64(sizes[i]-sizes[0])
	}
	for what, of := range map[string]func(usage) float64{"CPU time": func(u usage) float64 { return u.cpu }, "memory": func(u usage) float64 { return u.memory }} {
		for i := 3; i < len(sizes); i++ { // below a thousand functions, the rest is most of it
			if before, now := slope(i-1, of), slope(i, of); now > mostGrowth*before {
				errs = append(errs, fmt.Errorf("%s for each of %d functions is %.1f times that of %d", what, sizes[i], now/before, sizes[i-1]))
			}
		}
	}
	return errors.Join(errs...)
}
