package shipment

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

// Program is what a built program says about itself.
type Program struct {
	Path         string // absolute
	GOOS, GOARCH string
	// Libraries are those that its bindings load, in any order.
	Libraries []find.File
	// Needed are the libraries that the system loads with the program.
	Needed []string
	// Build names the modules in it.
	Build *debug.BuildInfo
}

// Platform returns where the program runs.
func (p *Program) Platform() string { return p.GOOS + "/" + p.GOARCH }

// ReadProgram reads a program without running it.
func ReadProgram(path string) (*Program, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	shown := console.Shown(path)
	if at, err := os.Stat(full); err == nil && !at.Mode().IsRegular() { // to open a pipe would wait forever
		return nil, fmt.Errorf("%s is not a file: name the program itself", shown)
	}
	info, err := buildinfo.ReadFile(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no program at %s: check the path, or build it first with go build -o %[1]s%s", shown, nearest.File(full))
	}
	if in, ok := errors.AsType[*fs.PathError](err); ok && in.Op == "open" {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a program of Go (%w): name the file that go build writes", shown, err)
	}
	p := &Program{Path: full, GOOS: setting(info, "GOOS"), GOARCH: setting(info, "GOARCH"), Build: info}
	switch mode := setting(info, "-buildmode"); mode {
	case "c-shared", "c-archive", "plugin":
		return nil, fmt.Errorf("%s is a library of Go (-buildmode=%s), and ship takes a program: tvmffi-bind export makes packages of libraries", shown, mode)
	}
	if !slices.ContainsFunc(append(slices.Clone(info.Deps), &info.Main), func(m *debug.Module) bool { return m.Path == console.ModulePath }) {
		return nil, fmt.Errorf("%s, built from %s, does not use %s, so it has no libraries to ship: name a program that does", shown, info.Path, console.ModulePath)
	}
	if p.GOOS == "" || p.GOARCH == "" {
		return nil, fmt.Errorf("%s does not say for which platform it was built: build it with go build", shown)
	}
	im, err := readImage(full)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	p.Needed, p.Libraries = im.needed, im.libraries()
	return p, nil
}

// setting returns a setting of the build, "" if it does not have it.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
