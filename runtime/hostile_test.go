package tvmffi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A nil *Error in an error is a mistake that no compiler finds: it comes out as an
// error that says so, also as a panic, where a second one would end the process.
func TestNilErrors(t *testing.T) {
	balanced(t)
	const text = "a nil *tvmffi.Error: return nil where there is no error"
	var none *tvmffi.Error
	for name, f := range map[string]func(any) error{
		"returned": func(any) error { return none },
		"wrapped":  func(any) error { return fmt.Errorf("outside: %w", none) },
		"panic":    func(any) error { panic(none) },
		"cause":    func(any) error { return tvmffi.WrapError("RuntimeError", text, none) },
	} {
		fn := must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		for _, through := range []string{"calls.apply", "calls.on_thread"} {
			_, err := call(through, fn, 1)
			wantError(t, err, tvmffi.ErrRuntime, text)
			if strings.Contains(fmt.Sprintf("%+v", err), "nil pointer dereference") || errors.Is(err, tvmffi.ErrValue) {
				t.Errorf("%s: %+v", name, err)
			}
		}
		fn.Release()
	}
	if none.Error() != text || none.Unwrap() != nil || none.Frames() != nil || fmt.Sprintf("%+v", none) != text {
		t.Error("the methods of a nil *Error")
	}
	wantError(t, tvmffi.Walk(must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1)), tvmffi.PreOrder,
		tvmffi.On(func(int64) error { return none })), tvmffi.ErrRuntime, text)
	drop(t)
}
