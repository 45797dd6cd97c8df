package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
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
	p.readLock(c)
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

// readLock reads which wheels the lock of c asks for.
func (p *Prober) readLock(c *project.Config) {
	p.locked = map[string]project.WheelFile{}
	if file, err := c.LockFile(); err == nil {
		if lock, err := project.ReadLock(file); err == nil { // gen reports what is wrong with it
			p.locked = lock.WheelsHere()
		}
	}
	maps.Copy(p.locked, p.chosen)
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
	path = find.File{Name: filepath.Base(path)}.In(filepath.Dir(path))
	lib, err := p.identify(path, schema.Library{Role: role})
	if tree := find.CachedTree(path); err == nil && tree != "" {
		lib, err = p.mended(ctx, find.Candidate{Path: path, Cached: true, Site: tree}, lib)
	}
	if err != nil && c.File() != "" {
		key := "libraries"
		if role != schema.RoleBound {
			key = "deps"
		}
		err = fmt.Errorf("%s: %s: %w", c.File(), key, err)
	}
	return lib, err
}

// mended returns lib, a file that a configuration names and that lies in a wheel of the cache, after it has repaired it if
// that was necessary.
func (p *Prober) mended(ctx context.Context, c find.Candidate, lib Library) (Library, error) {
	damage := find.Private(c.Path)
	if damage == nil {
		damage = p.undamaged(c, find.File{})
	}
	if damage == nil {
		return lib, nil
	}
	if _, err := p.mend(ctx, c, damage); err != nil {
		return Library{}, err
	}
	return p.identify(c.Path, lib.Identity)
}

// locateInPackage finds a library of a Python package where a program would find it, in the cache or installed. It
// repairs the copy in the cache if that is damaged: to take an older one instead would hide it. If there is none, it
// downloads the wheel of a known version.
func (p *Prober) locateInPackage(ctx context.Context, spec project.LibrarySpec, role schema.Role) (Library, error) {
	identity := schema.Library{Role: role, Package: spec.Package, PathInPackage: spec.Path}
	f := find.File{Name: path.Base(spec.Path), Package: spec.Package, Version: spec.Version, PathInPackage: spec.Path}
	for c, err := range find.InPackages(f, sameVersion, p.asLocked, loadable, p.undamaged) {
		fits := err == nil
		if !fits {
			if fits, err = p.mend(ctx, c, err); err != nil {
				return Library{}, err
			}
		}
		if fits {
			p.found(spec.Package, c)
			identity.PackageVersion = c.Version
			identity.PathInPackage = path.Join(path.Dir(spec.Path), filepath.Base(c.Path))
			return p.identify(c.Path, identity)
		}
	}
	dir, err := p.getWheel(ctx, spec.Package, spec.Version)
	if err != nil {
		return Library{}, err
	}
	p.found(spec.Package, find.Candidate{Cached: true, Site: dir.Root(), Version: dir.Spec().Version})
	file := f.InTree(dir.Root())
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		names, _ := contents(dir)
		libraries := slices.DeleteFunc(names, func(name string) bool { return !NamesLibrary(name) })
		return Library{}, fmt.Errorf("%s has no file %s: set path to one of its libraries, %s", dir.Spec(), spec.Path, strings.Join(libraries, " or "))
	}
	identity.PackageVersion = dir.Spec().Version
	identity.PathInPackage = path.Join(path.Dir(spec.Path), filepath.Base(file))
	return p.identify(file, identity)
}

// found records the wheel of the cache in which a library was found, if it is not pinned.
func (p *Prober) found(pkg string, c find.Candidate) {
	if !c.Cached {
		return
	}
	data, err := os.ReadFile(filepath.Join(c.Site, find.Marker))
	hash := strings.TrimSpace(string(data))
	if err != nil || hash == "" || slices.ContainsFunc(wheel.Pinned(), func(s wheel.Spec) bool { return s.SHA256 == hash }) {
		return
	}
	if p.Wheels == nil {
		p.Wheels = map[string]project.WheelFile{}
	}
	p.Wheels[pkg+"=="+c.Version] = project.WheelFile{Tag: wheel.Tag(c.Site), SHA256: hash}
}

