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

// messages reads what compiled functions said to calls.
func messages(t *testing.T, file string) map[string]string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, message, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			said[name] = message
		}
	}
	return said
}

// line is how a result is recorded.
func line(r row, err error) string {
	return r.fn + ", " + r.what + "\t" + strings.ReplaceAll(text(err), "\n", `\n`)
}

// TestMessages compares the errors of the checker with those that kernels of the CuTe DSL, and functions of TVM, gave for
// the same arguments.
func TestMessages(t *testing.T) {
	use(t)
	for _, c := range []struct {
		file  string
		specs map[string]string
		rows  []row
	}{{recorded, cuteSpecs, rows(t)}, {recordedTVM, tvmSpecs, tvmRows(t)}} {
		want := messages(t, c.file)
		for _, r := range c.rows {
			name := r.fn + ", " + r.what
			message, ok := want[name]
			if !ok {
				t.Errorf("%s: it is not recorded: record it as %s says", name, c.file)
			}
			delete(want, name)
			if got, wanted := line(r, check.MustCompile(c.specs[r.fn]).Check(r.args...)), name+"\t"+message; got != wanted {
				t.Errorf("got  %s\nwant %s", got, wanted)
			}
		}
		for name := range want {
			t.Errorf("%s: recorded, but not in the table", name)
		}
	}
}
