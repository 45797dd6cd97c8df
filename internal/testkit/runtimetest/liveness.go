//go:build tvmffi_liveness

package runtimetest

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Use is a use of objects to which nothing else refers.
type Use = struct {
	Name string
	Of   func() any
	Want any
}

// Alive makes each use and checks what it returns. A use of memory that was freed shows
// because malloc overwrites it: the mode liveness of .ci/run sets the variables for that.
func Alive(t *testing.T, uses []Use) {
	t.Helper()
	if v := "GLIBC_TUNABLES"; runtime.GOOS == "linux" && !strings.Contains(os.Getenv(v), "perturb") {
		t.Fatalf("%s does not let malloc overwrite freed memory: run .ci/run liveness", v)
	}
	for _, use := range uses {
		t.Run(use.Name, func(t *testing.T) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("it panicked with %v\n%s", p, debug.Stack())
				}
			}()
			ccall.Again()
			if got := use.Of(); !reflect.DeepEqual(got, use.Want) {
				t.Errorf("it is %s, want %s", shown(got), shown(use.Want))
			}
		})
	}
}

// shown is a value with its type. A result of memory that was overwritten may be very long.
func shown(x any) string { return fmt.Sprintf("%.200T(%.200v)", x, x) }

// Got returns v, and panics if there is an error.
func Got[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
