package rpc

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// linkTimeout is how long the linker may take.
const linkTimeout = 2 * time.Minute

// linked returns a shared library of file. This is file itself unless it is an object file or a
// tar archive of some, which TVM exports without a linker: the C++ compiler of this machine links
// these.
func linked(file string) (string, error) {
	objects := []string{file}
	switch filepath.Ext(file) {
	case ".o":
	case ".tar":
		var err error
		if objects, err = unpack(file, file+".d", maxArchive); err != nil {
			return "", fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	default:
		return file, nil
	}
	linker, err := findLinker()
	if err != nil {
		return "", fmt.Errorf("link %s: %w", filepath.Base(file), err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), linkTimeout)
	defer cancel()
	library := file + ".so"
	cmd := exec.CommandContext(ctx, linker, append([]string{"-shared", "-fPIC", "-o", library}, objects...)...)
	cmd.WaitDelay = time.Second // for the linker that the compiler has started
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("link %s: %w\n%s", filepath.Base(file), err, out)
	}
	return library, nil
}

// findLinker returns the C++ compiler.
func findLinker() (string, error) {
	names := []string{"c++", "g++", "clang++", "cc"}
	if cxx := os.Getenv("CXX"); cxx != "" {
		names = []string{cxx}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("this server has none of the C++ compilers %q to link the file: install one, or upload a shared library", names)
}

// An archive may have that many bytes in its files, and that many files.
const (
	maxArchive      = 1 << 30
	maxArchiveFiles = 10_000
)

// unpack writes the files of an archive into a folder, and returns their paths. It refuses an
// archive whose files have more than most bytes in total, before it has written more.
func unpack(archive, dir string, most int64) (files []string, err error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plain, err := decompressed(f)
	if err != nil {
		return nil, err
	}
	left := most
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		switch {
		case err == io.EOF && len(files) == 0:
			return nil, errors.New("the archive has no files")
		case err == io.EOF:
			return slices.Compact(slices.Sorted(slices.Values(files))), nil
		case err != nil:
			return nil, err
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name):
			return nil, fmt.Errorf("%q is not a file in the archive", h.Name)
		case h.Size > left:
			return nil, fmt.Errorf("the files of the archive have more than %d bytes", most)
		case len(files) == maxArchiveFiles:
			return nil, fmt.Errorf("the archive has more than %d files", maxArchiveFiles)
		}
		left -= h.Size
		file := filepath.Join(dir, h.Name)
		if err := writeFile(file, r); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
}

// decompressed returns the contents of r, which TVM's archives compress with gzip.
func decompressed(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if head, err := b.Peek(2); err != nil || head[0] != 0x1f || head[1] != 0x8b {
		return b, nil
	}
	return gzip.NewReader(b)
}

func writeFile(file string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
