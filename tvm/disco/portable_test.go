//go:build tvmffi_portable || !linux

package disco_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestUnsupported wants an error where sessions do not work, before anything is loaded.
func TestUnsupported(t *testing.T) {
	for name, begin := range map[string]func(context.Context, int, disco.Options) (*disco.Session, error){
		"Threads": disco.Threads, "Processes": disco.Processes,
	} {
		if _, err := begin(t.Context(), 2, disco.Options{}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
