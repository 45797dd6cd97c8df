package advice_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/advice"
)

func TestAdd(t *testing.T) {
	for text, want := range map[string]string{
		"Module not found.":       "load a.dll: Module not found; do this",
		"no space left on device": "load a.dll: no space left on device; do this",
		"and more...":             "load a.dll: and more...; do this",
	} {
		cause := errors.New(text)
		err := advice.Add(&fs.PathError{Op: "load", Path: "a.dll", Err: cause}, "do this")
		if err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	}
}
