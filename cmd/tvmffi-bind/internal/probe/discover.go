package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// Discover gets a wheel, which what names by its file or by NAME[==VERSION], and writes into c the
// libraries of TVM-FFI in it and what they need: the libtvm_ffi that the wheel asks for, the CUDA
// runtime, and libraries of the packages that it requires. The wheel is returned with an error about what is in it, too.
func (p *Prober) Discover(ctx context.Context, c *project.Config, what string) (wheel.Dir, error) {
	p.readLock(c)
	dir, err := p.anyWheel(ctx, what)
	if err != nil {
		return wheel.Dir{}, err
	}
	found, err := librariesIn(dir)
	if err != nil {
		return dir, err
	}
	p.choose(dir)
	var files []string
	for _, f := range found {
		c.Libraries = append(c.Libraries, project.LibrarySpec{Package: dir.Spec().Package, Version: dir.Spec().Version, Path: f.path})
		files = append(files, dir.Path(f.path))
	}
	if err := p.AddCUDA(ctx, c, files, true); err != nil {
		return dir, err
	}
	return dir, p.complete(ctx, c, dir)
}

// Serves returns the libraries of a pinned wheel that other libraries need. They do not use TVM-FFI themselves.
func Serves(dir wheel.Dir) (specs []project.LibrarySpec) {
	if !slices.ContainsFunc(wheel.Pinned(), func(s wheel.Spec) bool { return s.SHA256 == dir.Spec().SHA256 }) {
		return nil
	}
	names, _ := contents(dir)
	slices.Sort(names)
	for _, name := range names {
		f, err := checkFile(dir.Path(name))
		if NamesLibrary(name) && err == nil && !f.UsesFFI() && !f.ImportsPython {
			specs = append(specs, project.LibrarySpec{Package: dir.Spec().Package, Version: dir.Spec().Version, Path: name})
		}
	}
	return specs
}

// anyWheel gets a wheel that need not be known.
func (p *Prober) anyWheel(ctx context.Context, what string) (wheel.Dir, error) {
	if FormOf(what) == WheelFile {
		return advised(wheel.Take(ctx, what, p.Most<<20))
	}
	name, version, exact := strings.Cut(what, "==")
	if exact {
		if f, ok := p.locked[wheel.Normal(name)+"=="+version]; ok {
			return p.fetch(ctx, wheel.Tagged(wheel.Normal(name), version, f.Tag, f.SHA256))
		}
		here := func(d wheel.Dir) bool { _, err := librariesIn(d); return err == nil }
		if dir, ok := wheel.Have(name, version, here); ok {
			return dir, nil
		}
	}
	if spec, err := pinnedWheel(wheel.Normal(name), version); err == nil { // the newest one, if there is no version
		return p.fetch(ctx, spec)
	}
	if p.Offline && exact { // what is wrong with it is the same as if it was downloaded again
		if dir, ok := wheel.Have(name, version, func(wheel.Dir) bool { return true }); ok {
			return dir, nil
		}
	}
	if p.Examines {
		return wheel.Dir{}, fmt.Errorf("%s is not in the cache, and this command downloads nothing: run \"%s setup %[1]s\" first", what, console.Command())
	}
	if p.Offline {
		return wheel.Dir{}, fmt.Errorf("%s is not in the cache, and --offline forbids to download it: run the command once with a network connection, or name the file of its wheel", what)
	}
	return p.download(what, func() (wheel.Dir, error) { return advised(wheel.Find(ctx, what, p.Most<<20)) })
}

// advised says what to do about a wheel that is too large.
func advised(d wheel.Dir, err error) (wheel.Dir, error) {
	if errors.Is(err, wheel.ErrTooLarge) {
		err = fmt.Errorf("%w; nothing of it was kept: if you trust it, allow more megabytes with --most", err)
	}
	return d, err
}

// foundLibrary is a library in a wheel.
type foundLibrary struct {
	symbols.File
	path string // in the wheel, with slashes
}

// librariesIn lists the libraries of a wheel that use TVM-FFI and that a program on this machine
// can load, those that others need first.
func librariesIn(dir wheel.Dir) ([]foundLibrary, error) {
	names, _ := contents(dir)
	slices.Sort(names)
	var all []foundLibrary
	var others int
	var elsewhere error
	for _, name := range names {
		if !NamesLibrary(name) || find.IsCore(path.Base(name)) {
			continue
		}
		file, err := symbols.Read(dir.Path(name))
		if err != nil || !file.UsesFFI() || file.ImportsPython {
			others++
		} else if err := file.CheckHost(runtime.GOOS, runtime.GOARCH); err != nil {
			elsewhere = err
		} else {
			all = append(all, foundLibrary{file, name})
		}
	}
	if len(all) == 0 {
		switch {
		case elsewhere != nil:
			return nil, console.Refuse("this wheel of %s %s is for another platform: %w", dir.Spec().Package, dir.Spec().Version, elsewhere)
		case others > 0:
			return nil, console.Refuse("no library of %s uses TVM-FFI, or all that do are extensions of Python: check the name; \"%s ls FILE\" says what one library offers", dir.Spec(), console.Command())
		default:
			return nil, console.Refuse("%s is Python without libraries: if it compiles kernels when it runs, name the library files that it leaves in its cache; docs/JIT.md of tvmffi-bind says how a kernel of the CuTe DSL or Triton becomes a file", dir.Spec())
		}
	}
	return inOrder(all), nil
}

// inOrder puts each library behind the libraries that it needs. The others keep their order.
func inOrder(all []foundLibrary) []foundLibrary {
	var sorted []foundLibrary
	for len(all) > 0 {
		i := max(0, slices.IndexFunc(all, func(f foundLibrary) bool {
			return !slices.ContainsFunc(all, func(other foundLibrary) bool {
				return other.path != f.path && slices.ContainsFunc(f.Needed, func(name string) bool {
					return path.Base(name) == cmp.Or(path.Base(other.ID), other.Name) || path.Base(name) == other.Name
				})
			})
		}))
		sorted = append(sorted, all[i])
		all = slices.Delete(all, i, i+1)
	}
	return sorted
}
