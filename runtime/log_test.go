package tvmffi_test

import (
	"log/slog"
	"slices"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestError_LogValue: the group has what the error has, and nothing that it has not.
func TestError_LogValue(t *testing.T) {
	plain := &tvmffi.Error{Kind: "KeyError", Message: "m"}
	traced := &tvmffi.Error{Kind: "KeyError", Message: "m", Backtrace: "File \"x.py\", line 3\n"}
	for _, c := range []struct {
		e    *tvmffi.Error
		want []string
	}{
		{plain, []string{"kind", "message"}},
		{traced, []string{"kind", "message", "frames"}},
	} {
		var names []string
		for _, a := range c.e.LogValue().Group() {
			names = append(names, a.Key)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%+v gives %q, want %q", c.e, names, c.want)
		}
	}
	if v := (*tvmffi.Error)(nil).LogValue(); !v.Equal(slog.Value{}) {
		t.Errorf("nil gives %v", v)
	}
}
