package nativetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// config is one build.
type config struct {
	name         string
	text         string   // source text in place of a file
	headers      []input  // texts that it includes
	more         []string // further files, relative to testdata
	flags        []string
	version      string
	goos, goarch string
	compiler     string
	executable   bool
	standalone   bool
}

// Option changes a build.
type Option func(*config)

// Sources adds files below testdata. Those that end in .cc are compiled, .h are headers of the others, and the linker
// reads the rest.
func Sources(files ...string) Option {
	return func(c *config) { c.more = append(c.more, files...) }
}

// Header adds a text that the sources include by this name, which ends in .h, .hpp or .inc.
func Header(name, text string) Option {
	return func(c *config) { c.headers = append(c.headers, input{name, []byte(text)}) }
}

// By compiles with another compiler than [Compiler].
func By(compiler string) Option { return func(c *config) { c.compiler = compiler } }

// Flags adds flags of the compiler and the linker, after all others. Libraries are compiled without optimisation, because
// compiling takes longer than testing: a test that measures times adds -O1.
func Flags(flags ...string) Option {
	return func(c *config) { c.flags = append(c.flags, flags...) }
}

// AgainstVersion builds against the headers and the library of another version of apache-tvm-ffi.
func AgainstVersion(version string) Option {
	return func(c *config) { c.version = version }
}

// Executable makes a program in place of a shared library. It finds libtvm_ffi by itself.
func Executable() Option {
	return func(c *config) { c.executable = true }
}

// Standalone builds without the headers and the library of apache-tvm-ffi.
func Standalone() Option {
	return func(c *config) { c.standalone = true }
}

// Build compiles testdata/<name>.cc, or the files of the folder testdata/<name>, to a shared library that is linked with
// libtvm_ffi and returns its path. The last part of the name gives the file its name: "hostile/abort" becomes libabort.so.
// The result is kept under a hash of all inputs; concurrent tests and processes build it once.
func Build(t testing.TB, name string, options ...Option) string {
	t.Helper()
	return build(t, config{name: name}, options)
}

// BuildText is like Build, but compiles C++ text.
func BuildText(t testing.TB, name, text string, options ...Option) string {
	t.Helper()
	return build(t, config{name: name, text: text}, options)
}

func build(t testing.TB, c config, options []Option) string {
	t.Helper()
	c.version, c.goos, c.goarch = Version(), runtime.GOOS, runtime.GOARCH
	for _, o := range options {
		o(&c)
	}
	if c.compiler == "" {
		c.compiler = Compiler(t)
	}
	id, err := compiler.Identify(t.Context(), c.compiler)
	if err != nil {
		Unavailable(t, err)
	}
	var w wheel.Dir
	if !c.standalone {
		w = wheelFor(t, c.version, c.goos, c.goarch)
	}
	version, _, _ := strings.Cut(id.Version, "\n")
	out, err := c.make(t, version+" "+id.Machine, w)
	if err != nil {
		failOnce(t, fmt.Errorf("build %s: %w", c.name, err))
	}
	return out
}

// input is one file of a build.
type input struct {
	path    string
	content []byte
}

func (c *config) inputs() ([]input, error) {
	in := slices.Clone(c.headers)
	root, err := Root()
	if err != nil {
		return nil, err
	}
	files := c.more
	if c.text != "" {
		in = append(in, input{path: c.base() + ".cc", content: []byte(c.text)})
	} else if folder, err := os.ReadDir(filepath.Join(root, "testdata", filepath.FromSlash(c.name))); err == nil {
		for _, f := range folder {
			files = append(files, c.name+"/"+f.Name())
		}
	} else {
		files = append([]string{c.name + ".cc"}, files...)
	}
	for _, f := range files {
		p := filepath.Join(root, "testdata", filepath.FromSlash(f))
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		in = append(in, input{p, b})
	}
	return in, nil
}

func (c *config) make(t testing.TB, version string, w wheel.Dir) (string, error) {
	in, err := c.inputs()
	if err != nil {
		return "", err
	}
	file, link := c.base(), []string{"-pthread"}
	if !c.executable {
		if file = compiler.Library(c.goos, c.base()); c.goos == "windows" {
			file = compiler.Library("linux", c.base()) // which tests name; the loader takes any name
			link = append(link, "-s")                  // wine reads symbols for each error of C++, which takes a tenth of a second
		}
		link = append(link, compiler.Link(c.goos, file)...)
	} else if c.goos == "windows" {
		file += ".exe"
		link = append(link, "-static")
	} else if !c.standalone {
		link = append(link, "-Wl,-rpath,"+filepath.Dir(w.Library()))
		if c.goos == "linux" {
			link = append(link, "-Wl,--as-needed")
		}
	}
	flags := slices.Concat([]string{version, w.Spec().SHA256, file}, c.compileFlags(), link, c.flags)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	return once(ctx, c.base(), file, flags, in, func(temp string) error {
		objects, err := c.objects(ctx, version, w, in)
		if err != nil {
			return err
		}
		args := append(link, "-o", filepath.Join(temp, file))
		args = append(args, objects...)
		// The order matters: libraries come after the objects that need them.
		if !c.standalone {
			args = append(args, "-L", filepath.Dir(w.Library()), "-ltvm_ffi")
		}
		return c.run(ctx, temp, append(args, c.flags...)...)
	})
}

// base is the name without folders.
func (c *config) base() string { return filepath.Base(filepath.FromSlash(c.name)) }

