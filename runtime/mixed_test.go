package tvmffi_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

func init() {
	runtimetest.Children["keys of a module"] = func() error {
		for range 2 {
			m, err := tvmffi.LoadModule(os.Getenv(envFile))
			if err == nil {
				m.Release()
				return nil
			}
			fmt.Println(err)
		}
		return nil
	}
	runtimetest.Children["keys"] = func() error {
		for _, path := range strings.Fields(os.Getenv(envFile)) {
			if err := tvmffi.LoadLibrary(path); err != nil {
				if again := tvmffi.LoadLibrary(path); again == nil || again.Error() != err.Error() {
					return fmt.Errorf("the second time: %w, after: %w", again, err)
				}
				l := bindrt.Library{Files: []bindrt.File{{Name: "libkeys.so"}}}
				if bound := bindrt.Load(&l); bound == nil || bound.Error() != err.Error() {
					return fmt.Errorf("for bindings: %w, after: %w", bound, err)
				}
				return err
			}
		}
		var pairs []tvmffi.Pair[any, int64]
		for i := range 30 {
			key, err := runtimetest.Call("keys.make", i%10)
			if err != nil {
				return err
			}
			pairs = append(pairs, tvmffi.Pair[any, int64]{Key: key, Value: int64(i)})
		}
		m, err := tvmffi.NewMap(tvmffi.PairsOf(pairs...))
		if err != nil {
			return err
		}
		fmt.Println("keys", m.Len())
		return nil
	}
}

// keysLibrary builds a library with these macros against a release of apache-tvm-ffi.
func keysLibrary(t *testing.T, release string, macros ...string) string {
	t.Helper()
	var flags []string
	for _, m := range macros {
		flags = append(flags, "-D"+m)
	}
	return nativetest.Build(t, "keys", nativetest.AgainstVersion(release), nativetest.Flags(flags...))
}

// A library whose native hooks the loaded libtvm_ffi calls in another way is refused, and no
// other one. Without the check such a library loses keys or ends the process.
func TestMixedReleases(t *testing.T) {
	const older, newer = "0.1.14.post1", "0.1.15.post2"
	releases := []string{older, newer}
	other := map[string]string{older: newer, newer: older}
	for _, with := range releases {
		env := func(files ...string) []string {
			return []string{"TVMFFI_LIBRARY=" + nativetest.Wheel(t, with).Library(), envFile + "=" + strings.Join(files, " ")}
		}
		for _, built := range releases {
			for _, macros := range [][]string{{"TYPED"}, {"HOOKS", "TYPED"}} {
				file := keysLibrary(t, built, macros...)
				out, err := runtimetest.Child(t, "keys", env(file)...)
				if built == with || macros[0] != "HOOKS" {
					want := "keys 30"
					if macros[0] == "HOOKS" {
						want = "keys 10"
					}
					if err != nil || strings.TrimSpace(out) != want {
						t.Errorf("%v of %s with %s: the child ended with %v, want %q:\n%s", macros, built, with, err, want, out)
					}
					continue
				}
				for _, part := range []string{file + " does not fit libtvm_ffi " + nativetest.Wheel(t, with).Library() + " (0.1.",
					"it was built with apache-tvm-ffi 0.1.1", "__any_hash__ and __any_equal__ of its type keys.Key",
					`run "go tool tvmffi-bind setup --version ` + other[with] + `"`, "TVMFFI_LIBRARY", "under deps in tvmffi.yaml", "TVMFFI_ALLOW_MIXED=1"} {
					if err == nil || !strings.Contains(out, part) {
						t.Errorf("of %s with %s: the child ended with %v, its error lacks %q:\n%s", built, with, err, part, out)
					}
				}
				if out, err := runtimetest.Child(t, "keys of a module", env(file)...); err != nil || strings.Count(out, "does not fit") != 2 {
					t.Errorf("as a module of %s with %s: the child ended with %v, want two errors:\n%s", built, with, err, out)
				}
				if out, err := runtimetest.Child(t, "keys", append(env(file), "TVMFFI_ALLOW_MIXED=0")...); err == nil || !strings.Contains(out, "does not fit") {
					t.Errorf("with TVMFFI_ALLOW_MIXED=0: %s", out)
				}
				if out, _ := runtimetest.Child(t, "keys", append(env(file), "TVMFFI_ALLOW_MIXED=1")...); strings.Contains(out, "does not fit") || strings.TrimSpace(out) == "keys 10" {
					t.Errorf("of %s with %s, which is allowed, the child printed\n%s", built, with, out)
				}
				// Only what the library itself registers counts, not an older library before it.
				good := keysLibrary(t, with, "HOOKS", "TYPED")
				apart := nativetest.Build(t, "garden", nativetest.AgainstVersion(built))
				if out, err := runtimetest.Child(t, "keys", env(apart, good)...); err != nil || strings.TrimSpace(out) != "keys 10" {
					t.Errorf("after a library of %s with %s the child ended with %v:\n%s", built, with, err, out)
				}
			}
		}
		// Nothing tells with which headers a library without typed functions was compiled.
		if out, err := runtimetest.Child(t, "keys", env(keysLibrary(t, with, "HOOKS"))...); err != nil || strings.TrimSpace(out) != "keys 10" {
			t.Errorf("without typed functions the child ended with %v:\n%s", err, out)
		}
	}
}
