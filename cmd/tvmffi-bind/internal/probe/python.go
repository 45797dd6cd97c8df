package probe

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/schema"
)

// PythonPackage is a folder with the files of a Python distribution.
type PythonPackage struct {
	Dir     string
	Version string
	SHA256  string // of its wheel, "" if that is not known
}

// PythonPackage finds the files of the Python distribution that spec names. With a path in spec, that is where
// the library is, otherwise it is a wheel whose hash is known.
func (p *Prober) PythonPackage(ctx context.Context, spec project.LibrarySpec) (PythonPackage, error) {
	if spec.Path == "" {
		get := p.getWheel // of a known version
		if spec.Version != "" {
			get = func(ctx context.Context, pkg, version string) (wheel.Dir, error) {
				return p.anyWheel(ctx, pkg+"=="+version)
			}
		}
		dir, err := get(ctx, spec.Package, spec.Version)
		if err != nil {
			return PythonPackage{}, err
		}
		return PythonPackage{Dir: dir.Root(), Version: dir.Spec().Version, SHA256: dir.Spec().SHA256}, nil
	}
	lib, err := p.locateInPackage(ctx, spec, schema.RoleBound)
	if err != nil {
		return PythonPackage{}, err
	}
	root := strings.TrimSuffix(lib.Path, filepath.FromSlash(spec.Path))
	top, _, _ := strings.Cut(spec.Path, "/") // other packages may lie beside it
	found := PythonPackage{Dir: filepath.Join(root, top), Version: lib.Identity.PackageVersion}
	if hash, err := os.ReadFile(filepath.Join(root, find.Marker)); err == nil {
		found.SHA256 = strings.TrimSpace(string(hash))
	}
	return found, nil
}
