package wheel

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// limits bounds what an archive may unpack.
type limits struct {
	bytes int64 // of all files together, as really unpacked
	files int
}

var defaultLimits = limits{bytes: 4 << 30, files: 50_000}

// unpack writes the files of a zip archive below dir. It refuses every entry that is not a plain file or folder
// inside dir, and stops as soon as the archive has become larger than the limits.
func unpack(file, dir string, lim limits) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer z.Close()
	if len(z.File) > lim.files {
		return fmt.Errorf("it holds %d entries, more than %d", len(z.File), lim.files)
	}
	root, err := os.OpenRoot(dir) // the kernel-level guard; the checks below give the clear messages
	if err != nil {
		return err
	}
	defer root.Close()
	left := lim.bytes
	for _, f := range z.File {
		name, err := safeName(f)
		if err != nil {
			return err
		}
		if f.Mode().IsDir() {
			if err := root.MkdirAll(name, 0o700); err != nil {
				return err
			}
			continue
		}
		n, err := unpackFile(root, f, name, left)
		if err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

// safeName returns the local path of an entry, or why it is refused.
func safeName(f *zip.File) (string, error) {
	name := strings.TrimSuffix(f.Name, "/")
	switch {
	case f.Mode().Type() != 0 && !f.Mode().IsDir():
		return "", fmt.Errorf("entry %q is not a plain file (mode %s)", f.Name, f.Mode())
	case strings.ContainsAny(name, "\\:\x00"):
		return "", fmt.Errorf("entry %q holds a character that is not portable in a path", f.Name)
	case !fs.ValidPath(name) || name == ".":
		return "", fmt.Errorf("entry %q leads out of the folder or is not a clean path", f.Name)
	case name == find.Marker:
		return "", fmt.Errorf("entry %q has a reserved name", f.Name)
	}
	return name, nil
}

func unpackFile(root *os.Root, f *zip.File, name string, left int64) (int64, error) {
	if f.UncompressedSize64 > uint64(left) {
		return 0, ErrTooLarge
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, err
	}
	r, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	// O_EXCL: an entry that comes twice could replace what was checked before.
	w, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	claimed := int64(f.UncompressedSize64) // at most left, which was checked with it
	n, err := io.Copy(w, io.LimitReader(r, claimed+1))
	if err == nil && n > claimed {
		err = ErrTooLarge
	}
	return n, errors.Join(err, w.Close())
}

// ErrTooLarge is the error of a wheel that has more bytes than the limit when it is unpacked.
var ErrTooLarge = errors.New("the archive is larger than the limit")

// A wheel that nobody has pinned may have this many times its size when it is unpacked, and this many bytes more.
const (
	growth     = 20
	growthMore = 64 << 20
)

// checkSize returns an error if a wheel says of itself that it has more than most bytes when it is unpacked. If most is 0 or
// less, the limit follows from the size of the file.
func checkSize(file string, most int64) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("this is not a wheel: %w", err)
	}
	defer z.Close()
	if most <= 0 {
		most = growthMore + growth*info.Size()
	}
	var sum uint64
	for _, f := range z.File {
		if sum += f.UncompressedSize64; sum > uint64(most) || f.UncompressedSize64 > uint64(most) {
			return fmt.Errorf("%w: its %d bytes become more than %d", ErrTooLarge, info.Size(), most)
		}
	}
	return nil
}
