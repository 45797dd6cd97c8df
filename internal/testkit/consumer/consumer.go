// Package consumer makes Go modules outside the repository that require it, like modules of users, and runs commands in
// them. Only tests import it.
//
// The commands are offline: what a module needs is brought into the module cache first, so it may be empty before.
// They start compilers, so the tests that use this package are skipped under -short.
package consumer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/mod/modfile"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// Self is the path of the module of this repository.
const Self = "github.com/tvmffi-go/tvmffi"

// version is the version of a replaced requirement.
const version = "v0.0.0-00010101000000-000000000000"

// NoNetwork returns the variables that keep the go command from using the network for modules and their checksums.
func NoNetwork() []string { return []string{"GOPROXY=off", "GOSUMDB=off"} }

// fill makes sure that the module cache has all that a user's module needs. That is more than a build of this
// repository needs: the go.mod files of the whole module graph, and for go mod tidy the modules that the tests of
// requirements import. It tries without the network first, because the cache is usually filled.
var fill = sync.OnceValue(func() error {
	if needs(NoNetwork()) == nil {
		return nil
	}
	return needs(nil)
})

// needs completes a module that requires this one and its tool, with these variables.
func needs(vars []string) error {
	root, err := nativetest.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "consumer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"mod", "init", "example.test/consumer"},
		{"mod", "edit", "-replace", Self + "=" + root, "-require", Self + "@" + version, "-tool", Self + "/cmd/tvmffi-bind"},
		{"mod", "graph"},
		{"mod", "tidy"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		cmd.Env = append(cmd.Env, vars...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("complete a module that requires this one: go %s: %w\n%s\n"+
				"connect this machine to the network, or set GOPROXY to a proxy that it can reach", strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// watched are the folders of the repository with the packages of users and of the tool.
var watched = []string{"cmd", "cuda", "gen", "generated", "internal", "native", "reflection", "runtime", "schema", "tvm", "xgrammar"}

// start is the folder of the package under test.
var start, startErr = os.Getwd()

// watch reads the folders of the product and of the package under test. go test keeps the result of a test until a file
// or folder changes that the test process has opened. Here these are sources that only its children read: the sources of a
// tool, a library or a module.
var watch = sync.OnceValue(func() error {
	root, err := nativetest.Root()
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if _, err := os.ReadFile(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for _, dir := range watched {
		if err := read(filepath.Join(root, dir), "testdata"); err != nil {
			return err
		}
	}
	if startErr != nil {
		return startErr
	}
	return read(start, "")
})

// read reads the folders below dir, but for folders of a name.
func read(dir, except string) error {
	return filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == except {
			return fs.SkipDir
		}
		return err
	})
}

// Watch makes go test run a test again when a package of the product or the folder of the test has changed, and returns
// the root of the repository. It is for tests whose children compile the product, so it skips them under -short.
func Watch(t testing.TB) (root string) {
	t.Helper()
	nativetest.StartsCompiler(t)
	if err := watch(); err != nil {
		t.Fatal(err)
	}
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Offline returns the variables with which the go command finds all that a consumer needs in the module cache, and
// nothing outside it.
func Offline(t testing.TB) []string {
	t.Helper()
	Watch(t)
	if err := fill(); err != nil {
		nativetest.Unavailable(t, err)
	}
	return append(NoNetwork(), "GOWORK=off")
}

// Tool returns the path of tvmffi-bind, built from this repository. It lies in the build cache of the go command,
// which links it once for all tests.
func Tool(t testing.TB) string {
	t.Helper()
	Watch(t)
	path, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var tool = sync.OnceValues(func() (string, error) {
	root, err := nativetest.Root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "tool", "-n", "tvmffi-bind")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go tool -n tvmffi-bind: %w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
})

// Shared returns the path of a shared library, which go build -buildmode=c-shared makes of the package main in a folder
// of this repository. It stays in the cache: the go command links it again only if something has changed.
func Shared(t testing.TB, folder string) string {
	t.Helper()
	root := Watch(t)
	if err := needsC(); err != nil {
		nativetest.Unavailable(t, err)
	}
	file, unlock := locked(t, path.Base(folder)+".so")
	defer unlock()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", file, ".")
	cmd.Dir, cmd.Env = filepath.Join(root, folder), append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -buildmode=c-shared ./%s: %v\n%s", folder, err, bytes.TrimSpace(out))
	}
	return file
}

// locked returns the path of a file or folder in the cache that no other process has until unlock. Each checkout has one of
// its own.
func locked(t testing.TB, name string) (file string, unlock func() error) {
	t.Helper()
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := find.CacheDir()
	if err != nil {
		nativetest.Unavailable(t, err)
	}
	sum := sha256.Sum256([]byte(root))
	file = filepath.Join(cache, "shared", hex.EncodeToString(sum[:8]), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		nativetest.Unavailable(t, find.Advise(err))
	}
	lock := flock.New(file + ".lock")
	if _, err := lock.TryLockContext(t.Context(), 50*time.Millisecond); err != nil {
		nativetest.Unavailable(t, fmt.Errorf("lock %s: %w", lock.Path(), find.Advise(err)))
	}
	return file, lock.Close
}

// Folder returns an empty folder, which is removed when the test ends. Unlike t.TempDir, it has the same path in each run, so
// that the go command finds what it has compiled there before.
func Folder(t testing.TB) string {
	t.Helper()
	dir, unlock := locked(t, strings.ReplaceAll(t.Name(), "/", "-"))
	t.Cleanup(func() {
		if err := errors.Join(os.RemoveAll(dir), unlock()); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// needsC returns an error if cgo has no C compiler.
func needsC() error {
	out, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return err
	}
	compiler, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if _, err := exec.LookPath(compiler); err != nil {
		return fmt.Errorf("shared libraries in Go need a C compiler: %w; install gcc (package gcc, or build-base), or name one by CC", err)
	}
	return nil
}

// Module is a Go module in the [Folder] of a test.
type Module struct {
	Dir string
	// Env is the environment of the commands.
	Env []string

	t testing.TB
}

// New makes a module with that path. It requires this repository, replaced by the folder of the checkout, and its
// tool, and all that these require.
func New(t testing.TB, path string) *Module {
	t.Helper()
	root := Watch(t)
	m := &Module{t: t, Dir: Folder(t)}
	m.Env = append(os.Environ(), Offline(t)...)
	m.Env = append(m.Env, "GOFLAGS=-mod=mod -buildvcs=false")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{mod.AddModuleStmt(path), mod.AddRequire(Self, version), mod.AddReplace(Self, "", root, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err = mod.Format(); err != nil {
		t.Fatal(err)
	}
	m.Write("go.mod", text)
	m.Copy(filepath.Join(root, "go.sum"), "go.sum")
	return m
}

// Write writes a file of the module. The name has slashes, and its folders are made.
func (m *Module) Write(name string, data []byte) {
	m.t.Helper()
	path := filepath.Join(m.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// Copy copies a file into the module.
func (m *Module) Copy(from, name string) {
	m.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Write(name, data)
}

// Read returns a file of the module.
func (m *Module) Read(name string) string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(name)))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

// Command returns a command that runs in the module. Variables of more win over variables of the module.
func (m *Module) Command(ctx context.Context, more []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = m.Dir, slices.Concat(m.Env, more, []string{"PWD=" + m.Dir})
	return cmd
}

// Run runs a command in the module and returns what it printed. It must succeed.
func (m *Module) Run(name string, args ...string) string {
	m.t.Helper()
	out, err := m.Command(m.t.Context(), nil, name, args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Bind runs tvmffi-bind in the module and returns what it printed. It must succeed.
func (m *Module) Bind(args ...string) string {
	m.t.Helper()
	return m.Run(Tool(m.t), args...)
}
