package pynames

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// limits bound what is read. The largest library known has 900 sources of 9 MB together.
type limits struct {
	file, total int64
	files       int
}

var defaultLimits = limits{file: 4 << 20, total: 256 << 20, files: 20_000}

// source is a Python file.
type source struct {
	path   string // in the wheel or folder, with slashes
	module string // "garden.tools"
	pkg    bool   // it is an __init__.py
	data   []byte
}

// Note says why a source or an item was left out, or read in part.
type Note struct {
	Where string `json:"where"` // "garden/tools.py:12" or the name of an item
	Text  string `json:"text"`
}

// Input is a wheel, or a folder with Python packages.
type Input struct {
	Path string
	// Origin is the distribution, if it is known. Otherwise it is that in the name of the wheel or folder.
	Origin hints.Source
}

// collected are the sources of all inputs, sorted by module.
type collected struct {
	sources []source
	natives []source // of C++ and CUDA; they have no module
	headers []source // of C++ that define names for types
	notes   []Note
	origins []hints.Source
	size    int64 // of all sources
}

// collect reads the Python sources of wheels and folders. Of two with one module, the first counts.
func collect(inputs []Input, lim limits) (*collected, error) {
	c := &collected{}
	for _, in := range inputs {
		before := len(c.sources) + len(c.natives)
		info, err := os.Stat(in.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("there is no wheel and no folder at %s: check the path", in.Path)
		case err != nil:
		case info.IsDir():
			err = c.folder(in, lim)
		case info.Mode().IsRegular():
			err = c.wheel(in, lim)
		default:
			err = fmt.Errorf("%s is neither a wheel nor a folder", in.Path)
		}
		if err != nil {
			return nil, err
		}
		if len(c.sources)+len(c.natives) == before {
			return nil, fmt.Errorf("%s has no Python sources, and none of C++ for TVM-FFI: name the wheel of the library, or the folder of its Python package or its C++ sources", in.Path)
		}
	}
	slices.SortStableFunc(c.sources, func(a, b source) int {
		if a.module == b.module && a.pkg != b.pkg && a.pkg {
			return -1 // Python takes the package
		}
		return strings.Compare(a.module, b.module)
	})
	c.sources = slices.CompactFunc(c.sources, func(a, b source) bool { return a.module == b.module })
	return c, nil
}

// wheel reads a wheel, which is a zip archive.
func (c *collected) wheel(in Input, lim limits) error {
	name := in.Path
	z, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("%s is not a wheel: %w", name, err)
	}
	defer z.Close()
	if in.Origin.Package == "" {
		in.Origin.Package, in.Origin.Version = distribution(filepath.Base(name))
	}
	if in.Origin.SHA256, err = find.HashFile(name); err != nil {
		return err
	}
	c.origins = append(c.origins, in.Origin)
	if len(z.File) > lim.files*5 {
		return fmt.Errorf("%s has %d entries, the limit is %d", name, len(z.File), lim.files*5)
	}
	for _, f := range z.File {
		if !readable(f.Name) || !f.Mode().IsRegular() {
			continue
		}
		err := c.add(f.Name, int64(f.UncompressedSize64), lim, f.Open)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// distribution returns the name and version in the name of a wheel.
func distribution(file string) (name, version string) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	if len(parts) < 5 {
		return parts[0], ""
	}
	return strings.ReplaceAll(parts[0], "_", "-"), parts[1]
}

// folder reads a folder: of one Python package, or one in which packages lie, as in an unpacked wheel.
func (c *collected) folder(in Input, lim limits) error {
	root, err := filepath.Abs(in.Path)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return err
	}
	if in.Origin.Package == "" {
		in.Origin.Package = filepath.Base(root)
	}
	c.origins = append(c.origins, in.Origin)
	prefix := "" // the packages around the folder
	for dir := root; find.IsFile(filepath.Join(dir, "__init__.py")) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		prefix = filepath.Base(dir) + "/" + prefix
	}
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "__pycache__") {
				return fs.SkipDir
			}
			return nil
		}
		if !readable(file) || !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return c.add(prefix+filepath.ToSlash(rel), info.Size(), lim, func() (io.ReadCloser, error) { return os.Open(file) })
	})
}

// readable reports whether a file is a source of Python, C++ or CUDA.
func readable(name string) bool {
	return header(name) || slices.Contains([]string{".py", ".cu", ".cc", ".cpp", ".cxx"}, path.Ext(name))
}

// header reports whether a file is a header of C++. It exports nothing, but may declare object types.
func header(name string) bool { return slices.Contains([]string{".h", ".hh", ".hpp"}, path.Ext(name)) }

// add reads one source. A source that is too large is left out with a note; too many sources are an error.
func (c *collected) add(name string, size int64, lim limits, open func() (io.ReadCloser, error)) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "\\") {
		return fmt.Errorf("the entry %q is not inside the wheel; do not trust it", name)
	}
	if size > lim.file {
		c.notes = append(c.notes, Note{name, fmt.Sprintf("it has %d bytes, the limit is %d", size, lim.file)})
		return nil
	}
	if len(c.sources)+len(c.natives) >= lim.files {
		return fmt.Errorf("it has more than %d sources", lim.files)
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, lim.file+1)) // the size in a zip archive may be wrong
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if int64(len(data)) > lim.file {
		c.notes = append(c.notes, Note{name, fmt.Sprintf("it has more than %d bytes, the limit", lim.file)})
		return nil
	}
	python := path.Ext(name) == ".py"
	switch {
	case header(name) && !bytes.Contains(data, []byte("TVM_FFI_DECLARE_OBJECT_INFO")):
		if aliased.Match(data) && c.size+int64(len(data)) <= lim.total {
			c.size += int64(len(data))
			c.headers = append(c.headers, source{path: name, data: data})
		}
		return nil
	case !python && !bytes.Contains(bytes.ToLower(data), []byte("tvm")):
		return nil // embedded data, or code that exports nothing
	}
	if c.size += int64(len(data)); c.size > lim.total {
		return fmt.Errorf("its sources have more than %d bytes", lim.total)
	}
	s := source{path: name, data: data}
	if !python {
		c.natives = append(c.natives, s)
		return nil
	}
	s.module = strings.ReplaceAll(strings.TrimSuffix(name, ".py"), "/", ".")
	if s.module, s.pkg = strings.CutSuffix(s.module, ".__init__"); s.module == "__init__" || s.module == "" {
		return nil
	}
	c.sources = append(c.sources, s)
	return nil
}
