package golibrary

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/consumer"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

// waits are the functions of testdata/waits.py, and what they print.
var waits = map[string]string{
	"methods": "", "results": "", "many": "", "cancel": "", "loop_closed": "", "interrupted": "", "in_flight": "", "in_flight_loop": "",
	"late": "done\n", "deleted": "", "daemons": "", "streams": "", "allocator": "", "forked": "", "forked_pool": "", "exec_": "",
	"fork_first": "", "native_thread": "", "native_thread_ends": "", "futures": "",
}

// TestWaits runs Python processes that use calls that take time, fork, and end meanwhile:
// each exits with 0 and says nothing else.
func TestWaits(t *testing.T) {
	library := consumer.Shared(t, "examples/go_library/testdata/waits/libwaits")
	text, err := os.ReadFile(filepath.Join("testdata", "waitshost.cc"))
	if err != nil {
		t.Fatal(err)
	}
	host, tensors := nativetest.BuildText(t, "waitshost", string(text)), nativetest.Build(t, "tensors")
	pythons, n := endingPythons(t)
	for version, python := range pythons {
		for name, want := range waits {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				for range n {
					end(t, want, python, filepath.Join("testdata", "waits.py"), name, library, host, tensors)
				}
			})
		}
	}
}
