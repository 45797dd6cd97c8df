package dynlib_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestOpen(t *testing.T) {
	path := nativetest.Library(t)
	h, err := dynlib.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := dynlib.Open(path)
	if err != nil || again != h {
		t.Errorf("a second Open: %v, %v, want %v", again, err, h)
	}
	address, err := h.Symbol("TVMFFIGetVersion")
	if err != nil || address == 0 {
		t.Fatalf("TVMFFIGetVersion: %#x, %v", address, err)
	}
	want, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := filepath.EvalSymlinks(dynlib.File(address)); err != nil || got != want {
		t.Errorf("the file of the symbol is %q, %v, want %q", got, err, want)
	}
	if h, err := dynlib.Open(path + "\x00.txt"); err == nil || !strings.Contains(err.Error(), "zero byte") {
		t.Errorf("a name with a zero byte: %v, %v", h, err)
	}
	if h, err := dynlib.Open("libc.so.6\x00x"); err == nil {
		t.Errorf("a name of the loader with a zero byte: %v", h)
	}
	if file := dynlib.File(0); file != "" {
		t.Errorf("the file of address 0 is %q", file)
	}
	if loaded, err := dynlib.Loaded(filepath.Base(path)); err != nil || loaded != h {
		t.Errorf("Loaded: %v, %v, want %v", loaded, err, h)
	}
	if _, err := dynlib.Loaded("libtvmffi_no_such_library.so"); !errors.Is(err, dynlib.ErrNotLoaded) {
		t.Errorf("a library that was never loaded: %v", err)
	}
}

// The process knows the files of its libraries, also one in a folder with spaces whose file
// has been removed.
func TestImages(t *testing.T) {
	dir, err := filepath.EvalSymlinks(nativetest.Folder(t))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(nativetest.BuildText(t, "image", "int image;", nativetest.Standalone()))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "with spaces.so")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(dynlib.Images(), path) {
		t.Errorf("%s is listed before it is loaded", path)
	}
	h, err := dynlib.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Path(); got != path && runtime.GOOS != "darwin" {
		t.Errorf("the path of the handle is %q, want %q", got, path)
	}
	for range 2 {
		if images := dynlib.Images(); !slices.Contains(images, path) {
			t.Errorf("%s is not among the files %q", path, images)
		}
		os.Remove(path)
	}
}

func TestSymbolMissing(t *testing.T) {
	h, err := dynlib.Open(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	address, err := h.Symbol("TVMFFINoSuchSymbol")
	if err == nil || address != 0 || !strings.Contains(err.Error(), "TVMFFINoSuchSymbol") {
		t.Errorf("%#x, %v, want an error that names the symbol", address, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"text.so": "not a library\n", "empty.so": "", "short.so": "\x7fELF\x02\x01\x01"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"missing.so", "text.so", "empty.so", "short.so", "."} {
		path := filepath.Join(dir, name)
		h, err := dynlib.Open(path)
		if err == nil {
			t.Errorf("%s: loaded as %v", name, h)
			continue
		}
		if h != 0 {
			t.Errorf("%s: handle %v with an error", name, h)
		}
		if text := err.Error(); strings.Count(text, path) != 1 {
			t.Errorf("%s: the error names the path %d times: %s", name, strings.Count(text, path), text)
		}
	}
}

// The loader keeps its error text per thread: each goroutine gets its own.
func TestErrorsOfManyGoroutines(t *testing.T) {
	h, err := dynlib.Open(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 50 {
				name := "missing_" + string(rune('a'+i))
				if _, err := h.Symbol(name); err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("symbol %s: %v", name, err)
				}
				path := filepath.Join(dir, name+".so")
				if _, err := dynlib.Open(path); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("open %s: %v", path, err)
				}
			}
		})
	}
	all.Wait()
}

// calls is a library with a function that it calls, and one that no library has.
const calls = `extern "C" { int tvmffi_no_such_function(); char* getenv(const char*); }
extern "C" const char* home() { return getenv("HOME"); }
extern "C" int missing() { return tvmffi_no_such_function(); }`

// A library that was opened lazily shows where it will keep the functions that it calls. Memory reads what is there, and
// nothing else.
func TestMemory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("here memory cannot be read")
	}
	h, err := dynlib.OpenLazily(nativetest.BuildText(t, "calls", calls, nativetest.Standalone(), nativetest.Flags("-Wl,-z,lazy")))
	if err != nil {
		t.Fatal(err)
	}
	read, err := dynlib.Memory()
	if err != nil {
		t.Fatal(err)
	}
	slots := h.Slots(read)
	for at, name := range slots {
		if err := read(at, make([]byte, 8)); err != nil {
			t.Errorf("the place of %s, %#x: %v", name, at, err)
		}
	}
	if names := slices.Collect(maps.Values(slots)); runtime.GOOS == "linux" && (!slices.Contains(names, "getenv") || !slices.Contains(names, "tvmffi_no_such_function")) {
		t.Errorf("the library calls %q", names)
	}
	for _, address := range []uint64{0, 8, 1 << 40, 1 << 63, ^uint64(0)} {
		if err := read(address, make([]byte, 8)); err == nil {
			t.Errorf("memory at %#x was read", address)
		}
	}
}
