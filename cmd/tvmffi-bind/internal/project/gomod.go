package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/mod/modfile"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

// Module is the module around a folder.
type Module struct {
	dir       string // of its go.mod
	file      *modfile.File
	workspace bool // which has the module of this program
}

// ModuleAround finds the module that contains dir, which need not exist yet.
func ModuleAround(dir string) (*Module, error) {
	for at := dir; ; at = filepath.Dir(at) {
		name := filepath.Join(at, "go.mod")
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			if at == filepath.Dir(at) {
				return nil, fmt.Errorf("the folder %s is not in a Go module: run \"go mod init NAME\" first", console.Shown(dir))
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		asIs := func(_, version string) (string, error) { return version, nil }
		file, err := modfile.Parse(console.Shown(name), data, asIs)
		if err != nil { // perhaps for a newer Go, with directives that this package does not know
			file, err = modfile.ParseLax(console.Shown(name), data, asIs)
		}
		if err != nil {
			return nil, err
		}
		if file.Module == nil || file.Module.Mod.Path == "" {
			return nil, fmt.Errorf("%s does not name a module", console.Shown(name))
		}
		return &Module{dir: at, file: file}, nil
	}
}

// ImportPath returns the import path of the package in dir.
func (m *Module) ImportPath(dir string) (string, error) {
	rel, err := filepath.Rel(m.dir, dir)
	if err != nil {
		return "", err
	}
	return path.Join(m.file.Module.Mod.Path, filepath.ToSlash(rel)), nil
}

// RequiresRuntime returns an error with the remedy if packages of the module cannot
// import the runtime.
func (m *Module) RequiresRuntime(ctx context.Context) error {
	if m.file.Module.Mod.Path == console.ModulePath || slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool { return r.Mod.Path == console.ModulePath }) {
		return nil
	}
	known := func(module string) error {
		list := exec.CommandContext(ctx, "go", "list", "-m", module)
		list.Dir = m.dir
		return list.Run()
	}
	switch err := known(console.ModulePath); {
	case err == nil && known(m.file.Module.Mod.Path) != nil:
		return fmt.Errorf("the module %s is not in the workspace around it, which has %s: run\n  go work use %s", m.file.Module.Mod.Path, console.ModulePath, console.Shown(m.dir))
	case err == nil:
		m.workspace = true
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("the go command is not on the PATH: install Go, or add its folder bin to the PATH")
	}
	return fmt.Errorf("the module %s does not require %s, which the bindings import: run\n  %s", m.file.Module.Mod.Path, console.ModulePath, m.AddToolCommand())
}

// HasTool reports whether the module has this program as a tool, or is in a workspace with it, as
// [Module.RequiresRuntime] has found.
func (m *Module) HasTool() bool {
	return m.workspace || m.file.Module.Mod.Path == console.ModulePath || slices.ContainsFunc(m.file.Tool, func(t *modfile.Tool) bool { return t.Path == ToolPath })
}

// ToolPath is the import path of this program.
const ToolPath = console.ModulePath + "/cmd/tvmffi-bind"

// AddToolCommand returns the command line that makes the module require the runtime and this program.
func (m *Module) AddToolCommand() string {
	replaced := slices.ContainsFunc(m.file.Replace, func(r *modfile.Replace) bool { return r.Old.Path == console.ModulePath })
	switch {
	case replaced:
		// go get would ask for published versions first.
		return "go mod edit -require " + console.ModulePath + "@v0.0.0 -tool " + ToolPath + " && go mod tidy"
	case console.Release() != "":
		return "go get -tool " + ToolPath + "@" + console.Release()
	}
	return "go get -tool " + ToolPath
}
