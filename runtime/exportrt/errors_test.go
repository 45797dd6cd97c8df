package exportrt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"

	"github.com/ebitengine/purego"
)

// goneError is a declared error with a pointer receiver.
type goneError struct {
	What  string `ffi:"what"`
	Count int64  `ffi:"count,default=3"`
}

func (e *goneError) Error() string { return fmt.Sprintf("%d %s are gone", e.Count, e.What) }

// codeError is a declared error that is an integer.
type codeError uint8

func (e codeError) Error() string { return fmt.Sprintf("code %d", uint8(e)) }

// anyError shows what its fields have.
type anyError struct {
	Value any  `ffi:"value,optional"`
	Small int8 `ffi:"small,default=0"`
}

func (e anyError) Error() string { return fmt.Sprintf("%#v", e.Value) }

// otherError clashes with goneError.
type otherError struct{}

func (otherError) Error() string { return "other" }

func declareErrors(t *testing.T) {
	t.Helper()
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	l := exportrt.Exports{Name: "declared", Prefix: "declared.", Errors: []exportrt.ErrorType{
		exportrt.ErrorOf("declared.Gone", "KeyError", func(e goneError) error { return &e }),
		exportrt.ErrorOf("declared.Code", "", func(e codeError) error { return e }),
	}}
	if err := l.Register(); err != nil {
		t.Fatal(err)
	}
}

// raised returns the error of a call through the library of a func that fails with err.
func raised(t *testing.T, err error) *tvmffi.Error {
	t.Helper()
	f, failed := tvmffi.FuncOf(func() error { return err })
	if failed != nil {
		t.Fatal(failed)
	}
	defer f.Release()
	_, err = f.Call()
	var e *tvmffi.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not a *tvmffi.Error", err)
	}
	return e
}

// TestDeclaredKinds: an error of a declared type, also one inside others, has its kind, its
// base and its value.
func TestDeclaredKinds(t *testing.T) {
	declareErrors(t)
	gone := &goneError{"keys", 2}
	for _, c := range []struct {
		err        error
		kind, text string
	}{
		{gone, "declared.Gone", "2 keys are gone"},
		{fmt.Errorf("outer: %w", gone), "declared.Gone", "outer: 2 keys are gone"},
		{errors.Join(errors.New("first"), gone), "declared.Gone", "first\n2 keys are gone"},
		{tvmffi.WrapError("ValueError", "of this kind", gone), "ValueError", "of this kind"},
	} {
		e := raised(t, c.err)
		var found *goneError
		if e.Kind != c.kind || e.Message != c.text || !errors.As(e, &found) || found != gone {
			t.Errorf("%v: kind %s, message %s, value %v", c.err, e.Kind, e.Message, found)
		}
		if errors.Is(e, tvmffi.ErrKey) != (c.kind == "declared.Gone") {
			t.Errorf("%v is a KeyError: %v", c.err, errors.Is(e, tvmffi.ErrKey))
		}
	}
	e := raised(t, codeError(7))
	var code codeError
	if e.Kind != "declared.Code" || !errors.As(e, &code) || code != 7 || !errors.Is(e, tvmffi.ErrRuntime) {
		t.Errorf("%v: kind %s, code %d", e, e.Kind, code)
	}
}

