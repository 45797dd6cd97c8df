package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// gardenBindings is the library of a generated package.
func gardenBindings() *bindrt.Library {
	return &bindrt.Library{Files: []bindrt.File{{Name: "libgarden.so", SHA256: os.Getenv(envHash)}}}
}

// useGarden makes a call as a generated package does.
func useGarden(l *bindrt.Library) error {
	var c bindrt.Call1
	c.Begin(&bindrt.Func{Library: l, Name: "garden.alive", Sig: "() -> int"}, 0)
	return c.Do()
}

func init() {
	// "steps" loads copies of one library in the ways and places that TEST_STEPS names, such as
	// "library=/a/libgarden.so bindings". Two copies would end the process.
	runtimetest.Children["steps"] = func() error {
		l := gardenBindings()
		for _, step := range strings.Fields(os.Getenv(envSteps)) {
			how, path, _ := strings.Cut(step, "=")
			var err error
			switch how {
			case "library":
				err = tvmffi.LoadLibrary(path)
			case "module":
				var m *tvmffi.Module
				if m, err = tvmffi.LoadModule(path); err == nil {
					m.Release()
				}
			case "file":
				err = bindrt.Load(l, tvmffi.WithFile(path))
			case "dir":
				err = bindrt.Load(l, tvmffi.WithDir(path))
			case "another": // another generated package
				err = bindrt.Load(gardenBindings(), tvmffi.WithFile(path))
			case "host": // other code of the process, which has its own way to find libtvm_ffi
				if _, err = dynlib.Open(os.Getenv("TVMFFI_LIBRARY")); err == nil {
					_, err = dynlib.Open(path)
				}
			case "remove":
				err = os.Remove(path)
			case "bindings":
				err = useGarden(l)
			case "fails":
				if err := useGarden(l); !errors.Is(err, tvmffi.ErrNotFound) {
					return fmt.Errorf("without the library the error is %w", err)
				}
			}
			if err != nil {
				return fmt.Errorf("%s: %w", step, err)
			}
		}
		if len(l.Paths) > 0 {
			fmt.Println("uses", l.Paths[0])
		}
		return nil
	}
	runtimetest.Children["copies at once"] = func() error {
		var all sync.WaitGroup
		failed := make(chan error, 32)
		for i := range 32 {
			path := strings.Fields(os.Getenv(envSteps))[i%3]
			all.Go(func() {
				if i%2 == 0 {
					failed <- tvmffi.LoadLibrary(path)
				} else if l := gardenBindings(); bindrt.Load(l, tvmffi.WithFile(path)) != nil {
					failed <- bindrt.Load(l)
				} else {
					failed <- useGarden(l)
				}
			})
		}
		all.Wait()
		close(failed)
		for err := range failed {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// envSteps lists what the child "steps" does.
const envSteps = "TEST_STEPS"

// Bindings use a library that is already loaded, however it was loaded.
func TestBindingsUseWhatIsLoaded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test library is not built on Windows")
	}
	garden, dir := nativetest.Build(t, "garden"), t.TempDir()
	place := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	copied := copyFile(t, garden, place("copy/libgarden.so"))
	renamed := copyFile(t, garden, place("copy/libflowers.so"))
	linked := link(t, garden, place("link/libgarden.so"))
	lost := copyFile(t, garden, place("lost/libgarden.so"))
	// Another build with the same interface: another version, as far as one can see.
	other := copyFile(t, nativetest.Build(t, "garden", nativetest.Flags("-Wl,-rpath,/other")), place("other/libgarden.so"))
	// Unrelated libraries of the same name: one that needs the library, and one of which TVM-FFI knows nothing.
	needs := nativetest.BuildText(t, "needs_garden", "extern \"C\" int needs_garden() { return 1; }\n", nativetest.Standalone(), nativetest.Flags("-Wl,--no-as-needed,-rpath,"+filepath.Dir(garden), garden))
	chance := copyFile(t, nativetest.BuildText(t, "chance", "extern \"C\" int chance() { return 1; }\n", nativetest.Standalone()), place("chance/libgarden.so"))
	soname := copyFile(t, nativetest.Build(t, "garden", nativetest.Flags("-Wl,-soname,libgarden.so")), place("soname/libgarden-1.so"))
	user := outlived(t) // looks up functions of the garden, and registers one itself
	spelt := filepath.Dir(garden) + "/../" + filepath.Base(filepath.Dir(garden)) + "/./libgarden.so"
	for _, c := range []struct{ what, steps, uses string }{
		{"LoadLibrary first", "library=" + garden + " bindings", garden},
		{"LoadLibrary of another build first", "library=" + other + " bindings", other},
		{"LoadLibrary, then a folder with a copy", "library=" + garden + " dir=" + filepath.Dir(copied) + " bindings", garden},
		{"LoadLibrary, then a folder with another build", "library=" + garden + " dir=" + filepath.Dir(other) + " bindings", garden},
		{"LoadLibrary, then a copy", "library=" + garden + " file=" + copied + " bindings", garden},
		{"LoadLibrary, then a link", "library=" + garden + " file=" + linked + " bindings", garden},
		{"LoadLibrary of a renamed copy, then a copy", "library=" + renamed + " file=" + copied + " bindings", renamed},
		{"a file with the name inside", "library=" + soname + " dir=" + filepath.Dir(copied) + " bindings", soname},
		{"two spellings", "library=" + spelt + " file=" + garden + " bindings", garden},
		{"LoadLibrary of copies", "library=" + garden + " library=" + copied + " library=" + linked + " library=" + renamed + " library=" + spelt + " bindings", garden},
		{"LoadModule of copies", "module=" + garden + " module=" + copied + " library=" + renamed + " module=" + linked + " bindings", garden},
		{"LoadModule of a copy", "library=" + garden + " module=" + copied + " bindings", garden},
		{"a library that uses its functions", "library=" + garden + " library=" + user + " module=" + user + " bindings", garden},
		{"LoadLibrary after a failure", "fails library=" + garden + " bindings", garden},
		{"another package after a failure", "fails another=" + garden + " bindings", garden},
		{"the bindings first", "file=" + garden + " library=" + copied + " library=" + linked + " library=" + renamed + " bindings", garden},
		{"another package first", "another=" + garden + " dir=" + filepath.Dir(copied) + " bindings", garden},
		{"other code first", "host=" + garden + " bindings", garden},
		{"other code first, then copies", "host=" + garden + " library=" + copied + " file=" + renamed + " file=" + copied + " bindings", garden},
		{"other code first, by a link", "host=" + linked + " library=" + copied + " file=" + garden + " bindings", garden},
		{"as the dependency of another", "library=" + needs + " bindings", garden},
		{"as the dependency of another, then a copy", "host=" + needs + " library=" + copied + " dir=" + filepath.Dir(copied) + " bindings", garden},
		{"a file that is gone", "library=" + lost + " remove=" + lost + " bindings", lost},
		{"a name by chance", "library=" + chance + " dir=" + filepath.Dir(garden) + " bindings", garden},
	} {
		out, err := runtimetest.Child(t, "steps", "TVMFFI_LIBRARY="+nativetest.Library(t), envSteps+"="+c.steps)
		if err != nil || strings.TrimSpace(out) != "uses "+c.uses {
			t.Errorf("%s: the child ended with %v, want that it uses %s:\n%s", c.what, err, c.uses, out)
		}
	}
	out, err := runtimetest.Child(t, "steps", "TVMFFI_LIBRARY="+nativetest.Library(t), envSteps+"=library="+garden+" file="+other)
	for _, part := range []string{"the process has already loaded libgarden.so from " + garden, "cannot load another one from " + other, "name the loaded one"} {
		if err == nil || !strings.Contains(out, part) {
			t.Errorf("the child ended with %v, its error lacks %q:\n%s", err, part, out)
		}
	}
	// Another build of a loaded library would register its names again.
	elsewhere := copyFile(t, other, place("elsewhere/libflowers.so"))
	for _, steps := range []string{"library=" + garden + " library=" + other, "library=" + garden + " library=" + elsewhere, "module=" + garden + " library=" + elsewhere,
		"library=" + garden + " module=" + elsewhere, "host=" + garden + " library=" + other, "host=" + garden + " module=" + other} {
		out, err := runtimetest.Child(t, "steps", "TVMFFI_LIBRARY="+nativetest.Library(t), envSteps+"="+steps)
		for _, part := range []string{"cannot be loaded: it registers garden.", "and so does another build of the library, " + garden, "load one of the two"} {
			if err == nil || !strings.Contains(out, part) {
				t.Errorf("%s: the child ended with %v, its error lacks %q:\n%s", steps, err, part, out)
			}
		}
	}
	core, err := os.ReadFile(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	second := place("other/libsecond.so")
	if err := os.WriteFile(second, append(core, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err = runtimetest.Child(t, "steps", "TVMFFI_LIBRARY="+nativetest.Library(t), envSteps+"=module="+second)
	if err == nil || !strings.Contains(out, second+" cannot be loaded: it registers ffi.") {
		t.Errorf("another build of libtvm_ffi: the child ended with %v:\n%.300s", err, out)
	}
	for range 3 {
		if out, err := runtimetest.Child(t, "copies at once", "TVMFFI_LIBRARY="+nativetest.Library(t), envSteps+"="+garden+" "+copied+" "+linked); err != nil {
			t.Errorf("with goroutines the child ended with %v:\n%s", err, out)
		}
	}
}
