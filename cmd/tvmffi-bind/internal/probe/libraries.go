package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Library is a shared library on this machine. Identity has its hash and its role.
type Library struct {
	Path     string         `json:"path"`
	Identity schema.Library `json:"identity"`
}

// Locate finds libtvm_ffi, the dependencies and the libraries of c. It returns them in
// the order in which they are loaded.
func (p *Prober) Locate(ctx context.Context, c *project.Config) ([]Library, error) {
	core, err := p.CoreOf(ctx, c)
	if err != nil {
		return nil, err
	}
	all := []Library{core}
	for _, group := range groups(c) {
		for _, spec := range group.specs {
			lib, err := p.locate(ctx, c, spec, group.role)
			if err != nil {
				return nil, err
			}
			if lib.Identity.SHA256 == core.Identity.SHA256 {
				all[0].Identity.Role = group.role // libtvm_ffi itself is to be bound
				continue
			}
			if i := slices.IndexFunc(all, func(l Library) bool { return l.Identity.File == lib.Identity.File }); i >= 0 {
				return nil, fmt.Errorf("%s and %s are both called %s: name each library once", console.Shown(all[i].Path), console.Shown(lib.Path), lib.Identity.File)
			}
			all = append(all, lib)
		}
	}
	return all, nil
}

// locate finds one library of a configuration.
func (p *Prober) locate(ctx context.Context, c *project.Config, spec project.LibrarySpec, role schema.Role) (Library, error) {
	if spec.Package != "" {
		return p.locateInPackage(ctx, spec, role)
	}
	path, err := c.Rooted(spec.File)
	if err != nil {
		return Library{}, err
	}
	lib, err := p.identifyWhole(ctx, path, schema.Library{Role: role})
	if err != nil && c.File() != "" {
		key := "libraries"
		if role != schema.RoleBound {
			key = "deps"
		}
		err = fmt.Errorf("%s: %s: %w", c.File(), key, err)
	}
	return lib, err
}

// locateInPackage finds a library of a Python package where a program would find
// it, in the cache or installed. If it is in neither, it downloads the wheel of a known
// version.
func (p *Prober) locateInPackage(ctx context.Context, spec project.LibrarySpec, role schema.Role) (Library, error) {
	cached, err := p.cached(ctx, spec)
	if err != nil {
		return Library{}, err
	}
	for _, found := range append(cached, find.Installed(spec.Package, spec.Path)...) {
		if spec.Version != "" && spec.Version != found.Version || checkFile(found.Path) != nil {
			continue // another version, or in the cache for another platform
		}
		return p.identify(found.Path, schema.Library{Role: role, Package: spec.Package, PackageVersion: found.Version, PathInPackage: spec.Path})
	}
	dir, err := p.getWheel(ctx, spec.Package, spec.Version)
	if err != nil {
		return Library{}, err
	}
	file := dir.Path(spec.Path)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return Library{}, fmt.Errorf("%s has no file %s: set path to one of its libraries, %s", dir.Spec(), spec.Path, strings.Join(librariesIn(dir), " or "))
	}
	return p.identify(file, schema.Library{Role: role, Package: spec.Package, PackageVersion: dir.Spec().Version, PathInPackage: spec.Path})
}

// group is one of the two lists of libraries in a configuration.
type group struct {
	role  schema.Role
	specs []project.LibrarySpec
}

// groups returns the lists of c in the order in which they are loaded.
func groups(c *project.Config) []group {
	return []group{{schema.RoleDependency, c.Deps}, {schema.RoleBound, c.Libraries}}
}

// CoreOf finds the libtvm_ffi that c names among its deps and libraries, as a file or by
// the version of the package; without one it is that of [Prober.Core].
func (p *Prober) CoreOf(ctx context.Context, c *project.Config) (Library, error) {
	name := filepath.Base(find.PathOfCore(runtime.GOOS))
	for _, group := range groups(c) {
		for _, spec := range group.specs {
			if spec.Package == "" && filepath.Base(spec.File) == name {
				lib, err := p.locate(ctx, c, spec, group.role)
				lib.Identity.Role = schema.RoleCore
				return lib, err
			}
		}
	}
	return p.Core(ctx, c.CoreVersion())
}

