package probe

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// Discover gets a wheel, which what names by its file or by NAME[==VERSION], and writes into c the
// libraries of TVM-FFI in it and what they need: the libtvm_ffi that the wheel asks for, and the
// CUDA runtime.
func (p *Prober) Discover(ctx context.Context, c *project.Config, what string) (wheel.Dir, error) {
	p.readLock(c)
	dir, err := p.anyWheel(ctx, what)
	if err != nil {
		return wheel.Dir{}, err
	}
	found, err := librariesIn(dir)
	if err != nil {
		return wheel.Dir{}, err
	}
	versions, err := p.coresFor(ctx, dir)
	if err != nil {
		return wheel.Dir{}, err
	}
	s := dir.Spec()
	if p.chosen == nil {
		p.chosen = map[string]project.WheelFile{}
	}
	p.chosen[s.Package+"=="+s.Version] = project.WheelFile{Tag: wheel.Tag(dir.Root()), SHA256: s.SHA256}
	for _, f := range found {
		c.Libraries = append(c.Libraries, project.LibrarySpec{Package: s.Package, Version: s.Version, Path: f.path})
	}
	var files []string
	for _, f := range found {
		files = append(files, dir.Path(f.path))
	}
	if err := p.AddCUDA(ctx, c, files); err != nil {
		return wheel.Dir{}, err
	}
	deps := c.Deps
	for i, version := range versions {
		c.Deps = append([]project.LibrarySpec{{Package: project.CorePackage, Version: version, Path: find.PathOfCore(runtime.GOOS)}}, deps...)
		if len(versions) == 1 {
			break
		}
		// A package may ask for less than what its libraries were built for.
		if _, err := p.Read(ctx, c); err == nil || !strings.Contains(err.Error(), libraries.OtherVersion) {
			break // another error is for the caller, who reads them, too
		}
		if i == len(versions)-1 {
			return wheel.Dir{}, fmt.Errorf("%s was built for none of the known versions of %s that it asks for (%s): name another version of it", dir.Spec(), project.CorePackage, strings.Join(versions, ", "))
		}
		p.Console.Notef("%s was built for another %s than %s: trying %s\n", dir.Spec(), project.CorePackage, version, versions[i+1])
	}
	return dir, nil
}

// AddCUDA writes into c the CUDA runtime that library files need, from the wheel of NVIDIA, in which
// programs find it too. It leaves out one that c names.
func (p *Prober) AddCUDA(ctx context.Context, c *project.Config, files []string) error {
	var needed []string
	for _, file := range files {
		f, err := symbols.Read(file)
		if err != nil {
			return err
		}
		needed = append(needed, f.Needed...)
	}
	for _, dep := range c.Deps {
		needed = slices.DeleteFunc(needed, func(name string) bool { return name == filepath.Base(dep.File) })
	}
	for _, name := range slices.Sorted(maps.Keys(cudaPackages)) {
		if !slices.Contains(needed, name) {
			continue
		}
		cuda, err := p.getWheel(ctx, cudaPackages[name], "")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.Console.Notef("going on without %s: %v\n", name, err)
			continue
		}
		files, _ := fs.Glob(os.DirFS(cuda.Root()), "nvidia/*/lib/"+name)
		for _, file := range files {
			c.Deps = append(c.Deps, project.LibrarySpec{Package: cuda.Spec().Package, Version: cuda.Spec().Version, Path: file})
		}
	}
	return nil
}

