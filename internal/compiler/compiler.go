// Package compiler runs the C++ compilers of this machine, for package native and
// for the libraries of tests. It finds and identifies compilers, runs them, and keeps
// what they made; its callers choose sources and flags.
package compiler

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// Flags are the flags with which every source of a TVM-FFI library is compiled.
func Flags() []string {
	return []string{"-std=c++17", "-fPIC", "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1"}
}

// Library returns the file name of a shared library.
func Library(goos, name string) string {
	switch goos {
	case "darwin":
		return "lib" + name + ".dylib"
	case "windows":
		return name + ".dll"
	}
	return "lib" + name + ".so"
}

// Link returns the flags that make a shared library of that file name.
func Link(goos, file string) []string {
	switch goos {
	case "darwin":
		return []string{"-dynamiclib", "-Wl,-install_name,@rpath/" + file}
	case "windows": // with the libraries of the compiler, which another machine lacks
		return []string{"-shared", "-static"}
	}
	return []string{"-shared", "-Wl,-soname," + file}
}

// Find returns the C++ compiler that CXX names, or the first one found.
func Find() (string, error) {
	names := []string{"g++", "clang++", "c++"}
	if named := os.Getenv("CXX"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no C++ compiler: tried %q; install g++ (package g++, gcc-c++ or build-base), or name one by CXX", names)
}

// Identity is what a compiler reports about itself.
type Identity struct {
	Version string // what --version prints, of several lines
	Machine string // the target; empty for nvcc
}

// identities has the Identity of each compiler that Identify has asked.
var identities sync.Map

// Identify returns what a compiler reports, which it asks once in a process.
func Identify(ctx context.Context, compiler string) (Identity, error) {
	if id, ok := identities.Load(compiler); ok {
		return id.(Identity), nil
	}
	version, err := Run(exec.CommandContext(ctx, compiler, "--version"))
	if err != nil {
		return Identity{}, fmt.Errorf("%s --version: %w\n%s", compiler, err, FirstLines(version))
	}
	// clang++ and g++ name their target; nvcc does not know the flag.
	machine, _ := exec.CommandContext(ctx, compiler, "-dumpmachine").Output()
	id := Identity{version, string(bytes.TrimSpace(machine))}
	identities.Store(compiler, id)
	return id, nil
}

// Run runs a compiler to its end and returns what it printed.
func Run(cmd *exec.Cmd) (string, error) {
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

// FirstLines shortens the long output of a template error. If the disk was full, it adds what to do.
func FirstLines(output string) string {
	const most = 30
	lines := strings.SplitN(output, "\n", most+1)
	if len(lines) > most {
		lines[most] = "..."
	}
	if DiskFull(output) {
		lines = append(lines, "free some space, or set TVMFFI_CACHE to a folder on another disk")
	}
	return strings.Join(lines, "\n")
}

// DiskFull reports whether the output of a program, or an error, says that the disk is full.
func DiskFull(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "no space left on device") || strings.Contains(text, "disk quota exceeded")
}

// Once makes files in a folder of the cache, unless cached reports that they exist.
// If several processes want them, one makes them. build gets an empty folder and
// returns the names of the files in it that are moved to dir, in that order: a file
// that existed is replaced, never written into, because a process may have mapped it.
func Once(ctx context.Context, dir string, cached func() bool, build func(temp string) ([]string, error)) error {
	if err := find.Private(dir); err != nil {
		return err
	}
	whole.Sweep(dir)
	if cached() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return find.Advise(err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for another process that builds (%s): %w", lock.Path(), find.Advise(err))
	}
	defer lock.Close()
	if cached() {
		return nil
	}
	temp, remove, err := whole.Folder(dir)
	if err != nil {
		return find.Advise(err)
	}
	defer remove()
	names, err := build(temp)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(dir, name)); err != nil {
			return find.Advise(err)
		}
	}
	return nil
}
