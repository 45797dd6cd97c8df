//go:build tvmffi_debug

package memstat_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// LiveHandles does not read native objects: other goroutines may free those that it
// lists at any time.
func TestLiveHandles_whileOthersRelease(t *testing.T) {
	runtimetest.Load(t)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				runtimetest.MakeBox(t, i).Release()
			}
		}
	}()
	kept := runtimetest.MakeBox(t, 1)
	defer kept.Release()
	for range 2000 {
		found := false
		for _, h := range memstat.LiveHandles() {
			if h.TypeKey == "calls.Box" {
				found = found || strings.Contains(h.String(), "TestLiveHandles_whileOthersRelease")
			} else if h.TypeKey == "unknown type" {
				t.Fatalf("a handle has the type %q", h.TypeKey)
			}
		}
		if !found {
			t.Fatal("the handle that is kept is not listed")
		}
	}
	close(stop)
	<-done
}
