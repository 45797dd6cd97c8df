package tvmffi_test

import (
	"errors"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

// TestExplainedErrors checks errors of the library for which Go has a better text: they keep
// the kind of the library, and its error is their cause.
func TestExplainedErrors(t *testing.T) {
	runtimetest.LoadTensors(t)
	dlpack := func(p *tvmffi.DLPack, options ...tvmffi.DLPackOption) error {
		t.Helper()
		_, err := tvmffi.FromDLPack(p, options...)
		p.Release()
		return err
	}
	_, unknown := reflection.TypeByKey("calls.Bocks")
	box, err := reflection.TypeByKey("calls.Box")
	if err != nil {
		t.Fatal(err)
	}
	f := func() {}
	if err := tvmffi.Register("gotest.explained", f); err != nil {
		t.Fatal(err)
	}
	defer tvmffi.Unregister("gotest.explained")
	_, few := box.Construct()
	_, many := box.Construct(1, 2)
	for _, c := range []struct {
		name        string
		err, kind   error
		text, cause string
	}{
		{"misaligned", dlpack(managed(t, []int64{1}, nil, 4, 64, 1, 0), tvmffi.RequireAligned(64)), tvmffi.ErrRuntime, "is not aligned to 64 bytes: copy it", "Data is not aligned to 64 bytes"},
		{"not contiguous", dlpack(managed(t, []int64{2, 3}, []int64{1, 2}, 0, 6, 1, 0), tvmffi.RequireContiguous()), tvmffi.ErrRuntime, "strides [1 2] is not contiguous: copy it", "Tensor is not contiguous"},
		{"padded", dlpack(managed(t, []int64{2}, nil, 0, 2, 1, 4)), tvmffi.ErrRuntime, "ask the producer for packed ones", "Subbyte type padded"},
		{"unknown type", unknown, tvmffi.ErrInternal, "there is no type calls.Bocks: load the library that registers it first; did you mean calls.Box", "Cannot find type `calls.Bocks`"},
		{"taken", tvmffi.Register("gotest.explained", f), tvmffi.ErrRuntime, "Global Function `gotest.explained` is already registered: choose another name", "is already registered"},
		{"taken by an export", (&exportrt.Exports{Name: "explained", Prefix: "gotest.", Functions: []exportrt.Function{{Name: "explained", Func: f}}}).Register(), tvmffi.ErrRuntime,
			"explained cannot be registered: the global function gotest.explained already exists", "is already registered"},
		{"too few arguments", few, tvmffi.ErrType, "calls.Box.__ffi_init__() takes 1 arguments, but 0 were given", "Mismatched number of arguments"},
		{"too many arguments", many, tvmffi.ErrType, "calls.Box.__ffi_init__() takes 1 arguments, but 2 were given", "Mismatched number of arguments"},
	} {
		runtimetest.WantError(t, c.err, c.kind, c.text)
		var e *tvmffi.Error
		if !errors.As(errors.Unwrap(c.err), &e) {
			t.Errorf("%s: the error of the library is not under %v", c.name, c.err)
			continue
		}
		runtimetest.WantError(t, e, c.kind, c.cause)
	}
	// A struct that was refused still belongs to the caller; TestFromDLPack_refuses counts the
	// deleters.
}
