package wheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// requirement is a distribution with its version specifiers, as pip reads it.
var requirement = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?([<>=!~]=?=?[A-Za-z0-9.+!*]+(,|$))*$`)

// Find gets the wheel that the package tool chooses for a requirement such as garden==1.2, which
// the user has named. Its hash is not known before; the caller records it.
func Find(ctx context.Context, what string, most int64) (Dir, error) {
	if !requirement.MatchString(what) {
		return Dir{}, fmt.Errorf("%q is not the name of a Python package: write NAME or NAME==VERSION", what)
	}
	cache, err := find.CacheDir()
	if err != nil {
		return Dir{}, fmt.Errorf("wheel: %w", err)
	}
	parent := filepath.Join(cache, "wheels")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return Dir{}, find.Advise(fmt.Errorf("wheel: %s: %w", what, err))
	}
	temp, remove, err := whole.Folder(parent)
	if err != nil {
		return Dir{}, find.Advise(fmt.Errorf("wheel: %s: %w", what, err))
	}
	defer remove()
	file, err := ask(ctx, what, []string{what}, temp)
	if none, ok := errors.AsType[*noWheel](err); ok && none.otherPython {
		file, err = forAnyPython(ctx, what, temp, none)
	}
	if err != nil {
		return Dir{}, find.Advise(err)
	}
	return Take(ctx, file, most)
}

// pythons are the versions of Python for which a wheel is looked for where there is none for the Python of the machine. The
// libraries in a wheel mostly do not care; those that do are not loaded.
var pythons = []string{python, "3.14", "3.10"}

// forAnyPython gets a wheel for a Python that this machine may lack. If there is none, the error says what is published in
// place of a wheel.
func forAnyPython(ctx context.Context, what, temp string, none *noWheel) (string, error) {
	for _, version := range pythons {
		file, failed := ask(ctx, what, []string{"--python-version", version, what}, temp)
		if failed == nil {
			return file, nil
		}
		if _, still := errors.AsType[*noWheel](failed); !still {
			return "", failed
		}
	}
	if versions := published(ctx, what, temp); versions != "" {
		none.do = fmt.Sprintf("it has no wheel for this platform, only sources or wheels for others (%s): name another version, or make a wheel with \"pip wheel --no-deps %s\", which runs the build of the package", versions, what)
	}
	return "", unavailable(what, none)
}

// published returns the versions of a package that have any file, sources too, "" if none is known.
func published(ctx context.Context, what, temp string) string {
	name := what[:len(what)-len(strings.TrimLeftFunc(what, func(r rune) bool { return !strings.ContainsRune("<>=!~", r) }))]
	for _, tool := range tools() {
		out, err := run(ctx, temp, append(tool[1:len(tool):len(tool)], "index", "versions", "--pre", name), tool[0])
		if absent(err, out) {
			continue
		}
		_, versions, ok := strings.Cut(out, "Available versions: ")
		if err != nil || !ok {
			return ""
		}
		versions, _, _ = strings.Cut(versions, "\n")
		return strings.Join(strings.SplitN(versions, ", ", 4)[:min(3, strings.Count(versions, ", ")+1)], ", ")
	}
	return ""
}

// Take unpacks a wheel file into the cache, under its hash. The file may be removed then. If the wheel has more than most
// bytes when it is unpacked, nothing is kept, and the error is [ErrTooLarge]; if most is 0, the limit follows
// from the size of the file.
func Take(ctx context.Context, file string, most int64) (Dir, error) {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".whl"), "-")
	if len(parts) < 5 {
		return Dir{}, fmt.Errorf("%s is not named like a wheel, NAME-VERSION-PYTHON-ABI-PLATFORM.whl: do not rename it", filepath.Base(file))
	}
	hash, err := Hash(file, most)
	if err != nil {
		return Dir{}, err
	}
	s := Tagged(Normal(parts[0]), parts[1], "", hash)
	d, err := get(ctx, s, Dir.marked, func(_ context.Context, _ Spec, dir string) (string, error) {
		copied := filepath.Join(dir, filepath.Base(file))
		return copied, copyFile(copied, file)
	})
	return d, find.Advise(err)
}

// Hash returns the hash of a wheel file. It reads the whole file only if its end says that it is an archive of the size that
// [Take] allows, because another file may have any size.
func Hash(file string, most int64) (string, error) {
	if err := checkSize(file, most); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return find.HashFile(file)
}

// Have returns a wheel of that version that [Find] or [Take] left in the cache and that fits; if the version is "", the newest
// of those that fit, and a pre-release only if there is no release.
func Have(pkg, version string, fits func(Dir) bool) (Dir, bool) {
	cache, err := find.CacheDir()
	if err != nil {
		return Dir{}, false
	}
	parent := filepath.Join(cache, "wheels")
	names, _ := fs.Glob(os.DirFS(parent), Normal(pkg)+"-"+cmp.Or(version, "*")+"-????????")
	find.SortNatural(names)
	versionOf := func(name string) string {
		return strings.TrimPrefix(name[:len(name)-len("-????????")], Normal(pkg)+"-")
	}
	final := func(name string) bool { return !preRelease.MatchString(versionOf(name)) }
	ordered := append(slices.DeleteFunc(slices.Clone(names), final), slices.DeleteFunc(names, func(name string) bool { return !final(name) })...)
	for _, name := range slices.Backward(ordered) {
		of := versionOf(name)
		tree := filepath.Join(parent, name)
		hash, err := os.ReadFile(filepath.Join(tree, find.Marker))
		s := Tagged(Normal(pkg), of, "", strings.TrimSpace(string(hash)))
		if strings.Contains(of, "-") { // a package with a longer name
			continue
		}
		if d, ok := Cached(s); err == nil && ok && d.root == tree && fits(d) {
			return d, true
		}
	}
	return Dir{}, false
}

// Tagged returns the spec of a wheel for this platform. A tag such as
// cp312-cp312-manylinux_2_28_x86_64 makes the package tool choose the same file again.
func Tagged(pkg, version, tag, hash string) Spec {
	s := Spec{Package: pkg, Version: version, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, SHA256: hash}
	if m := tags.FindStringSubmatch(tag); m != nil {
		s.Platform = m[3]
		if m[1] != "" {
			s.Python = m[1] + "." + m[2]
		}
	}
	return s
}

var tags = regexp.MustCompile(`^(?:cp(\d)(\d+)|[a-z0-9.]+)-[a-z0-9_.]+-(\w+)`)

// Tag returns the tag of the wheel that lies unpacked in a folder, "" if it does not say.
func Tag(tree string) string {
	root := os.DirFS(tree)
	files, _ := fs.Glob(root, "*.dist-info/WHEEL")
	for _, file := range files {
		data, _ := fs.ReadFile(root, file)
		for line := range strings.Lines(string(data)) {
			if tag, ok := strings.CutPrefix(line, "Tag: "); ok {
				return strings.TrimSpace(tag)
			}
		}
	}
	return ""
}

// Normal is the form in which distributions are compared, such as tvm-ffi for TVM_FFI.
func Normal(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

var separators = regexp.MustCompile(`[-_.]+`)

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	return w.Close()
}