// Core finds libtvm_ffi: the file that TVMFFI_LIBRARY names, or the library in the Python
// package. A version that is not "" asks for that version of the package.
func (p *Prober) Core(ctx context.Context, version string) (Library, error) {
	identity := schema.Library{Role: schema.RoleCore}
	if explicit := os.Getenv("TVMFFI_LIBRARY"); explicit != "" && version == "" {
		path, err := filepath.Abs(explicit)
		if err != nil {
			return Library{}, err
		}
		lib, err := p.identify(path, identity)
		if err != nil {
			return Library{}, fmt.Errorf("TVMFFI_LIBRARY: %w", err)
		}
		return lib, nil
	}
	return p.locateInPackage(ctx, project.LibrarySpec{Package: project.CorePackage, Version: version, Path: find.PathOfCore(runtime.GOOS)}, schema.RoleCore)
}

// cached returns the copies of a library in the cache. It repairs the first one that would be
// taken if that is damaged: to take an older one instead would hide it.
func (p *Prober) cached(ctx context.Context, spec project.LibrarySpec) ([]find.Candidate, error) {
	found, err := find.Cached(spec.Package, spec.Path)
	if errors.Is(err, find.ErrShared) {
		return nil, fmt.Errorf("the cache: %w", err)
	}
	if len(found) == 0 { // or there is no cache, as where HOME is not set: programs go on, too
		return nil, nil
	}
	wheels, _, err := wheel.Unpacked()
	if err != nil {
		return nil, fmt.Errorf("the cache: %w", err)
	}
	for _, i := range found {
		if spec.Version != "" && spec.Version != i.Version {
			continue
		}
		at := slices.IndexFunc(wheels, func(d wheel.Dir) bool { return d.Root() == i.Site })
		damage := p.damaged(i)
		switch {
		case at >= 0 && !Here(wheels[at]), damage != nil && !errors.Is(damage, find.ErrDamaged) && !errors.Is(damage, symbols.ErrTruncated):
			continue // for another platform
		case damage == nil:
			return found, nil
		case at < 0:
			return nil, fmt.Errorf("%w: remove the folder %s, which this version of tvmffi-bind cannot get again", damage, i.Site)
		}
		return found, p.Repair(ctx, wheels[at], damage)
	}
	return found, nil
}

// identifyWhole is identify for a file that a configuration names. If it is of a wheel in the
// cache, it is compared with that wheel, and repaired.
func (p *Prober) identifyWhole(ctx context.Context, path string, identity schema.Library) (Library, error) {
	lib, err := p.identify(path, identity)
	if err != nil {
		return lib, err
	}
	cache, err := wheel.CacheDir()
	if err != nil || !strings.HasPrefix(path, cache+string(filepath.Separator)) {
		return lib, nil
	}
	wheels, _, err := wheel.Unpacked()
	if err != nil {
		return Library{}, fmt.Errorf("the cache: %w", err)
	}
	for _, d := range wheels {
		if !strings.HasPrefix(path, d.Root()+string(filepath.Separator)) {
			continue
		}
		if damage := (find.Candidate{Path: path, Site: d.Root()}).Damaged(lib.Identity.SHA256); damage != nil {
			if err := p.Repair(ctx, d, damage); err != nil {
				return Library{}, err
			}
			return p.identify(path, identity)
		}
	}
	return lib, nil
}

// damaged returns why a library in the cache cannot be loaded, nil if it can.
func (p *Prober) damaged(i find.Candidate) error {
	if err := checkFile(i.Path); err != nil {
		return err
	}
	hash, err := p.hash(i.Path)
	if err != nil {
		return err
	}
	return i.Damaged(hash)
}

// hash returns the SHA-256 hash of a file. It reads a library only once, because some take longer
// to read than everything else.
func (p *Prober) hash(path string) (string, error) {
	if known := p.hashes[path]; known != "" {
		return known, nil
	}
	hash, err := find.HashFile(path)
	if err != nil {
		return "", err
	}
	if p.hashes == nil {
		p.hashes = map[string]string{}
	}
	p.hashes[path] = hash
	return hash, nil
}

// Here reports whether a wheel is for this platform.
func Here(d wheel.Dir) bool {
	return d.Spec().GOOS == runtime.GOOS && d.Spec().GOARCH == runtime.GOARCH
}

