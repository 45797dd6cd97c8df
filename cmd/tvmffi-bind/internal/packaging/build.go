package packaging

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// Build says how a library is built.
type Build struct {
	Target Target
	// Debug keeps the symbols and DWARF, for debuggers. Without them stack traces have functions and lines too.
	Debug bool
	// Trim leaves the folders of this machine out of the library. Python then cannot show Go source in tracebacks.
	Trim bool
	// Made holds the files that were built, by Trim. A further library is a copy of one.
	Made map[bool]string
}

// Library builds the main package in a folder into file, which it replaces at once and only if all went well: a
// process that uses the old library keeps it. TVM-FFI does not need the header that the go command also writes.
func (b Build) Library(ctx context.Context, main, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	dir, remove, err := whole.Folder(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer remove()
	built := filepath.Join(dir, filepath.Base(file))
	data, err := os.ReadFile(b.Made[b.Trim])
	if err == nil {
		err = os.WriteFile(built, data, 0o755)
	} else {
		err = b.build(ctx, main, built)
	}
	if err != nil {
		return err
	}
	b.Made[b.Trim] = file
	return find.InUse(os.Rename(built, file))
}

// build is Library, in a folder that has nothing else.
func (b Build) build(ctx context.Context, main, built string) error {
	cc, err := b.compiler(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-buildmode=c-shared", "-o", built}, append(b.flags(), ".")...)...)
	cmd.Dir = main
	if cmd.Env, err = b.stubbed(b.environment(cc), filepath.Dir(built)); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		hint := "it needs a C compiler, such as gcc"
		if b.Target != Host {
			hint = fmt.Sprintf("it needs a C compiler for %s; %q was used", b.Target, cc)
		}
		return fmt.Errorf("go build -buildmode=c-shared: %w; %s\n%s", err, hint, console.FirstLines(strings.TrimSpace(string(out))))
	}
	return nil
}

// flags returns flags for the go command. The build ID depends on the folders of the build.
func (b Build) flags() []string {
	var flags, linker []string
	if b.Trim {
		flags, linker = append(flags, "-trimpath"), append(linker, "-buildid=")
	}
	if !b.Debug {
		linker = append(linker, "-s", "-w")
	}
	if len(linker) > 0 {
		flags = append(flags, "-ldflags="+strings.Join(linker, " "))
	}
	return flags
}

// environment returns the environment of the go command.
func (b Build) environment(cc string) []string {
	env := append(os.Environ(), "CGO_ENABLED=1", "GOOS="+b.Target.OS, "GOARCH="+b.Target.Arch)
	if cc != "" {
		env = append(env, "CC="+cc)
	}
	return env
}

// stub describes a library of macOS to linkers. Go binds the symbols by their names at run time, so it lists none.
const stub = `--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: %s
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ ]
...
`

// stubbed adds to an environment what a compiler for macOS on another system lacks: the two libraries that Go links
// with, which zig does not have. It writes them below dir.
func (b Build) stubbed(env []string, dir string) ([]string, error) {
	if b.Target.OS != "darwin" || Host.OS == "darwin" {
		return env, nil
	}
	for file, name := range map[string]string{
		"libresolv.tbd": "/usr/lib/libresolv.9.dylib",
		"CoreFoundation.framework/CoreFoundation.tbd": "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation",
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, stub, name), 0o644); err != nil {
			return nil, err
		}
	}
	flags := os.Getenv("CGO_LDFLAGS")
	if flags == "" {
		flags = "-O2 -g" // the default of the go command
	}
	return append(env, fmt.Sprintf("CGO_LDFLAGS=%s -L%s -F%s", flags, dir, dir)), nil
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
	for _, zig := range []string{"zig", "python-zig"} { // the second comes with the Python package ziglang
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
