package tvmffi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// firstUses pack the first argument of a program, of each kind that needs the
// library.
var firstUses = map[string]func(c *bindrt.Call){
	"callback": func(c *bindrt.Call) {
		bindrt.Callback(c, 0, func() error { return nil }, func(*bindrt.Args) error { return nil })
	},
	"array":       func(c *bindrt.Call) { bindrt.Put[tvmffi.ArrayArg[int64]](c, 0, tvmffi.Of[int64](1)) },
	"map":         func(c *bindrt.Call) { bindrt.Put[any](c, 0, map[string]int{"a": 1}) },
	"any":         func(c *bindrt.Call) { bindrt.Put[any](c, 0, "a text that needs an object") },
	"func":        func(c *bindrt.Call) { bindrt.Put[any](c, 0, func() {}) },
	"int":         func(c *bindrt.Call) { bindrt.Put(c, 0, big.NewInt(1)) },
	"text":        func(c *bindrt.Call) { c.String(0, "a text\x00 with NUL") },
	"long text":   func(c *bindrt.Call) { c.String(0, strings.Repeat("x", 4000)) },
	"plain value": func(c *bindrt.Call) { c.Int(0, 1) },
}

// firstValues make a value before anything is called or loaded.
var firstValues = map[string]func() error{
	"text":         func() error { return runtimetest.ErrorOf(tvmffi.AnyOf("x")) },
	"bytes":        func() error { return runtimetest.ErrorOf(tvmffi.AnyOf([]byte("x"))) },
	"uint64":       func() error { return largeInt(tvmffi.AnyOf(uint64(1 << 63))) },
	"big.Int":      func() error { return largeInt(tvmffi.AnyOf(new(big.Int).Lsh(big.NewInt(1), 70))) },
	"error":        func() error { return runtimetest.ErrorOf(tvmffi.AnyOf(tvmffi.NewError("ValueError", "x"))) },
	"error of Go":  func() error { return runtimetest.ErrorOf(tvmffi.AnyOf(errors.New("x"))) },
	"pointer":      func() error { x := "x"; return runtimetest.ErrorOf(tvmffi.AnyOf(&x)) },
	"variant JSON": func() error { return runtimetest.ErrorOf(json.Marshal(tvmffi.VariantOf("x"))) },
	"JSON graph":   func() error { return runtimetest.ErrorOf(jsongraph.Marshal("x", nil)) },
	"stringify":    func() error { return runtimetest.ErrorOf(tvmffi.StringifyJSON("x", 0)) },
}

// largeInt returns err unless an older libtvm_ffi says that it has no such ints.
func largeInt(_ tvmffi.Any, err error) error {
	if err != nil && strings.Contains(err.Error(), "0.1.14 is the first") && tvmffi.LibraryPath() != "" {
		return nil
	}
	return err
}

var echoAny = bindrt.Func{Name: "ffi.ReprPrint", Sig: "(Any) -> ffi.String"}

func init() {
	for name, pack := range firstUses {
		runtimetest.Children["first use: "+name] = func() error {
			var c bindrt.Call1
			c.Begin(&echoAny, 1)
			pack(&c.Call)
			text, err := c.DoString()
			fmt.Println("printed", len(text) > 0)
			return err
		}
	}
	for name, first := range firstValues {
		runtimetest.Children["first value: "+name] = first
	}
}

// TestFirstValue makes each value in a program that has loaded nothing: the library is loaded, and if there is none, that is the
// error.
func TestFirstValue(t *testing.T) {
	library := nativetest.Library(t)
	for name := range firstValues {
		if out, err := runtimetest.Child(t, "first value: "+name, "TVMFFI_LIBRARY="+library); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		out, err := runtimetest.Child(t, "first value: "+name, "TVMFFI_LIBRARY="+filepath.Join(t.TempDir(), "none.so"))
		if err == nil || !strings.Contains(out, "LibraryNotFound") || strings.Contains(out, "panic") {
			t.Errorf("%s without a library: %v\n%s", name, err, out)
		}
	}
}

// Whatever is packed first loads the library; if there is none, that is the error.
func TestFirstUse(t *testing.T) {
	library := nativetest.Library(t)
	for name := range firstUses {
		if out, err := runtimetest.Child(t, "first use: "+name, "TVMFFI_LIBRARY="+library); err != nil || !strings.Contains(out, "printed true") {
			t.Errorf("the child %q ended with %v, want that it printed true:\n%s", name, err, out)
		}
		out, err := runtimetest.Child(t, "first use: "+name, "TVMFFI_LIBRARY="+filepath.Join(t.TempDir(), "none.so"))
		if err == nil || !strings.Contains(out, "LibraryNotFound") || strings.Contains(out, "argument 0") || strings.Contains(out, "panic") {
			t.Errorf("%s without a library: %v\n%s", name, err, out)
		}
	}
}
