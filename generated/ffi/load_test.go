package ffi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	"github.com/tvmffi-go/tvmffi/generated/ffi/json"
	"github.com/tvmffi-go/tvmffi/generated/ffi/reflection"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestMain(m *testing.M) {
	if os.Getenv("TVMFFI_TEST_CHILD") == "" {
		nativetest.ProvideLibrary()
		os.Exit(m.Run())
	}
	n, err := ffi.ArraySize(tvmffi.Of[int64](1, 2))
	fmt.Println(n, err, ffi.Load(), tvmffi.LibraryPath())
}

// TestLoadChecked compares all items with the library that they were made from.
func TestLoadChecked(t *testing.T) {
	load(t)
	for name, check := range map[string]func(...tvmffi.LoadOption) error{
		"ffi": ffi.LoadChecked, "json": json.LoadChecked, "reflection": reflection.LoadChecked,
	} {
		if err := check(); err != nil && nativetest.Version() == wheel.DefaultVersion {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOtherCopy uses the bindings of libtvm_ffi with a copy in another folder. The file
// that the bindings were made from is in the cache; loading it as well would end the
// process.
func TestOtherCopy(t *testing.T) {
	data, err := os.ReadFile(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(nativetest.Library(t)))
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Env = append(os.Environ(), "TVMFFI_TEST_CHILD=1", "TVMFFI_LIBRARY="+path)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("2 <nil> <nil> %s\n", path); err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: got %.2000s, want %s", err, out, want)
	}
}
