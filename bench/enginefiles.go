package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// engineFiles are what the peers of the engines need.
type engineFiles struct {
	python, data, core, xgrammar, runtime string
	remote                                string // the library that the clients of RPC upload
	tokens                                int    // of the document
}

// engineFiles installs the libraries and writes what the peers read.
func (t *tree) engineFiles(ctx context.Context) (f engineFiles, err error) {
	whole := libraries[len(libraries)-1]
	if f.python, err = t.generatorPython(ctx, whole); err != nil {
		return f, err
	}
	site, err := command(ctx, "", nil, f.python, "-c", "import os, tvm_ffi; print(os.path.dirname(os.path.dirname(tvm_ffi.__file__)))")
	if err != nil {
		return f, err
	}
	at := func(file string) string { return filepath.Join(strings.TrimSpace(site), filepath.FromSlash(file)) }
	f.core, f.xgrammar, f.runtime = at("tvm_ffi/lib/libtvm_ffi.so"), at("xgrammar/libxgrammar_bindings.so"), at("tvm/lib/libtvm_runtime.so")
	f.data = filepath.Join(t.cache, "engines")
	if err := os.MkdirAll(f.data, 0o700); err != nil {
		return f, err
	}
	if f.tokens, err = engineData(f.data); err != nil {
		return f, err
	}
	if f.remote, err = t.compile(ctx, "remote.cc", "remote.so", "-shared"); err != nil {
		return f, err
	}
	_, err = command(ctx, f.data, nil, f.python, filepath.Join(t.bench, "python", "relax.py"), filepath.Join(f.data, "vm.so"))
	return f, err
}

// engineTeam builds and starts the peers of the engines.
func (t *tree) engineTeam(ctx context.Context, f engineFiles) (*team, error) {
	fmt.Fprintln(os.Stderr, "building the peers of the engines")
	cpp, err := t.compile(ctx, "engines.cc", "engines")
	if err != nil {
		return nil, err
	}
	ours, err := t.goBuild(ctx, filepath.Join(t.bench, "engines"), "engines", "CGO_ENABLED=0")
	if err != nil {
		return nil, err
	}
	all := &team{}
	for _, g := range engineGoals {
		all.goals = append(all.goals, g.goal)
	}
	// Processes that the peers start find the libraries by the variables.
	env := []string{"TVMFFI_LIBRARY=" + f.core, "TVMFFI_LIBRARY_PATH=" + filepath.Dir(f.runtime)}
	for _, p := range []*peer{
		{name: "cpp", args: []string{cpp}}, {name: "ours", args: []string{ours}},
		{name: "python", args: []string{f.python, filepath.Join(t.bench, "python", "engines.py")}},
	} {
		p.args, p.env = append(p.args, f.data, f.xgrammar, f.remote, f.core, f.runtime), env
		if err := p.start(ctx); err != nil {
			all.stop()
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all.peers = append(all.peers, p)
	}
	return all, nil
}
