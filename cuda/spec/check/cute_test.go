package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// recorded has what the kernels said; live_test.go writes it and compares it with
// what they say now.
const recorded = "testdata/cute_messages.txt"

// use loads the library that the tests are for.
func use(t testing.TB) {
	t.Helper()
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
}

// text is how a result is recorded.
func text(err error) string {
	if err == nil {
		return "accepted"
	}
	return err.Error()
}

// TestCuteMessages compares the errors of the checker with those that kernels of
// the CuTe DSL gave for the same arguments.
func TestCuteMessages(t *testing.T) {
	use(t)
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, message, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			want[name] = message
		}
	}
	checkers := map[string]*check.Checker{}
	for name, text := range cuteSpecs {
		checkers[name] = check.MustCompile(text)
	}
	list := rows(t)
	wrong := 0
	for _, r := range list {
		name := r.fn + ", " + r.what
		message, ok := want[name]
		if !ok {
			t.Errorf("%s: it is not recorded: record it as the file says", name)
			continue
		}
		delete(want, name)
		if message != "accepted" {
			wrong++
		}
		if got := text(checkers[r.fn].Check(r.args...)); got != message {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, message)
		}
		if got := text(check.Slowly(checkers[r.fn], r.args...)); got != message {
			t.Errorf("%s, slowly:\ngot  %s\nwant %s", name, got, message)
		}
		checkPacked(t, name, checkers[r.fn], r.args, message)
	}
	for name := range want {
		t.Errorf("%s: recorded, but not in the table", name)
	}
	if wrong < 60 {
		t.Errorf("the table has only %d wrong calls", wrong)
	}
}
