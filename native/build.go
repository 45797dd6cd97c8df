package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/advice"
	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/elfheader"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Load compiles the code if necessary and loads it as a module, which stays loaded.
// Functions that the code registers globally are then in the registry. The module is
// the caller's, who may Release it.
func Load(ctx context.Context, c Code) (*tvmffi.Module, error) {
	path, err := Build(ctx, c)
	if err != nil {
		return nil, err
	}
	return tvmffi.LoadModule(path)
}

// Build compiles the code if necessary and returns the path of the shared library in
// the cache, where it stays.
func Build(ctx context.Context, c Code) (string, error) {
	b, err := c.prepare(ctx)
	if err != nil {
		return "", err
	}
	paths, err := b.inCache(ctx)
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// BuildObjects compiles the code if necessary, without linking it, and returns the paths of
// the object files in the cache, where they stay: from CUDA, from CPP and from Files, in this
// order. An object file among Files stands there as it is. LinkFlags are not used. The
// object files are for what links by itself, such as the JIT of apache-tvm-ffi-orcjit.
func BuildObjects(ctx context.Context, c Code) ([]string, error) {
	b, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	b.unlinked, b.files = true, nil
	for i, s := range b.sources {
		if !s.object() {
			b.files = append(b.files, objectName(i))
		}
	}
	compiled, err := b.inCache(ctx)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, s := range b.sources {
		if s.object() {
			paths = append(paths, s.path)
		} else {
			paths, compiled = append(paths, compiled[0]), compiled[1:]
		}
	}
	return paths, nil
}

// inCache compiles if necessary and returns the paths of the files.
func (b *building) inCache(ctx context.Context) ([]string, error) {
	cache, err := find.CacheDir()
	if err != nil {
		return nil, fmt.Errorf("native: %w", err)
	}
	b.dir = filepath.Join(cache, "native", b.code.Name+"-"+b.key())
	err = compiler.Once(ctx, b.dir, b.cached, func(temp string) ([]string, error) { return b.build(ctx, temp) })
	if err != nil {
		return nil, b.failed(err)
	}
	paths := make([]string, len(b.files))
	for i, file := range b.files {
		paths[i] = filepath.Join(b.dir, b.version, file)
	}
	return paths, nil
}

// BuildTo compiles the code to a file of the caller, always.
func BuildTo(ctx context.Context, c Code, file string) error {
	b, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	temp, remove, err := whole.Folder(filepath.Dir(file))
	if err != nil {
		if in, ok := errors.AsType[*fs.PathError](err); ok {
			err = in.Err // the path is in the temporary folder
		}
		dir, remedy := filepath.Dir(file), "choose another folder"
		if _, missing := os.Stat(dir); missing != nil {
			remedy = "make it, or " + remedy
		}
		return advice.Add(fmt.Errorf("native: cannot write to the folder %s: %w", dir, err), remedy)
	}
	defer remove()
	b.files = []string{filepath.Base(file)}
	if _, err = b.compile(ctx, temp); err == nil {
		err = os.Rename(filepath.Join(temp, b.files[0]), file)
	}
	if err != nil {
		return b.failed(err)
	}
	return nil
}

// failed adds the name of the code to an error that lacks it.
func (b *building) failed(err error) error {
	if failed, ok := errors.AsType[*CompileError](err); ok {
		return failed
	}
	return fmt.Errorf("native: %s: %w", b.code.Name, err)
}

// building is one run of the compilers.
type building struct {
	code     *Code
	sources  []source
	tools    *toolchain
	unlinked bool     // object files are wanted
	files    []string // names of what is wanted: one library, or object files
	dir      string   // in the cache
	// version is the folder in dir for the headers as they are. The path of a library
	// depends on all that it is made of, because a process has one library of a path.
	version string
}

func (c *Code) prepare(ctx context.Context) (*building, error) {
	if c.Library == "" {
		if err := tvmffi.Load(); err != nil {
			return nil, err
		}
		c.Library = tvmffi.LibraryPath()
	}
	sources, err := c.sources()
	if err != nil {
		return nil, err
	}
	tools, err := c.toolchain(ctx, usesCUDA(sources))
	if err != nil {
		return nil, err
	}
	return &building{code: c, sources: sources, tools: tools, files: []string{compiler.Library(runtime.GOOS, c.Name)}}, nil
}

// format is part of every key: a change of what a build consists of raises it.
const format = "2"

// key names what the files are made of. The headers of TVM-FFI stand in it by the
// path of libtvm_ffi, with its size and time, the headers of the user are in the manifest.
func (b *building) key() string {
	h := sha256.New()
	write := func(texts ...string) {
		for _, t := range texts {
			fmt.Fprintf(h, "%q\n", t)
		}
		fmt.Fprintln(h)
	}
	c := b.code
	write(slices.Concat([]string{format}, b.files, []string{b.tools.identity, c.Library})...)
	if info, err := os.Stat(c.Library); err == nil {
		write(strconv.FormatInt(info.Size(), 10), info.ModTime().String())
	}
	for _, s := range b.sources {
		write(s.name, s.path, s.hash)
	}
	for _, list := range [][]string{c.Include, c.CXXFlags, c.NVCCFlags, c.LinkFlags, c.architectures()} {
		write(list...)
	}
	return hex.EncodeToString(h.Sum(nil))[:20]
}

// manifest records what the files in the cache were made of, in addition to its key.
type manifest struct {
	// Headers are the files that the sources included, with their hashes, those of
	// the system and of TVM-FFI aside.
	Headers map[string]string `json:"headers"`
}

const manifestName = "build.json"

// version names the folder of the library.
func (m manifest) version() string {
	var b strings.Builder
	for _, header := range slices.Sorted(maps.Keys(m.Headers)) {
		fmt.Fprintf(&b, "%q %s\n", header, m.Headers[header])
	}
	return hashOf([]byte(b.String()))[:16]
}

// cached reports whether an earlier build with the same headers has left its files, and
// finds their folder.
func (b *building) cached() bool {
	versions, err := os.ReadDir(b.dir)
	if err != nil {
		return false
	}
	for _, version := range versions {
		dir := filepath.Join(b.dir, version.Name())
		data, err := os.ReadFile(filepath.Join(dir, manifestName))
		var m manifest
		if err != nil || json.Unmarshal(data, &m) != nil || !m.current() {
			continue
		}
		damaged := func(name string) bool {
			file := filepath.Join(dir, name)
			return !find.IsFile(file) || elfheader.Check(file) != nil
		}
		if !slices.ContainsFunc(b.files, damaged) {
			b.version = version.Name()
			return true
		}
	}
	return false
}

// current reports whether all headers are unchanged.
func (m manifest) current() bool {
	for header, hash := range m.Headers {
		if now, err := hashFile(header); err != nil || now != hash {
			return false
		}
	}
	return true
}

// build makes the folder of a version, with the files and the manifest.
func (b *building) build(ctx context.Context, temp string) ([]string, error) {
	m, err := b.compile(ctx, temp)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	b.version = m.version()
	dir := filepath.Join(temp, b.version)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, manifestName), data, 0o600); err != nil {
		return nil, err
	}
	for _, file := range b.files {
		if err := os.Rename(filepath.Join(temp, file), filepath.Join(dir, file)); err != nil {
			return nil, err
		}
	}
	// A file of that name is damaged, or cached would have found it.
	return []string{b.version}, os.RemoveAll(filepath.Join(b.dir, b.version))
}

// jobs is how many compilers run at a time.
func jobs() (int, error) {
	text := os.Getenv("MAX_JOBS")
	if text == "" {
		return runtime.NumCPU(), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("native: MAX_JOBS is %q, expected a number of compilers from 1 on: correct or remove the environment variable", text)
	}
	return n, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hashFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	return hashOf(data), err
}

// systemHeader reports whether a header belongs to TVM-FFI or CUDA, which the key
// stands for, or to the system.
func (b *building) systemHeader(path string) bool {
	for _, dir := range []string{"/usr/include/", "/usr/lib/", "/Library/", "/Applications/"} {
		if strings.HasPrefix(filepath.Clean(path), dir) {
			return true
		}
	}
	return slices.ContainsFunc(b.tools.include, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	})
}
