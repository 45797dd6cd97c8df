package packaging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

// Build says how a library is built.
type Build struct {
	Target Target
	// Debug keeps the symbols and DWARF, for debuggers. Without them stack traces have functions and lines too.
	Debug bool
	// Trim leaves the folders of this machine out of the library. Python then cannot show Go source in tracebacks.
	Trim bool
}

// Library builds the main package in a folder into file, which it replaces at once and only if all went well: a
// process that uses the old library keeps it. TVM-FFI does not need the header that the go command also writes.
func (b Build) Library(ctx context.Context, main, file string) error {
	cc, err := b.compiler(ctx)
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".tvmffi-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, filepath.Base(file))
	args := []string{"build", "-buildmode=c-shared", "-o", built}
	if !b.Debug {
		args = append(args, "-ldflags=-s -w")
	}
	if b.Trim {
		args = append(args, "-trimpath")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = main
	cmd.Env = b.environment(cc)
	if out, err := cmd.CombinedOutput(); err != nil {
		hint := "it needs a C compiler, such as gcc"
		if b.Target != Host {
			hint = fmt.Sprintf("it needs a C compiler for %s; %q was used", b.Target, cc)
		}
		return fmt.Errorf("go build -buildmode=c-shared: %w; %s\n%s", err, hint, console.FirstLines(strings.TrimSpace(string(out))))
	}
	return replace(built, file)
}

// replace moves a file. Windows does not replace a library that a process has loaded.
func replace(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; if a process has loaded it, end that process", err)
	}
	return err
}

// environment is that of the go command.
func (b Build) environment(cc string) []string {
	env := append(os.Environ(), "CGO_ENABLED=1", "GOOS="+b.Target.OS, "GOARCH="+b.Target.Arch)
	if cc != "" {
		env = append(env, "CC="+cc)
	}
	return env
}

// compiler returns the C compiler for the go command: the one that CC names, otherwise a cross compiler if it has to
// be one. It returns an error if there is none.
func (b Build) compiler(ctx context.Context) (string, error) {
	if b.Target == Host || os.Getenv("CC") != "" {
		out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
		if err != nil {
			return "", fmt.Errorf("go env CC: %w", err)
		}
		cc := strings.TrimSpace(string(out))
		words := strings.Fields(cc)
		if len(words) == 0 || strings.ContainsAny(words[0], `"'`) {
			return cc, nil // the go command, which also reads quoted paths, says more
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return "", fmt.Errorf("there is no C compiler %s, which go build -buildmode=c-shared needs: install gcc (package gcc or build-base), or name a compiler by CC", words[0])
		}
		return cc, nil
	}
	p := platforms[b.Target]
	if p.gcc != "" {
		if _, err := exec.LookPath(p.gcc); err == nil {
			return p.gcc, nil
		}
	}
	for _, zig := range []string{"zig", "python-zig"} { // the second is that of the Python package ziglang
		if _, err := exec.LookPath(zig); err == nil {
			return zig + " cc -target " + p.zig, nil
		}
	}
	either := "install zig (pip install ziglang)"
	if p.gcc != "" {
		either = fmt.Sprintf("install %s, or zig (pip install ziglang)", p.gcc)
	}
	return "", fmt.Errorf("there is no C compiler for %s in PATH: %s, or name one by CC, such as CC=%q", b.Target, either, "zig cc -target "+p.zig)
}