// compileFlags returns the flags with which each source is compiled, without the flags for the linker.
func (c *config) compileFlags() []string {
	flags := append(slices.Insert(compiler.Flags(), 1, "-O0"), "-pthread")
	if c.goos == "windows" {
		// The headers want it of every compiler but Microsoft's, and mingw does not have it.
		flags = append(flags, "-Dposix_memalign(p,align,n)=((align)>16||!(*(p)=std::malloc(n)))")
	}
	for _, f := range c.flags {
		if strings.HasPrefix(f, "-") && !strings.HasPrefix(f, "-Wl,") && !strings.HasPrefix(f, "-l") && !strings.HasPrefix(f, "-L") {
			flags = append(flags, f)
		}
	}
	return flags
}

// objects compiles the sources side by side, and returns what the linker reads, in the order of the inputs. An object
// stays in the cache: builds that differ only in how they are linked share it.
func (c *config) objects(ctx context.Context, version string, w wheel.Dir, in []input) ([]string, error) {
	headers := slices.DeleteFunc(slices.Clone(in), func(i input) bool { return !isHeader(i.path) })
	args := c.compileFlags()
	if !c.standalone {
		for _, dir := range w.Include() {
			args = append(args, "-isystem", dir)
		}
		header, err := c.commonHeader(ctx, version, w)
		if err != nil {
			return nil, err
		}
		if header != "" {
			args = append(args, "-include", header)
		}
	}
	key := slices.Concat([]string{version, w.Spec().SHA256}, c.compileFlags())
	files := make([]string, len(in))
	errs := make([]error, len(in))
	var all sync.WaitGroup
	for i, source := range in {
		switch {
		case isHeader(source.path):
		case filepath.Ext(source.path) == ".cc":
			all.Go(func() {
				files[i], errs[i] = once(ctx, "object-"+c.base(), "object.o", key, slices.Concat(headers, []input{source}), func(temp string) error {
					for _, text := range append(slices.Clone(c.headers), source) {
						if filepath.IsAbs(text.path) {
							continue
						}
						if err := os.WriteFile(filepath.Join(temp, text.path), text.content, 0o600); err != nil {
							return find.Advise(err)
						}
					}
					path := source.path
					if !filepath.IsAbs(path) {
						path = filepath.Join(temp, path)
					}
					return c.run(ctx, temp, slices.Concat(args, []string{"-I", temp, "-c", "-o", filepath.Join(temp, "object.o"), path})...)
				})
			})
		default:
			files[i] = source.path
		}
	}
	all.Wait()
	return slices.DeleteFunc(files, func(f string) bool { return f == "" }), errors.Join(errs...)
}

// isHeader reports whether sources include the file.
func isHeader(path string) bool {
	return slices.Contains([]string{".h", ".hpp", ".inc"}, filepath.Ext(path))
}

// common includes the headers that most sources in testdata include.
const common = `#include <tvm/ffi/tvm_ffi.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/stl.h>
#include <mutex>
#include <thread>
`

// commonHeader returns a header that g++ reads from a file that it has made of it once, in place of the text of all
// headers for each source. Flags other than macros and folders need another such file, and other compilers other flags:
// they read the text, and so does a build for another version, of which there are few.
func (c *config) commonHeader(ctx context.Context, version string, w wheel.Dir) (string, error) {
	flags := (&config{goos: c.goos}).compileFlags()
	special := slices.ContainsFunc(c.compileFlags()[len(flags):], func(f string) bool {
		return !strings.HasPrefix(f, "-D") && !strings.HasPrefix(f, "-I")
	})
	if special || c.version != Version() || !strings.Contains(version, "g++") {
		return "", nil
	}
	source := input{"common.h", []byte(common)}
	return once(ctx, "headers", "common.h", append(flags, version, w.Spec().SHA256), []input{source}, func(temp string) error {
		text := filepath.Join(temp, source.path)
		if err := os.WriteFile(text, source.content, 0o600); err != nil {
			return find.Advise(err)
		}
		args := append(flags, "-x", "c++-header", "-o", text+".gch", text)
		for _, dir := range w.Include() {
			args = append(args, "-isystem", dir)
		}
		return c.run(ctx, temp, args...)
	}, "common.h.gch")
}

// once makes a file in the cache under a hash of the flags and inputs, and returns its path. build writes it into a
// folder, and the files that belong to it. The key of a library has no path of a machine in it, so that a moved cache
// or checkout stays valid.
func once(ctx context.Context, name, file string, flags []string, in []input, build func(temp string) error, more ...string) (string, error) {
	cache, err := find.CacheDir()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", flags)
	for _, i := range in {
		fmt.Fprintf(h, "%q %d\n", filepath.Base(i.path), len(i.content))
		h.Write(i.content)
	}
	dir := filepath.Join(cache, "native", name+"-"+hex.EncodeToString(h.Sum(nil))[:16])
	out := filepath.Join(dir, file)
	if err, failed := notBuilt.Load(out); failed {
		return "", err.(error)
	}
	cached := func() bool {
		_, err := os.Stat(out)
		return err == nil
	}
	err = compiler.Once(ctx, dir, cached, func(temp string) ([]string, error) { return append(more, file), build(temp) })
	if err != nil {
		notBuilt.Store(out, err)
		return "", err
	}
	return out, nil
}

// run runs the compiler. The files that a stopped one leaves behind are removed with temp.
func (c *config) run(ctx context.Context, temp string, args ...string) error {
	cmd := exec.CommandContext(ctx, c.compiler, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	if said, err := compiler.Run(cmd); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, strings.Join(cmd.Args, " "), compiler.FirstLines(said))
	}
	return nil
}

// notBuilt holds the errors of builds that failed, by their results. They are not tried again.
var notBuilt sync.Map