// TestDeclaredTwice: one kind has one type.
func TestDeclaredTwice(t *testing.T) {
	declareErrors(t)
	declareErrors(t) // the same again is nothing new
	l := exportrt.Exports{Name: "again", Prefix: "again.", Errors: []exportrt.ErrorType{
		exportrt.ErrorOf("declared.Gone", "", func(e otherError) error { return e }),
	}}
	const want = "exportrt_test.goneError and exportrt_test.otherError are both declared as errors of the kind declared.Gone: give one another kind"
	if err := l.Register(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// An argument of a function may be made by a call of the same function, and so on.
func TestArgumentError_nested(t *testing.T) {
	err := error(tvmffi.NewError("ValueError", "the innermost text"))
	for range 1000 {
		err = callbacks.ArgumentError("sorted", "rows", failure.Annotate("element 3", err))
	}
	if text := err.Error(); !strings.HasPrefix(text, "ValueError: sorted(rows[3]=...): sorted(rows[3]=...): ") || !strings.HasSuffix(text, ": the innermost text") || len(text) > 5000 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
	for range 10_000 {
		err = failure.Annotate("field next", err)
	}
	if path, _ := failure.PathOf(err); !strings.HasPrefix(path, ".next.next") || len(path) > 5000 {
		t.Errorf("the path has %d bytes: %.300s", len(path), path)
	}
}

// TestErrorFields: other languages give the fields of an error by name. A caller reads which are missing, wrong or unknown.
func TestErrorFields(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	l := exportrt.Exports{Name: "fields", Prefix: "fields.", Errors: []exportrt.ErrorType{
		exportrt.ErrorOf("fields.Gone", "", func(e goneError) error { return &e }),
		exportrt.ErrorOf("fields.Other", "", func(e otherError) error { return e }),
		exportrt.ErrorOf("fields.Any", "", func(e anyError) error { return e }),
	}}
	for _, c := range []struct {
		kind   string
		fields map[string]any
		want   string
	}{
		{"fields.Gone", map[string]any{"what": "keys"}, "3 keys are gone"},
		{"fields.Gone", nil, "goneError(): the field what is missing: write goneError(what=...)"},
		{"fields.Gone", map[string]any{"what": 1}, "goneError(what=...): "},
		{"fields.Gone", map[string]any{"what": "keys", "wat": 2}, "goneError(wat=...): there is no such field: the fields are what, count"},
		{"fields.Any", map[string]any{"value": []any{1, map[string]any{"a": []any{}}}}, `[]interface {}{1, map[string]interface {}{"a":[]interface {}{}}}`},
		{"fields.Any", map[string]any{"value": map[any]any{1: "a"}}, `map[interface {}]interface {}{1:"a"}`},
		{"fields.Any", map[string]any{"small": 300}, "TypeError: anyError(small=...): expected an int from -128 to 127, got 300"},
		{"fields.Other", map[string]any{"what": 1}, "otherError(what=...): there is no such field: the error has no fields"},
	} {
		fields := map[string]tvmffi.Any{}
		for name, x := range c.fields {
			v, err := tvmffi.AnyOf(x)
			if err != nil {
				t.Fatal(err)
			}
			fields[name] = v
		}
		made, err := l.MakeError(c.kind, fields)
		if got := fmt.Sprint(made, err); !strings.Contains(got, c.want) {
			t.Errorf("%s of %v: %s, want %s", c.kind, c.fields, got, c.want)
		}
	}
}

// foreignError returns an error of C++.
func foreignError(t *testing.T) error {
	t.Helper()
	get, err := tvmffi.Lookup("ffi.ArrayGetItem")
	if err != nil {
		t.Fatal(err)
	}
	defer get.Release()
	_, foreign := get.Call([]int64{}, 1)
	if foreign == nil {
		t.Fatal("no error")
	}
	return foreign
}

// TestErrorAsResult: a caller that takes an error as the result gets it there, and learns whether
// it came from another language. All others get the error of the thread.
func TestErrorAsResult(t *testing.T) {
	declareErrors(t)
	foreign := foreignError(t)
	for _, test := range []struct {
		err  error
		ofGo uint32
	}{
		{errors.New("plain"), 1}, {tvmffi.NewError("KeyError", "key"), 1}, {&goneError{What: "x"}, 1}, {fmt.Errorf("in: %w", codeError(3)), 1},
		{foreign, 0}, {fmt.Errorf("in: %w", foreign), 0}, {errors.Join(errors.New("plain"), foreign), 0},
	} {
		call, self := callbacks.Export(func(*callbacks.Args) error { return test.err }, 0, nil)
		room := capi.Allocate(4096)
		defer purego.SyscallN(capi.CFunction("free"), room)
		for _, before := range []abi.TypeIndex{callbacks.Room, callbacks.FlatRoom, abi.TypeNone} {
			result := &abi.Any{TypeIndex: before, Small: 4096, Bits: uint64(room)}
			if before != callbacks.FlatRoom {
				*result = abi.Any{TypeIndex: before}
			}
			rc, _, _ := purego.SyscallN(call, self, 0, 0, capi.Address(result))
			handle, want := new(uintptr), abi.Any{}
			purego.SyscallN(capi.API.ErrorMoveFromRaised, capi.Address(handle))
			if before == callbacks.Room { // without memory
				*handle, want = uintptr(result.Bits), abi.Any{TypeIndex: abi.TypeError, Small: test.ofGo, Bits: result.Bits}
			}
			if before == callbacks.FlatRoom {
				want = abi.Any{TypeIndex: callbacks.FlatError, Small: test.ofGo, Bits: uint64(room)}
				if test.err == foreign { // which has an object
					*handle, want = uintptr(result.Bits), abi.Any{TypeIndex: abi.TypeError, Bits: result.Bits}
				} else {
					*handle = flatError(room)
				}
			}
			if int32(rc) != -1 || *result != want {
				t.Errorf("%v: %d, %v, want %v", test.err, int32(rc), *result, want)
			}
			if got := failure.ErrorOf(*handle); !errors.Is(got, test.err) {
				t.Errorf("%v: got %v", test.err, got)
			}
		}
	}
}

// TestOtherCause: other languages get the first error of theirs that caused an error of Go.
func TestOtherCause(t *testing.T) {
	declareErrors(t)
	foreign := foreignError(t)
	for _, c := range []struct{ err, want error }{
		{errors.New("plain"), nil}, {&goneError{What: "x"}, nil}, {foreign, nil}, {fmt.Errorf("in: %w", foreign), foreign},
		{errors.Join(errors.New("plain"), foreign), foreign}, {tvmffi.WrapError("ValueError", "outer", fmt.Errorf("in: %w", foreign)), foreign},
	} {
		f := failure.FailureOf(raised(t, c.err)).OtherCause()
		if c.want == nil && f != nil || c.want != nil && f != failure.FailureOf(c.want) {
			t.Errorf("%v: the cause is %v, want %v", c.err, f, c.want)
		}
	}
}
