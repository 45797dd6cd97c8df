package leaktest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// recorder stands for the test that Check watches.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func watch(t *testing.T, body func()) []string {
	r := &recorder{TB: t}
	leaktest.Check(r)
	body()
	for _, f := range r.cleanups {
		f()
	}
	return r.failures
}

func TestCheck(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	make3 := func(release bool) {
		for range 3 {
			a, err := tvmffi.NewArray[int64](1, 2, 3)
			if err != nil {
				t.Fatal(err)
			}
			if release {
				a.Release()
			}
		}
		runtime.Gosched()
	}
	if failures := watch(t, func() { make3(true) }); failures != nil {
		t.Errorf("released handles are reported: %q", failures)
	}
	kept, err := tvmffi.NewArray[int64](1)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	failures := watch(t, func() { make3(false) })
	if len(failures) == 0 || !strings.Contains(failures[0], "3 handles") {
		t.Fatalf("three leaked handles are not reported: %q", failures)
	}
	if !memstat.Tracking && !strings.Contains(failures[0], `run "go test -tags tvmffi_debug" to see where they were made`) {
		t.Errorf("the report does not say what to do: %s", failures[0])
	}
	if all := strings.Join(failures, "\n"); memstat.Tracking && !strings.Contains(all, "leaktest_test.go") {
		t.Errorf("the report does not say where the handles were made:\n%s", all)
	}
}

// slow is a value whose end takes a while.
type slow [100]int

// TestCheck_before: what has leaked before Check is not a leak of the test, also where it ends late.
func TestCheck_before(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	a, err := tvmffi.NewArray[int64](1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	wait := new(slow)
	runtime.AddCleanup(wait, func(d time.Duration) { time.Sleep(d) }, 50*time.Millisecond)
	runtime.AddCleanup(new(slow), func([]any) {}, []any{a, wait}) // the next collection finds them
	a, wait = nil, nil
	if failures := watch(t, func() {}); failures != nil {
		t.Errorf("a handle of an earlier test is reported: %q", failures)
	}
}
