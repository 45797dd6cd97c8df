package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
)

// CompileError reports that a compiler or linker failed.
type CompileError struct {
	// Source is the file or text that did not compile, or "" for the linker. The texts
	// of a Code called sums are called sums_0.cc and so on.
	Source string
	// Command is the command line.
	Command []string
	// Output is everything that it printed.
	Output string
	// Err is how it ended.
	Err error
}

// exportError is a line about a name in Exports, of g++, clang or nvcc.
var exportError = regexp.MustCompile(`(?m)^exports of [\w-]+[:(][\d:]+\)?: (?:fatal )?error: (.*)$`)

// exports lists the errors in Exports, if there are no others.
func (e *CompileError) exports() []string {
	if e.Source == "" || regexp.MustCompile(`(?m)^(.*/)?`+regexp.QuoteMeta(e.Source)+`[:(]\d.*error`).MatchString(e.Output) {
		return nil
	}
	var all []string
	for _, m := range exportError.FindAllStringSubmatch(e.Output, -1) {
		if text := strings.TrimPrefix(m[1], "static assertion failed: "); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// Error names the source and holds the first lines of the output. If a name in Exports
// is wrong, it holds what the compiler reports about it.
func (e *CompileError) Error() string {
	if wrong := e.exports(); len(wrong) > 0 {
		return fmt.Sprintf("native: %s: Exports: %s\nExports names functions of the last text, each declared once, with types that TVM-FFI knows", e.Source, strings.Join(wrong, "\n"))
	}
	what := e.Source
	if what == "" {
		what = "linking"
	}
	return fmt.Sprintf("native: %s: %v\n%s", what, e.Err, compiler.FirstLines(e.Output))
}

// Unwrap returns how the compiler ended, for example by the end of the context.
func (e *CompileError) Unwrap() error { return e.Err }

// objectName is the name of the object file that a source becomes.
func objectName(i int) string { return fmt.Sprintf("%d.o", i) }

// compile makes the files in a folder and returns the headers that went into them.
func (b *building) compile(ctx context.Context, dir string) (manifest, error) {
	objects := make([]string, len(b.sources))
	found := make([][]string, len(b.sources))
	var log sync.Mutex
	group, compiling := errgroup.WithContext(ctx) // the first error stops the others
	n, err := jobs()
	if err != nil {
		return manifest{}, err
	}
	group.SetLimit(n)
	for i, s := range b.sources {
		if s.object() {
			objects[i] = s.path
			continue
		}
		group.Go(func() (err error) {
			objects[i] = filepath.Join(dir, objectName(i))
			found[i], err = b.compileOne(compiling, dir, s, objects[i], &log)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return manifest{}, err
	}
	m := manifest{Headers: map[string]string{}}
	for _, header := range slices.Concat(found...) {
		if b.systemHeader(header) {
			continue
		}
		hash, err := hashFile(header)
		if errors.Is(err, fs.ErrNotExist) {
			continue // nvcc also lists what #line names
		}
		if err != nil {
			return manifest{}, fmt.Errorf("header: %w", err)
		}
		m.Headers[header] = hash
	}
	if b.unlinked {
		return m, nil
	}
	return m, b.link(ctx, dir, objects, &log)
}

// compileOne compiles one source and returns the headers that it included.
func (b *building) compileOne(ctx context.Context, dir string, s source, object string, log *sync.Mutex) ([]string, error) {
	path := s.path
	if path == "" {
		path = filepath.Join(dir, s.name)
		if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
			return nil, err
		}
	}
	depfile := object + ".d"
	var args []string
	program, own := b.tools.cxx, b.code.CXXFlags
	flags := slices.Clone(b.tools.flags.Compile)
	if filepath.Ext(path) == ".c" { // by the same compiler, with a flag
		flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-std=") })
		args = append(args, "-x", "c")
	}
	if s.cuda {
		program, own = b.tools.nvcc, b.code.NVCCFlags
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "-fPIC" })
		args = append(args, "-ccbin", b.tools.cxx, "-Xcompiler", "-fPIC")
		args = append(args, b.code.architectures()...)
	}
	if b.tools.nvcc != "" { // C++ beside CUDA may call the CUDA runtime
		args = append(args, "-I"+filepath.Join(b.tools.cudaRoot, "include"))
	}
	args = append(args, "-O2", "-MD", "-MF", depfile, "-c", "-o", object)
	args = append(args, flags...)
	for _, include := range b.code.Include {
		args = append(args, "-I"+include)
	}
	args = append(args, own...)
	args = append(args, path)
	if err := b.run(ctx, dir, s.name, log, program, args...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(depfile)
	if err != nil {
		return nil, err
	}
	headers := dependencies(string(data))
	return slices.DeleteFunc(headers, func(h string) bool { return h == path }), nil
}

func (b *building) link(ctx context.Context, dir string, objects []string, log *sync.Mutex) error {
	args := append(compiler.Link(runtime.GOOS, b.files[0]), "-o", filepath.Join(dir, b.files[0]))
	args = append(args, objects...)
	args = append(args, b.tools.flags.Link...)
	if usesCUDA(b.sources) {
		cudart, err := b.tools.cudart()
		if err != nil {
			return err
		}
		args = append(args, cudart...)
	}
	args = append(args, b.code.LinkFlags...)
	return b.run(ctx, dir, "", log, b.tools.cxx, args...)
}

// run runs a compiler to its end. Temporary files go into dir, which the caller removes: a
// compiler that is killed leaves them behind.
func (b *building) run(ctx context.Context, dir, source string, log *sync.Mutex, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := compiler.Run(cmd)
	log.Lock()
	defer log.Unlock()
	// A log that cannot be written does not make the build fail.
	_, _ = fmt.Fprintf(b.code.log(), "%s\n%s\n", strings.Join(cmd.Args, " "), out)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return &CompileError{Source: source, Command: cmd.Args, Output: out, Err: err}
}

// dependencies are the prerequisites in a rule for make, as compilers write it.
func dependencies(rule string) []string {
	_, list, _ := strings.Cut(strings.ReplaceAll(rule, "\\\n", " "), ": ")
	var all []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
	}
	for i := 0; i < len(list); i++ {
		switch ch := list[i]; {
		case ch == '\\' && i+1 < len(list) && strings.IndexByte(" #\\", list[i+1]) >= 0:
			i++
			word.WriteByte(list[i])
		case ch == '$' && i+1 < len(list) && list[i+1] == '$':
			i++
			word.WriteByte('$')
		case ch == ' ' || ch == '\n' || ch == '\t':
			end()
		default:
			word.WriteByte(ch)
		}
	}
	end()
	return all
}
