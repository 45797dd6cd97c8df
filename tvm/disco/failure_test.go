package disco

import (
	"errors"
	"fmt"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestFailures_text joins errors of several workers. What they share stands there once.
func TestFailures_text(t *testing.T) {
	load := fmt.Errorf("loading: %w", &tvmffi.Error{Kind: "ValueError", Message: "no such model"})
	lost := errors.New("the connection is lost")
	other := failed("g", errors.New("other")).of(1)
	all := failures{failed("f", load).of(0), other, failed("f", load).of(1), failed("f", load).of(2), failed("f", load).of(2), lost}
	const want = "workers 0, 1 and 2: f: ValueError: loading: no such model\nworker 1: g: RuntimeError: other\nthe connection is lost"
	if got := all.Error(); got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	if e, ok := errors.AsType[*WorkerError](error(all)); !ok || e.Worker != 0 || !errors.Is(all, lost) || !errors.Is(all, other) {
		t.Errorf("the errors are not found in %v", all)
	}
}