// anyWheel gets a wheel that need not be known.
func (p *Prober) anyWheel(ctx context.Context, what string) (wheel.Dir, error) {
	if strings.EqualFold(filepath.Ext(what), ".whl") {
		return wheel.Take(ctx, what)
	}
	if what == project.CorePackage {
		what += "==" + wheel.DefaultVersion
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
		if spec, err := pinnedWheel(wheel.Normal(name), version); err == nil {
			return p.fetch(ctx, spec)
		}
	}
	if p.Offline {
		return wheel.Dir{}, fmt.Errorf("%s is not in the cache, and --offline forbids to download it: run the command once with a network connection, or name the file of its wheel", what)
	}
	return p.download(what, func() (wheel.Dir, error) { return wheel.Find(ctx, what) })
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

// coresFor returns the known versions of libtvm_ffi that a wheel asks for, the newest first. If it
// asks for another one, that is the only one, and coresFor gets it. None means any.
func (p *Prober) coresFor(ctx context.Context, dir wheel.Dir) ([]string, error) {
	specifiers, err := coreRequirement(dir)
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
		return nil, fmt.Errorf("%s needs %s%s: %w", dir.Spec(), project.CorePackage, specifiers, err)
	}
	return []string{core.Spec().Version}, nil
}

// requirement is a line such as "name[extra] (>=1,<2) ; marker", in which all but the name may be missing.
var requirement = regexp.MustCompile(`^([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(;.*)?$`)

// coreRequirement returns the versions of libtvm_ffi that the metadata of a wheel asks for, such
// as ">=0.1.2,<0.2". It is "" if every version will do.
func coreRequirement(dir wheel.Dir) (specifiers string, err error) {
	root := os.DirFS(dir.Root())
	files, _ := fs.Glob(root, "*.dist-info/METADATA")
	if len(files) != 1 {
		return "", fmt.Errorf("%s has %d files *.dist-info/METADATA, not 1", dir.Spec(), len(files))
	}
	found := false
	err = fields(root, files[0], func(key, value string) {
		m := requirement.FindStringSubmatch(value)
		if key == "Requires-Dist" && !found && m != nil && wheel.Normal(m[1]) == project.CorePackage && !strings.Contains(m[3], "extra") {
			specifiers, found = strings.ReplaceAll(m[2], " ", ""), true
		}
	})
	return specifiers, err
}

// satisfies reports whether a version fits all specifiers of a requirement.
func satisfies(version, specifiers string) bool {
	for s := range strings.SplitSeq(specifiers, ",") {
		end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("<>=!~", r) })
		if end <= 0 {
			return false
		}
		operator, bound := s[:end], s[end:]
		prefix, wild := strings.CutSuffix(bound, ".*")
		is := compareVersions(version, bound)
		below := is == 0 || strings.HasPrefix(version+".", prefix+".")
		ok := false
		switch operator {
		case "==", "===":
			ok = is == 0 || wild && below
		case "!=":
			ok = is != 0 && !(wild && below)
		case ">=":
			ok = is >= 0
		case "<=":
			ok = is <= 0
		case ">":
			ok = is > 0
		case "<":
			ok = is < 0
		case "~=": // at least this, and the same but for the last part
			ok = is >= 0 && strings.HasPrefix(version+".", bound[:strings.LastIndexByte("."+bound, '.')])
		}
		if !ok {
			return false
		}
	}
	return true
}

var versionPart = regexp.MustCompile(`[0-9]+|[a-z]+[0-9]*`)

// compareVersions orders versions of Python packages: 0.1a1, 0.1, 0.1.post1, 0.1.1.
func compareVersions(a, b string) int {
	x, y := versionPart.FindAllString(strings.ToLower(a), -1), versionPart.FindAllString(strings.ToLower(b), -1)
	for i := range max(len(x), len(y)) {
		if c := comparePart(x, i) - comparePart(y, i); c != 0 {
			return c
		}
	}
	return 0
}

// comparePart returns the rank of a part of a version, of 0 if there is none.
func comparePart(parts []string, i int) int {
	const kind = 1 << 40
	if i >= len(parts) {
		return 0
	}
	digits := strings.TrimLeft(parts[i], "abcdefghijklmnopqrstuvwxyz")
	n, _ := strconv.Atoi(digits) // none is 0
	n = min(n, kind-1)
	switch word := strings.TrimSuffix(parts[i], digits); word {
	case "":
		return 2*kind*min(n, 1) + n
	case "post", "rev", "r":
		return kind + n
	default: // dev, a, b, rc
		return -kind + n
	}
}
