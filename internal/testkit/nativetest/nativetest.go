// Package nativetest gives tests the real native libraries: the pinned wheels have some, and it builds others from
// the C++ in testdata. Its files lie in the user's cache, outside the repository. Only tests import it.
//
// If something is missing on the machine, the first test of a package that needs it fails and says what to install;
// the others are skipped. If TVMFFI_ALLOW_SKIP is set, all of them are skipped with that reason.
//
// TVMFFI_TEST_WHEEL names another pinned version of apache-tvm-ffi to test against.
// TVMFFI_TEST_EMULATOR is the command that runs the programs of this platform, where the kernel cannot.
// TVMFFI_TEST_PACK names a folder of "bench/gpu -pack", and TVMFFI_TEST_IMAGES the images in it that fit the driver: what
// a test needs comes from there.
// TVMFFI_TEST_GC makes the collector run all the time, in every test that imports this package.
package nativetest

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// Version returns the version of apache-tvm-ffi that the tests use.
func Version() string {
	if v := os.Getenv("TVMFFI_TEST_WHEEL"); v != "" {
		return v
	}
	return wheel.DefaultVersion
}

// Wheel returns the wheel of apache-tvm-ffi of a version, for the platform of the test.
func Wheel(t testing.TB, version string) wheel.Dir {
	t.Helper()
	return wheelFor(t, version, runtime.GOOS, runtime.GOARCH)
}

func wheelFor(t testing.TB, version, goos, goarch string) wheel.Dir {
	t.Helper()
	s, err := wheel.TVMFFI(version, goos, goarch)
	if err != nil {
		Unavailable(t, err)
	}
	return Get(t, s)
}

// noDownload is the error of the first download that failed. No other is tried after it, because
// without a network pip takes seconds to fail each time.
var noDownload atomic.Pointer[error]

// Get returns the unpacked wheel of a spec.
func Get(t testing.TB, s wheel.Spec) wheel.Dir {
	t.Helper()
	d, err := get(t.Context(), s)
	if err != nil {
		Unavailable(t, err)
	}
	return d
}

func get(ctx context.Context, s wheel.Spec) (wheel.Dir, error) {
	if d, ok := wheel.Cached(s); ok {
		return d, nil
	}
	if err := noDownload.Load(); err != nil {
		return wheel.Dir{}, *err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	d, err := wheel.Get(ctx, s)
	if err != nil {
		noDownload.Store(&err)
	}
	return d, err
}

// ProvideLibrary makes libtvm_ffi and its testing library known to this process as
// "tvmffi-bind setup" makes them known to the programs of a user, for examples, which can
// name no file. It also puts the pinned wheels of packages into the cache; for apache-tvm the libtvm_ffi
// is the one that TVM needs. If there is none, the examples fail with the error of the runtime.
func ProvideLibrary(packages ...string) {
	for _, pkg := range packages {
		if s, ok := pinnedWheel(pkg); ok {
			if _, err := get(context.Background(), s); err != nil {
				return
			}
		}
	}
	version := Version()
	if slices.Contains(packages, "apache-tvm") {
		version = wheel.TVMNeeds
	}
	s, err := wheel.TVMFFI(version, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return
	}
	d, err := get(context.Background(), s)
	if err != nil {
		return
	}
	const name = "TVMFFI_LIBRARY_PATH"
	dirs := filepath.Dir(d.Library())
	if before := os.Getenv(name); before != "" {
		dirs += string(os.PathListSeparator) + before
	}
	if err := os.Setenv(name, dirs); err != nil {
		log.Fatal(err)
	}
}

// Pinned returns the newest wheel of a Python package whose hash is known, for the platform of the test.
func Pinned(t testing.TB, pkg string) wheel.Dir {
	t.Helper()
	s, ok := pinnedWheel(pkg)
	if !ok {
		Unavailable(t, fmt.Errorf("no wheel of %s has a known hash for %s/%s", pkg, runtime.GOOS, runtime.GOARCH))
	}
	return Get(t, s)
}

// PinnedVersion returns the version of the wheel that [Pinned] returns.
func PinnedVersion(t testing.TB, pkg string) string {
	t.Helper()
	s, ok := pinnedWheel(pkg)
	if !ok {
		Unavailable(t, fmt.Errorf("no wheel of %s has a known hash for %s/%s", pkg, runtime.GOOS, runtime.GOARCH))
	}
	return s.Version
}

func pinnedWheel(pkg string) (wheel.Spec, bool) {
	for _, s := range slices.Backward(wheel.Pinned()) {
		if s.Package == pkg && s.GOOS == runtime.GOOS && s.GOARCH == runtime.GOARCH {
			return s, true
		}
	}
	return wheel.Spec{}, false
}

// OneCompiler skips a test in which a C++ exception crosses between libtvm_ffi and a library of the tests, on a system where
// different compilers have built them: the process would end. The header of the C API says of the pointer cpp_call, by which
// C++ calls a function of another library, that both must throw and catch alike.
func OneCompiler(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("libtvm_ffi and the library of the test are of two compilers, which do not catch each other's exceptions")
	}
}

