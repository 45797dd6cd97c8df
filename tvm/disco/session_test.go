//go:build tvm

package disco_test

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

type begin func(context.Context, int, disco.Options) (*disco.Session, error)

// TestSession makes calls on sessions of every kind.
func TestSession(t *testing.T) {
	need(t)
	for name, begin := range map[string]begin{"threads": disco.Threads, "processes": disco.Processes} {
		for _, n := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				s := open(t, begin, n, disco.Options{})
				testCalls(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func open(t *testing.T, begin begin, n int, o disco.Options) *disco.Session {
	t.Helper()
	o.CloseLimit = cmp.Or(o.CloseLimit, nativetest.Patience(5*time.Second))
	s, err := begin(limited(t, 30*time.Second), n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func testCalls(t *testing.T, s *disco.Session) {
	ctx := t.Context()
	for _, c := range []struct {
		name string
		args []any
		want any
	}{
		{"disco.test.add", []any{2, 3}, int64(5)},
		{"disco.test.add", []any{uint64(2), time.Duration(3)}, int64(5)},
		{"disco.test.add", []any{uint(2), big.NewInt(3)}, int64(5)},
		{"disco.test.double", []any{"ab"}, "abab"},
		{"disco.test.double", []any{"a\x00b"}, "a\x00ba\x00b"},
		{"disco.test.double", []any{"a longer\x00 text"}, "a longer\x00 texta longer\x00 text"},
		{"disco.test.double", []any{"a longer text "}, "a longer text a longer text "},
		{"disco.test.bytes", []any{[]byte("abc")}, "[97 98 99]"},
		{"disco.test.len", []any{make([]byte, 1<<20)}, int64(1 << 20)},
		{"disco.test.double", []any{strings.Repeat("x", 1<<16)}, strings.Repeat("x", 1<<17)},
		{"disco.test.bytes", []any{[]byte("0123456789")}, "[48 49 50 51 52 53 54 55 56 57]"},
		{"disco.test.list", nil, `(1, "two", (3.5,))`},
		{"runtime.disco.world_size", nil, int64(s.Workers())},
	} {
		d, err := s.Call(s.Function(c.name), c.args...)
		if err != nil {
			t.Fatal(c.name, err)
		}
		for i := range s.Workers() {
			v, err := d.Get(ctx, i)
			if got := v.Value(); err != nil || got != c.want && fmt.Sprint(got) != c.want {
				t.Errorf("%s on worker %d: %v, %v, want %v", c.name, i, v, err, c.want)
			}
		}
		d.Release()
	}
	if err := s.Sync(ctx); err != nil {
		t.Error(err)
	}
	d := call(t, s, "disco.test.func")
	if d, err := s.Call(d, 7); err != nil {
		t.Error(err)
	} else {
		wantAll(t, s, d, int64(70))
	}
	pids := map[any]bool{}
	for i, pid := range all(t, s, call(t, s, "disco.test.pid")) {
		if pids[pid] = true; i == 0 && pid != int64(os.Getpid()) {
			t.Errorf("worker 0 is process %v, and this one is %d", pid, os.Getpid())
		}
	}
	t.Logf("%d processes", len(pids))
}

func call(t testing.TB, s *disco.Session, name string, args ...any) *disco.DRef {
	t.Helper()
	d, err := s.Call(s.Function(name), args...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// all returns the values of all workers.
func all(t testing.TB, s *disco.Session, d *disco.DRef) (values []any) {
	t.Helper()
	for i := range s.Workers() {
		v, err := d.Get(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v.Value())
	}
	return values
}

func wantAll(t testing.TB, s *disco.Session, d *disco.DRef, want any) {
	t.Helper()
	for i, v := range all(t, s, d) {
		if v != want {
			t.Errorf("worker %d has %v, want %v", i, v, want)
		}
	}
}
