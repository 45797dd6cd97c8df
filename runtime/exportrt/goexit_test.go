package exportrt_test

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

func init() { runtimetest.Children["goexit in an export"] = goexitChild }

func endsGoroutine() { runtime.Goexit() }

// goexitChild calls an exported func that ends its goroutine.
func goexitChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	lib := exportrt.Exports{Name: "ends", Prefix: "ends.", Functions: []exportrt.Function{{
		Name: "now", Func: endsGoroutine,
		Call: func(*bindrt.Args) error { endsGoroutine(); return nil },
	}}}
	if err := lib.Register(); err != nil {
		return err
	}
	f, err := tvmffi.Lookup("ends.now")
	if err != nil {
		return err
	}
	_, err = f.Call()
	return err
}

// TestGoexitNamesTheFunc: the process ends with the name of the exported func and the remedy.
func TestGoexitNamesTheFunc(t *testing.T) {
	out, err := runtimetest.Child(t, "goexit in an export", "CORE="+nativetest.Library(t))
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 2 {
		t.Errorf("the process ended with %v, want status 2", err)
	}
	for _, part := range []string{"tvmffi: exportrt_test.endsGoroutine ended by runtime.Goexit", "take a context.Context first"} {
		if !strings.Contains(out, part) {
			t.Errorf("printed %q, want %q in it", out, part)
		}
	}
}
