package shipment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// Shipment is what goes into a folder.
type Shipment struct {
	program *Program
	layout  *layout
	modules []part
	// Files has the program and its libraries, in the folder.
	Files []string
	// System are the libraries that the other machine must have.
	System []string
	// Unlicensed are the libraries and modules whose licence was not found.
	Unlicensed []string
}

// New finds out what goes with a program. named are files of libraries that it loads without bindings, or in place of those that
// would be found.
func New(ctx context.Context, p *Program, named []string) (*Shipment, error) {
	all, err := p.locate(named)
	if err != nil {
		return nil, err
	}
	s := &Shipment{program: p, modules: modules(ctx, p.Build)}
	if s.layout, err = p.layOut(all); err != nil {
		return nil, err
	}
	base := filepath.Base(p.Path)
	if _, taken := s.layout.files[base]; taken || base == "lib" || base == licenses {
		return nil, fmt.Errorf("the program is called %s, as something else in the folder is: build it under another name with go build -o", base)
	}
	s.Files, s.System = append([]string{base}, s.layout.order...), s.layout.System
	for _, at := range s.layout.order {
		if shipped := probe.NewShipped(s.layout.files[at].origin); len(shipped.LicenseFiles) == 0 {
			s.Unlicensed = append(s.Unlicensed, at)
			if shipped.License != "" {
				s.Unlicensed[len(s.Unlicensed)-1] += " (" + shipped.License + ")"
			}
		}
	}
	for _, m := range s.modules {
		if len(m.licenses) == 0 {
			s.Unlicensed = append(s.Unlicensed, m.name)
		}
	}
	return s, nil
}

// licenses is the folder of the licences.
const licenses = "licenses"

// CheckFolder returns an error if a folder cannot become that of a program.
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // it is made, or that says why not
	}
	shown := console.Shown(dir)
	if !info.IsDir() {
		return fmt.Errorf("%s is a file: name a folder that does not exist or is empty", shown)
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(info, here) {
		return fmt.Errorf("%s is the working folder, which ship cannot replace: name a folder that does not exist or is empty", shown)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty (it has %s): remove it, or name a folder that does not exist or is empty", shown, entries[0].Name())
	}
	return nil
}

// Write makes the folder. It appears with all its files or not at all.
func (s *Shipment) Write(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := errors.Join(CheckFolder(dir), os.MkdirAll(filepath.Dir(dir), 0o755)); err != nil {
		return err
	}
	return whole.Tree(dir, func(into string) error {
		if err := probe.CopyFile(filepath.Join(into, filepath.Base(s.program.Path)), s.program.Path, 0o755); err != nil {
			return err
		}
		for _, at := range s.layout.order {
			lib, to := s.layout.files[at], filepath.Join(into, filepath.FromSlash(at))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := probe.CopyFile(to, lib.Path, 0o644); err != nil {
				return err
			}
			if err := probe.NewShipped(lib.origin).CopyLicenses(into); err != nil {
				return err
			}
		}
		for _, m := range s.modules {
			folder := filepath.Join(into, licenses, "go", filepath.FromSlash(m.folder))
			for _, file := range slices.Sorted(slices.Values(m.licenses)) {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					return err
				}
				if err := probe.CopyFile(filepath.Join(folder, filepath.Base(file)), file, 0o644); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
