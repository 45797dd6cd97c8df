// Package runtimetest has what the tests of runtime and of the packages above it
// share: real libraries that are loaded once, calls, checks of errors and panics,
// counts of live objects, child processes, and the Go types of the objects in these
// libraries. Only tests import it.
package runtimetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// childName is the environment variable that makes a test binary run a child program.
const childName = "TVMFFI_TEST_CHILD"

// Children are the child programs of a test binary by name. Some tests need a process
// of their own, because a process has one libtvm_ffi or because it ends: [Child]
// starts the test binary again, and [Main] runs the program there. Init functions of
// tests add to it.
var Children = map[string]func() error{}

// Main runs the tests and examples, or the program that [Child] asks for, and exits. A
// package that has children, or examples that use libtvm_ffi, calls it in TestMain.
func Main(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		run, ok := Children[name]
		if !ok {
			fmt.Printf("there is no child %q\n", name)
			os.Exit(3)
		}
		if err := run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	nativetest.ProvideLibrary()
	os.Exit(m.Run())
}

// Child starts the test binary again with the child program of this name and returns
// what the process printed. Its environment holds env and what the system needs.
func Child(t *testing.T, name string, env ...string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return ChildOf(t, exe, name, env...)
}

// ChildOf is [Child] with the executable exe, a copy of the test binary or a link to it.
func ChildOf(t *testing.T, exe, name string, env ...string) (string, error) {
	t.Helper()
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append([]string{childName + "=" + name, "HOME=" + cmd.Dir, "PATH="}, env...)
	for _, keep := range []string{"GODEBUG", "GOMAXPROCS", "GOGC", "GOTRACEBACK"} {
		if v := os.Getenv(keep); v != "" {
			cmd.Env = append(cmd.Env, keep+"="+v)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// LoadInChild loads the libtvm_ffi that the environment variable CORE names, for
// child programs.
func LoadInChild() error { return tvmffi.Load(tvmffi.WithLibrary(os.Getenv("CORE"))) }
