package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// A requirement is a package that the metadata of a wheel asks for.
type requirement struct {
	name       string // in its normal form
	specifiers string // of versions, such as ">=0.1.2,<0.2"; "" if every version will do
}

// String returns the requirement as package tools read it.
func (r requirement) String() string { return r.name + r.specifiers }

// requirementForm is a line such as "name[extra] (>=1,<2) ; marker", in which all but the name may be missing.
var requirementForm = regexp.MustCompile(`^([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(;.*)?$`)

// requirements returns the packages that the metadata of a wheel asks for, without those of extras.
func requirements(dir wheel.Dir) (all []requirement, err error) {
	root := os.DirFS(dir.Root())
	files, _ := fs.Glob(root, "*.dist-info/METADATA")
	if len(files) != 1 {
		return nil, fmt.Errorf("%s has %d files *.dist-info/METADATA, not 1", dir.Spec(), len(files))
	}
	err = fields(root, files[0], func(key, value string) {
		m := requirementForm.FindStringSubmatch(value)
		if key == "Requires-Dist" && m != nil && !strings.Contains(m[3], "extra") {
			all = append(all, requirement{wheel.Normal(m[1]), strings.ReplaceAll(m[2], " ", "")})
		}
	})
	return all, err
}

// coreRequirement returns the versions of libtvm_ffi that wheels ask for, such as ">=0.1.2,<0.2". It is "" if every
// version will do.
func coreRequirement(dirs []wheel.Dir) (string, error) {
	var specifiers []string
	for _, dir := range dirs {
		all, err := requirements(dir)
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(all, func(r requirement) bool { return r.name == project.CorePackage }); i >= 0 && all[i].specifiers != "" {
			specifiers = append(specifiers, all[i].specifiers)
		}
	}
	return strings.Join(specifiers, ","), nil
}

// coresFor returns the known versions of libtvm_ffi that wheels ask for, the newest first. If they
// ask for another one, that is the only one, and coresFor gets it. None means any.
func (p *Prober) coresFor(ctx context.Context, dirs []wheel.Dir) ([]string, error) {
	specifiers, err := coreRequirement(dirs)
	if err != nil || specifiers == "" {
		return nil, err
	}
	known := CoreVersions()
	slices.SortFunc(known, func(a, b string) int { return compareVersions(b, a) })
	known = slices.DeleteFunc(known, func(v string) bool { return !satisfies(v, specifiers) })
	if len(known) > 0 {
		return known, nil
	}
	if exact, ok := strings.CutPrefix(specifiers, "=="); ok && !strings.ContainsAny(exact, "*,") {
		for c, err := range find.InPackages(find.File{Name: find.CoreName(), Package: project.CorePackage, Version: exact, PathInPackage: find.PathOfCore(runtime.GOOS)}, sameVersion, loadable) {
			if err == nil {
				return []string{c.Version}, nil
			}
		}
	}
	core, err := p.anyWheel(ctx, project.CorePackage+specifiers)
	if err != nil {
		return nil, fmt.Errorf("%s needs %s%s: %w", dirs[0].Spec(), project.CorePackage, specifiers, err)
	}
	p.choose(core)
	return []string{core.Spec().Version}, nil
}

// complete adds to c what the libraries of wheels need, until they can be read: the libtvm_ffi that the wheels ask for,
// and libraries of the packages that they require. A libtvm_ffi that the user has named for files stays. An error that this
// does not remedy is for the caller, who reads the libraries, too.
func (p *Prober) complete(ctx context.Context, c *project.Config, dirs ...wheel.Dir) error {
	cores := p.coresFor
	if c.File() == "" && find.ExplicitCore(&find.Options{}) != "" {
		cores = func(context.Context, []wheel.Dir) ([]string, error) { return nil, nil }
	}
	versions, err := cores(ctx, dirs)
	if err != nil {
		return err
	}
	deps, n := c.Deps, 0 // versions[n] is tried
	sought := map[string]bool{}
	for {
		c.Deps = deps
		if len(versions) > 0 {
			c.Deps = append([]project.LibrarySpec{{Package: project.CorePackage, Version: versions[n], Path: find.PathOfCore(runtime.GOOS)}}, deps...)
		}
		_, err := p.Read(ctx, c)
		lacking, lacks := errors.AsType[*missing](err)
		switch {
		case lacks && !sought[lacking.library]:
			sought[lacking.library] = true
			found, from, err := p.require(ctx, dirs, lacking)
			if err != nil {
				return err
			}
			deps = append(deps, found...)
			if slices.ContainsFunc(dirs, func(d wheel.Dir) bool { return d.Root() == from.Root() }) {
				continue
			}
			dirs = append(dirs, from)
			if versions, err = cores(ctx, dirs); err != nil {
				return err
			}
			n = 0
		case len(versions) < 2 || err == nil || !strings.Contains(err.Error(), libraries.OtherVersion):
			return nil
		case n == len(versions)-1:
			return fmt.Errorf("%s was built for none of the known versions of %s that it asks for (%s): name another version of it", dirs[0].Spec(), project.CorePackage, strings.Join(versions, ", "))
		default: // a package may ask for less than what its libraries were built for
			p.Console.Notef("%s was built for another %s than %s: trying %s\n", dirs[0].Spec(), project.CorePackage, versions[n], versions[n+1])
			n++
		}
	}
}