// Repair gets a damaged wheel of the cache again, unless downloads are forbidden.
func (p *Prober) Repair(ctx context.Context, d wheel.Dir, damage error) error {
	if p.Examines {
		return damage
	}
	if p.Offline {
		return fmt.Errorf("%w: run \"%s setup\" with a network connection, which gets it again, or remove the folder %s", damage, console.Command(), d.Root())
	}
	p.Console.Notef("%v; downloading %s again\n", damage, d.Spec())
	clear(p.hashes)
	_, err := p.Console.Step("downloading "+d.Spec().Package, func() error {
		_, err := wheel.Repair(ctx, d)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; it cannot be repaired: %w", damage, err)
	}
	return nil
}

// getWheel gets a pinned wheel; an empty version means the newest pinned one.
func (p *Prober) getWheel(ctx context.Context, pkg, version string) (wheel.Dir, error) {
	spec, err := pinnedWheel(pkg, version)
	if err != nil {
		return wheel.Dir{}, err
	}
	if dir, ok := wheel.Cached(spec); ok {
		return dir, nil
	}
	if p.Offline {
		if p.Examines {
			return wheel.Dir{}, fmt.Errorf("%s is neither installed nor in the cache; it was not looked for on the network", spec)
		}
		return wheel.Dir{}, fmt.Errorf("%s is neither installed nor in the cache, and --offline forbids to download it: run \"%s setup\" once with a network connection, or install it with pip", spec, console.Command())
	}
	p.Console.Notef("downloading %s with pip or uv\n", spec)
	var dir wheel.Dir
	_, err = p.Console.Step("downloading "+spec.Package, func() (err error) {
		dir, err = wheel.Get(ctx, spec)
		return err
	})
	if err == nil {
		p.Console.Notef("unpacked %s: %.1f MB\n", spec, float64(size(dir.Path("")))/1e6)
	}
	return dir, err
}

// size returns the number of bytes of the files in a folder.
func size(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

func pinnedWheel(pkg, version string) (wheel.Spec, error) {
	if pkg == project.CorePackage {
		return wheel.TVMFFI(version, runtime.GOOS, runtime.GOARCH)
	}
	for _, s := range slices.Backward(wheel.Pinned()) {
		if s.Package == pkg && s.GOOS == runtime.GOOS && s.GOARCH == runtime.GOARCH && (version == "" || s.Version == version) {
			return s, nil
		}
	}
	want := pkg
	if version != "" {
		want += "==" + version
	}
	var names, versions []string
	for _, s := range wheel.Pinned() {
		names = append(names, s.Package)
		if s.Package == pkg && s.GOOS == runtime.GOOS && s.GOARCH == runtime.GOARCH {
			versions = append(versions, s.Version)
		}
	}
	searched := strings.Join(find.Searched(), ", ")
	// A name like a known one is a mistake. To install what has that name could be dangerous.
	if guess := nearest.Question(pkg, names); guess != "" && !slices.Contains(names, pkg) {
		return wheel.Spec{}, fmt.Errorf("the Python package %s is neither installed nor known%s (searched: %s)", pkg, guess, searched)
	}
	other := ""
	if len(versions) > 0 {
		other = ", or ask for version " + strings.Join(versions, " or ")
	}
	return wheel.Spec{}, fmt.Errorf("the Python package %s is not installed, and tvmffi-bind has no pinned wheel of it for %s: check the name, and run \"pip install %s\"%s; searched: %s",
		pkg, project.Platform(), want, other, searched)
}

// CoreVersions lists the pinned versions of the Python package of libtvm_ffi for this platform.
func CoreVersions() []string {
	var versions []string
	for _, s := range wheel.Pinned() {
		if s.Package == project.CorePackage && s.GOOS == runtime.GOOS && s.GOARCH == runtime.GOARCH {
			versions = append(versions, s.Version)
		}
	}
	return versions
}

// librariesIn lists the shared libraries in a wheel, as path would name them.
func librariesIn(dir wheel.Dir) []string {
	var names []string
	top := dir.Path("")
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && NamesLibrary(path) {
			if rel, err := filepath.Rel(top, path); err == nil {
				names = append(names, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return names
}

// NoLibrary returns the error for a library that does not exist.
func NoLibrary(path string) error {
	return fmt.Errorf("there is no library at %s: check the path, or build it first%s", console.Shown(path), nearest.File(path))
}

// identify completes the identity of the library at path.
func (p *Prober) identify(path string, l schema.Library) (Library, error) {
	info, err := os.Stat(path) // to open a pipe would wait forever
	if errors.Is(err, fs.ErrNotExist) {
		return Library{}, NoLibrary(path)
	}
	if err != nil {
		return Library{}, err
	}
	if !info.Mode().IsRegular() {
		return Library{}, fmt.Errorf("%s is not a file: name the shared library itself", console.Shown(path))
	}
	if l.SHA256, err = p.hash(path); err != nil {
		return Library{}, fmt.Errorf("cannot read %s: %w", console.Shown(path), err)
	}
	l.File = filepath.Base(path)
	return Library{Path: path, Identity: l}, nil
}