// NeedOptimised skips a test of allocations or times in a build that users do not have: with the race
// detector or with flags of the compiler.
func NeedOptimised(t testing.TB) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if !ok || slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-race" && s.Value == "true" || s.Key == "-gcflags"
	}) {
		t.Skip("this build, with the race detector or flags of the compiler, is not the one that is measured")
	}
}

// Library returns the path of libtvm_ffi.
func Library(t testing.TB) string {
	t.Helper()
	if Packed() != "" {
		return packed(t, "lib/libtvm_ffi.so")
	}
	return Wheel(t, Version()).Library()
}

// Testing returns the path of the testing library of TVM-FFI.
func Testing(t testing.TB) string {
	t.Helper()
	return Wheel(t, Version()).TestingLibrary()
}

// Folder is t.TempDir for libraries that the test loads. Windows removes no file that is loaded, so there they stay behind.
func Folder(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "loaded")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Include returns the folders of the C and C++ headers.
func Include(t testing.TB) []string {
	t.Helper()
	return Wheel(t, Version()).Include()
}

// Command is exec.CommandContext for a program of the platform of the test, such as the test itself. Under an
// emulator of user programs the kernel cannot start one: it goes through the command in TVMFFI_TEST_EMULATOR.
func Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := append(strings.Fields(os.Getenv("TVMFFI_TEST_EMULATOR")), program)
	command = append(command, args...)
	return exec.CommandContext(ctx, command[0], command[1:]...)
}

func init() {
	if os.Getenv("TVMFFI_TEST_GC") != "" {
		go func() {
			for {
				runtime.GC()
				time.Sleep(100 * time.Microsecond) // the tests want to run too
			}
		}()
	}
}

// StartsCompiler skips a test under -short: it runs a compiler, or programs that do, each time. A test that only loads
// a library of Build does not call it, because that library stays in the cache.
func StartsCompiler(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts a compiler")
	}
}

// Compiler returns the C++ compiler that CXX names, or the first one found.
func Compiler(t testing.TB) string {
	t.Helper()
	path, err := compiler.Find()
	if err != nil {
		Unavailable(t, err)
	}
	return path
}

// Clang returns clang++, or Compiler where it is not installed.
func Clang(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("clang++"); err == nil {
		return path
	}
	return Compiler(t)
}

// Unavailable ends a test that cannot run on this machine, because of err.
func Unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("TVMFFI_ALLOW_SKIP") != "" {
		t.Skipf("nativetest: %v (TVMFFI_ALLOW_SKIP is set)", err)
	}
	failOnce(t, err)
}

// failures holds the messages of tests that failed.
var failures sync.Map

// failOnce ends a test that cannot run. The first one of the package fails, and so the package does. Those that end for
// the same reason are skipped: one message says what is missing, and not one for each test.
func failOnce(t testing.TB, err error) {
	t.Helper()
	reason := err.Error()
	if compiler.DiskFull(reason) {
		reason = "the disk is full" // no matter which file did not fit
	}
	if _, again := failures.LoadOrStore(reason, true); again {
		t.Skipf("nativetest: another test of the package has failed for this reason: %.80s", err)
	}
	t.Fatalf("nativetest: %v", err)
}

// Once sets something up for all tests of a package. The first test that calls Do does it, and fails if it fails; the
// tests that call Do later are skipped then.
type Once struct {
	once sync.Once
	done bool
}

// Do calls f, which may end the test, if no test has called Do before.
func (o *Once) Do(t testing.TB, f func()) {
	t.Helper()
	o.once.Do(func() {
		f()
		o.done = true
	})
	if !o.done {
		t.Skipf("nativetest: another test of the package has failed to set this up")
	}
}

// start is the folder of the package under test, before any test changes it.
var start, startErr = os.Getwd()

// Root returns the root of the repository.
var Root = sync.OnceValues(func() (string, error) {
	if startErr != nil {
		return "", startErr
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if isRoot(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("no go.mod of this module in %s or above it", start)
		}
	}
})

// isRoot reads past the go.mod of examples, which are modules of their own inside the repository.
func isRoot(mod string) bool {
	f, err := os.Open(mod)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return err == nil && slices.Contains(strings.Split(strings.ReplaceAll(string(b), "\r", ""), "\n"), "module github.com/tvmffi-go/tvmffi")
}