// require finds a library that other ones lack in a package that their wheels require, with the libraries of that package
// that it needs itself, which come first. Of the packages, only those that are called like the library are downloaded.
func (p *Prober) require(ctx context.Context, dirs []wheel.Dir, lacking *missing) ([]project.LibrarySpec, wheel.Dir, error) {
	var asked []requirement
	for _, dir := range dirs {
		all, err := requirements(dir)
		if err != nil {
			return nil, wheel.Dir{}, err
		}
		for _, r := range all {
			if akin(lacking.library, r.name) > 0 && r.name != project.CorePackage {
				asked = append(asked, r)
			}
		}
	}
	slices.SortStableFunc(asked, func(a, b requirement) int {
		return cmp.Compare(akin(lacking.library, b.name), akin(lacking.library, a.name))
	})
	err := error(lacking)
	for _, r := range slices.Compact(asked) {
		dir, failed := p.required(ctx, r)
		if ctx.Err() != nil {
			return nil, wheel.Dir{}, ctx.Err()
		}
		if failed != nil {
			err = fmt.Errorf("%w; it may be in %s, which %s requires: %w", err, r, dirs[0].Spec(), failed)
			continue
		}
		found := withNeeded(dir, lacking.library)
		if len(found) == 0 {
			err = fmt.Errorf("%w; %s, which %s requires, has no such file", err, dir.Spec(), dirs[0].Spec())
			continue
		}
		p.choose(dir)
		p.Console.Notef("%s is in %s, which %s requires\n", lacking.library, dir.Spec(), dirs[0].Spec())
		return found, dir, nil
	}
	return nil, wheel.Dir{}, err
}

// akin returns how many words the name of a library shares with the name of a package, such as libz3.so.4 with z3-solver.
func akin(library, pkg string) (n int) {
	stem, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(library), "lib"), ".")
	words := strings.Split(wheel.Normal(stem), "-")
	for word := range strings.SplitSeq(pkg, "-") {
		if slices.Contains(words, word) {
			n++
		}
	}
	return n
}

// required gets a wheel that fits a requirement: one with a known hash, one in the cache, or the one that the package tool
// chooses.
func (p *Prober) required(ctx context.Context, r requirement) (wheel.Dir, error) {
	fits := func(version string) bool { return r.specifiers == "" || satisfies(version, r.specifiers) }
	for _, s := range slices.Backward(wheel.Pinned()) {
		if s.Package == r.name && s.Here() && fits(s.Version) {
			return p.fetch(ctx, s)
		}
	}
	if dir, ok := wheel.Have(r.name, "", func(d wheel.Dir) bool { return fits(d.Spec().Version) }); ok {
		return dir, nil
	}
	return p.anyWheel(ctx, r.String())
}

// withNeeded returns the library of a wheel with that file name, behind the libraries of the wheel that it needs.
func withNeeded(dir wheel.Dir, name string) (specs []project.LibrarySpec) {
	names, _ := contents(dir)
	slices.Sort(names)
	var add func(name string)
	add = func(name string) {
		i := slices.IndexFunc(names, func(file string) bool { return path.Base(file) == name })
		if i < 0 {
			return
		}
		file := names[i]
		names = slices.Delete(names, i, i+1) // once, also in a circle
		f, err := symbols.Read(dir.Path(file))
		if err != nil || f.CheckHost(runtime.GOOS, runtime.GOARCH) != nil {
			return
		}
		for _, needed := range f.Needed {
			if !find.IsCore(path.Base(needed)) {
				add(path.Base(needed))
			}
		}
		specs = append(specs, project.LibrarySpec{Package: dir.Spec().Package, Version: dir.Spec().Version, Path: file})
	}
	add(name)
	return specs
}

// choose makes [Prober.Locate] take a wheel, and not another one of its version.
func (p *Prober) choose(dir wheel.Dir) {
	if p.chosen == nil {
		p.chosen = map[string]project.WheelFile{}
	}
	s := dir.Spec()
	p.chosen[s.Package+"=="+s.Version] = project.WheelFile{Tag: wheel.Tag(dir.Root()), SHA256: s.SHA256}
}
