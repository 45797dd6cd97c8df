package reflection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/reflection"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// load loads libtvm_ffi, its testing library, the garden and others: all that the
// tests use, because libraries are distinguished by what is new after each.
func load(t testing.TB) { t.Helper(); read(t) }

// must returns v, or ends the test.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// typeByKey returns a type; a test of a type that the library is too old for is
// skipped.
func typeByKey(t testing.TB, key string) *reflection.Type {
	t.Helper()
	load(t)
	typ, err := reflection.TypeByKey(key)
	if err != nil && errors.Is(err, tvmffi.ErrInternal) && !atLeast(15) {
		t.Skipf("%s: %v", nativetest.Version(), err)
	}
	return must(t, typ, err)
}

// wantError checks the kind and a part of the text of an error.
func wantError(t testing.TB, what string, err error, kind error, text string) {
	t.Helper()
	if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want %v: ...%s...", what, err, kind, text)
	}
}

// panicOf returns the error with which f panics.
func panicOf(t testing.TB, f func()) (err error) {
	t.Helper()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *tvmffi.Error:
			err = p
		default:
			t.Fatalf("panic with %v", p)
		}
	}()
	f()
	return nil
}

func rose(t testing.TB) *tvmffi.Object {
	t.Helper()
	x, err := typeByKey(t, "garden.Rose").New(reflection.Kwargs{"color": "red", "petals": 40, "height": 0.5})
	return must(t, x, err)
}

// atLeast reports whether the library is of version 0.1.patch or newer.
func atLeast(patch int) bool {
	var major, minor, is int
	_, err := fmt.Sscanf(nativetest.Version(), "%d.%d.%d", &major, &minor, &is)
	return err != nil || major > 0 || minor > 1 || is >= patch
}