// sameVersion is the check that a library has the version that the configuration asks for.
func sameVersion(c find.Candidate, f find.File) error {
	if f.Version != "" && f.Version != c.Version {
		return errors.New("another version")
	}
	return nil
}

// asLocked is the check that a wheel of the cache is the one in the lock.
func (p *Prober) asLocked(c find.Candidate, f find.File) error {
	want, ok := p.locked[f.Package+"=="+c.Version]
	if !c.Cached || !ok {
		return nil
	}
	hash, err := os.ReadFile(filepath.Join(c.Site, find.Marker))
	if err == nil && strings.TrimSpace(string(hash)) != want.SHA256 {
		err = errors.New("another wheel")
	}
	return err
}

// loadable is the check that a library is whole and for this machine.
func loadable(c find.Candidate, _ find.File) error {
	_, err := checkFile(c.Path)
	return err
}

// undamaged is the check that a library of the cache is what its wheel had.
func (p *Prober) undamaged(c find.Candidate, _ find.File) error {
	if !c.Cached {
		return nil
	}
	hash, err := p.hash(c.Path)
	if err != nil {
		return err
	}
	return c.Damaged(hash)
}

// mend repairs a library that failed a check, if it lies in the cache and is damaged. It reports false for a library of
// another version or platform, which is skipped.
func (p *Prober) mend(ctx context.Context, c find.Candidate, why error) (bool, error) {
	switch {
	case errors.Is(why, find.ErrShared):
		return false, fmt.Errorf("the cache: %w", why)
	case !c.Cached, !errors.Is(why, find.ErrDamaged) && !errors.Is(why, symbols.ErrTruncated):
		return false, nil // another version or platform, or no cache, as where HOME is not set: programs go on, too
	}
	wheels, _, err := wheel.Unpacked()
	if err != nil {
		return false, fmt.Errorf("the cache: %w", err)
	}
	i := slices.IndexFunc(wheels, func(d wheel.Dir) bool { return d.Root() == c.Site })
	switch {
	case i < 0:
		return false, fmt.Errorf("%w: remove the folder %s, which this version of tvmffi-bind cannot get again", why, c.Site)
	case !wheels[i].Spec().Here():
		return false, nil
	}
	return true, p.Repair(ctx, wheels[i], why)
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
// the version of the package; without one it is the library of [Prober.Core].
func (p *Prober) CoreOf(ctx context.Context, c *project.Config) (Library, error) {
	for _, group := range groups(c) {
		for _, spec := range group.specs {
			if spec.Package == "" && find.IsCore(filepath.Base(spec.File)) {
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

// hash returns the SHA-256 hash of a file. It reads a library only once, because some take longer
// to read than everything else.
func (p *Prober) hash(path string) (string, error) {
	if known := p.hashes[path]; known != "" {
		return known, nil
	}
	if info, err := os.Stat(path); err == nil && info.Size() >= keptSize {
		if _, err := symbols.Read(path); err != nil { // a file that is not a library may have any size
			return "", err
		}
	}
	hash, err := hashFile(path, keptSize, keptAge)
	if err != nil {
		return "", err
	}
	if p.hashes == nil {
		p.hashes = map[string]string{}
	}
	p.hashes[path] = hash
	return hash, nil
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
	_, err := p.Console.StepOf("downloading "+d.Spec().Package, wheel.Downloading, func() error {
		_, err := wheel.Repair(ctx, d)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; it cannot be repaired: %w", damage, err)
	}
	return nil
}

// getWheel gets a wheel whose hash is pinned, or stands in the lock. An empty version means the newest pinned one.
func (p *Prober) getWheel(ctx context.Context, pkg, version string) (wheel.Dir, error) {
	spec, err := pinnedWheel(pkg, version)
	if f, ok := p.locked[pkg+"=="+version]; err != nil && ok {
		spec, err = wheel.Tagged(pkg, version, f.Tag, f.SHA256), nil
	}
	if err != nil {
		return wheel.Dir{}, err
	}
	return p.fetch(ctx, spec)
}

// fetch returns a wheel from the cache. It downloads it first if it is not there.
func (p *Prober) fetch(ctx context.Context, spec wheel.Spec) (wheel.Dir, error) {
	if dir, ok := wheel.Cached(spec); ok {
		return dir, nil
	}
	if p.Offline {
		if p.Examines {
			return wheel.Dir{}, fmt.Errorf("%s is neither installed nor in the cache; it was not looked for on the network", spec)
		}
		what := spec.String()
		if spec.Package == project.CorePackage {
			what = "--version " + spec.Version
		}
		return wheel.Dir{}, fmt.Errorf("%s is neither installed nor in the cache, and --offline forbids to download it: run \"%s setup %s\" once with a network connection, or install it with pip", spec, console.Command(), what)
	}
	return p.download(spec.String(), func() (wheel.Dir, error) { return wheel.Get(ctx, spec) })
}

// download gets a wheel and says so.
func (p *Prober) download(what string, get func() (wheel.Dir, error)) (dir wheel.Dir, err error) {
	p.Console.Notef("downloading %s with pip or uv\n", what)
	_, err = p.Console.StepOf("downloading "+what, wheel.Downloading, func() (err error) {
		dir, err = get()
		return err
	})
	if err == nil {
		_, size := contents(dir)
		p.Console.Notef("unpacked %s: %.1f MB\n", dir.Spec(), float64(size)/1e6)
	}
	return dir, err
}

// contents returns the paths of the files in a wheel, and the number of their bytes.
func contents(d wheel.Dir) (names []string, size int64) {
	_ = fs.WalkDir(os.DirFS(d.Root()), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				names, size = append(names, name), size+info.Size()
			}
		}
		return nil
	})
	return names, size
}

// pinnedWheel returns the newest pinned wheel of a package for this platform, or the one with a version.
func pinnedWheel(pkg, version string) (wheel.Spec, error) {
	if pkg == project.CorePackage {
		return wheel.TVMFFI(version, runtime.GOOS, runtime.GOARCH)
	}
	var names, versions []string
	for _, s := range slices.Backward(wheel.Pinned()) {
		if names = append(names, s.Package); s.Package != pkg || !s.Here() {
			continue
		}
		if version == "" || s.Version == version {
			return s, nil
		}
		versions = append(versions, s.Version)
	}
	// A name like a known one is a mistake. To install what has that name could be dangerous.
	if guess := nearest.Question(pkg, names); guess != "" && !slices.Contains(names, pkg) {
		return wheel.Spec{}, fmt.Errorf("the Python package %s is neither installed nor known%s", pkg, guess)
	}
	want, other := pkg, ""
	if version != "" {
		want += "==" + version
	}
	if len(versions) > 0 {
		slices.Reverse(versions)
		other = ", or ask for version " + strings.Join(versions, " or ")
	}
	return wheel.Spec{}, fmt.Errorf("the Python package %s is neither installed nor in the cache, and no hash of a wheel of it for %s is known: check the name, and run \"%s setup %s\", which gets it with pip%s",
		want, project.Platform(), console.Command(), want, other)
}

// CoreVersions lists the pinned versions of the Python package of libtvm_ffi for this platform.
func CoreVersions() []string {
	var versions []string
	for _, s := range wheel.Pinned() {
		if s.Package == project.CorePackage && s.Here() {
			versions = append(versions, s.Version)
		}
	}
	return versions
}

// NoLibrary returns the error for a library that does not exist.
func NoLibrary(path string) error {
	return fmt.Errorf("there is no library at %s: check the path, or build it first%s", console.Shown(path), nearest.File(path))
}

// identify completes the identity of the library at path.
func (p *Prober) identify(path string, l schema.Library) (Library, error) {
	info, err := os.Stat(path) // to open a pipe would wait forever
	if err != nil || !info.Mode().IsRegular() {
		if device := find.Device(path); device != nil {
			return Library{}, device
		}
	}
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
