package find

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/tvmffi-go/tvmffi/internal/advice"
)

// Marker is the file whose presence in a folder of the cache means that the wheel is completely unpacked; it
// holds the hash of the wheel.
const Marker = ".tvmffi-complete"

// CacheDir returns the root of the project's cache: TVMFFI_CACHE, or the folder tvmffi in the user's cache.
func CacheDir() (string, error) {
	if d := os.Getenv("TVMFFI_CACHE"); d != "" {
		if !filepath.IsAbs(d) {
			return "", fmt.Errorf("TVMFFI_CACHE is the relative path %q; set it to an absolute path", d)
		}
		return filepath.Clean(d), nil
	}
	d, err := os.UserCacheDir()
	if err == nil && !filepath.IsAbs(d) { // of a relative HOME: the owner of the working directory could plant a library
		err = fmt.Errorf("%s is a relative path", d)
	}
	if err != nil {
		return "", advice.Add(fmt.Errorf("no user cache folder: %w", err), "set TVMFFI_CACHE to a folder of your own")
	}
	return filepath.Join(d, "tvmffi"), nil
}

// DiskFull reports whether a write failed because the disk, or the user's share of it, is full.
func DiskFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	const handleDiskFull, diskFull = 39, 112 // of Windows, which does not return ENOSPC
	code, ok := errors.AsType[syscall.Errno](err)
	return ok && runtime.GOOS == "windows" && (code == handleDiskFull || code == diskFull)
}

// Advise adds to an error of a write to the cache what the user can do about it.
func Advise(err error) error {
	switch {
	case DiskFull(err):
		return advice.Add(err, "free some space, or set TVMFFI_CACHE to a folder on another disk")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return advice.Add(err, "set TVMFFI_CACHE to a folder that you can write to")
	}
	return err
}

// InUse adds to an error of replacing a file, or the folder of one, what to do on Windows: a library that a program has loaded
// stays there until the program ends.
func InUse(err error) error {
	const sharingViolation = syscall.Errno(32)
	_, renamed := errors.AsType[*os.LinkError](err)
	at, ok := errors.AsType[*fs.PathError](err) // of package whole, which calls it replace
	if runtime.GOOS == "windows" && (renamed || ok && at.Op == "replace") && (errors.Is(err, fs.ErrPermission) || errors.Is(err, sharingViolation)) {
		return advice.Add(err, "end the programs that have loaded it, and try again")
	}
	return err
}

// Cached returns the files at a slash-separated path in the wheels of a distribution that lie unpacked in the cache, the
// newest version first, with the name that a library has on this platform. It returns an error, and no file, if the cache has no place or another user can change one of
// them.
func Cached(distribution, path string) ([]Candidate, error) {
	root, err := CacheDir()
	if err != nil || !filepath.IsLocal(filepath.FromSlash(path)) {
		return nil, err
	}
	var found []Candidate
	trees, _ := filepath.Glob(filepath.Join(escape(root), "wheels", escape(distribution)+"-*"))
	for _, tree := range trees {
		file := File{PathInPackage: path}.InTree(tree)
		if !IsFile(filepath.Join(tree, Marker)) || !IsFile(file) {
			continue
		}
		if err := Private(file); err != nil {
			return nil, err
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(tree), distribution+"-"), "-")
		found = append(found, Candidate{Path: file, Cached: true, Site: tree, Version: version})
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return cmp.Compare(natural(b.Version), natural(a.Version)) })
	return found, nil
}

// CachedTree returns the folder of the wheel in the cache that holds a file, "" if none does.
func CachedTree(path string) string {
	root, err := CacheDir()
	if err != nil {
		return ""
	}
	root = filepath.Join(root, "wheels") + string(filepath.Separator)
	below, in := strings.CutPrefix(path, root)
	name, _, deeper := strings.Cut(below, string(filepath.Separator))
	if !in || !deeper {
		return ""
	}
	return root + name
}

// InCache returns the package that a file of the cache is of, with the path in it. It reports whether there is one.
func InCache(path string) (File, bool) {
	tree := CachedTree(path)
	rel, err := filepath.Rel(tree, path)
	parts := strings.Split(filepath.Base(tree), "-") // NAME-VERSION-HASH, with more of them in NAME
	n := len(parts) - 2
	if tree == "" || err != nil || n < 1 {
		return File{}, false
	}
	return File{Name: filepath.Base(path), Package: strings.Join(parts[:n], "-"), Version: parts[n], PathInPackage: filepath.ToSlash(rel)}, true
}

// CopyInCache returns a file of the cache that has the name and the content of the file at path, "" if there is none.
func CopyInCache(path string) string {
	root, err := CacheDir()
	if err != nil {
		return ""
	}
	var hash string
	trees, _ := filepath.Glob(filepath.Join(escape(root), "wheels", "*"))
	for _, tree := range trees {
		hashes, err := Record(tree)
		if err != nil || !IsFile(filepath.Join(tree, Marker)) || Private(tree) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(hashes)) {
			if filepath.Base(name) != filepath.Base(path) {
				continue
			}
			if hash == "" {
				if hash, err = HashFile(path); err != nil {
					return ""
				}
			}
			if hashes[name] == hash {
				return filepath.Join(tree, filepath.FromSlash(name))
			}
		}
	}
	return ""
}
