package libraries

import (
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// TestSnapshotFits_variable: the variable is a bool, or loading any library is an error. It allows only what does not fit.
func TestSnapshotFits_variable(t *testing.T) {
	unfit := errors.New("does not fit")
	misfits["unfit"] = unfit
	t.Cleanup(func() { delete(misfits, "unfit") })
	for text, allows := range map[string]bool{"": false, "0": false, "false": false, "F": false, "1": true, "true": true, "T": true} {
		t.Setenv(allowMixed, text)
		if err := (Snapshot{path: "fit", loaded: true}).Fits(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := (Snapshot{path: "unfit", loaded: true}).Fits(); allows != (err == nil) || !allows && err != unfit {
			t.Errorf("%q allows it: %v, want %t", text, err, allows)
		}
	}
	for _, text := range []string{"yes", "on", "2", " 1"} {
		t.Setenv(allowMixed, text)
		for _, path := range []string{"fit", "unfit"} {
			err := (Snapshot{path: path, loaded: true}).Fits()
			if f := failure.FailureOf(err); f == nil || f.Kind != failure.KindValue || !strings.Contains(err.Error(), `invalid TVMFFI_ALLOW_MIXED "`+text+`": write 1 or 0`) {
				t.Errorf("%q: %s: %v, want an error that names the variable", text, path, err)
			}
		}
	}
}
