package scripttest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestDeadline(t *testing.T) {
	start := time.Unix(1000, 0)
	for all, want := range map[time.Time]time.Time{
		{}:                          start.Add(limit), // go test -timeout 0
		start.Add(10 * time.Minute): start.Add(limit),
		start.Add(time.Minute):      start.Add(54 * time.Second),
		start.Add(10 * time.Second): start.Add(9 * time.Second),
	} {
		if got := deadline(start, limit, all); !got.Equal(want) {
			t.Errorf("a test that ends at %v: %v, want %v", all, got, want)
		}
	}
}

// recorder notes the end of a script.
type recorder struct {
	single
	failed bool
	log    strings.Builder
}

func (r *recorder) Run(_ string, f func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
}

func (r *recorder) Log(args ...any) { fmt.Fprintln(&r.log, args...) }

func (r *recorder) Fatal(args ...any) {
	r.Log(args...)
	r.FailNow()
}

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

// TestHangingScript: a script that does not end is ended at its deadline, with its file and line.
func TestHangingScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hang.txtar")
	if err := os.WriteFile(file, []byte("exec sleep 60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{single: single{t}}
	start := time.Now()
	testscript.RunT(r, params(t, file, t.TempDir(), nil, deadline(start, limit, start.Add(2*time.Second))))
	if took := time.Since(start); !r.failed || took > nativetest.Patience(30*time.Second) || !strings.Contains(r.log.String(), "hang.txtar:1") {
		t.Errorf("after %v: failed is %v\n%s", took, r.failed, &r.log)
	}
}
