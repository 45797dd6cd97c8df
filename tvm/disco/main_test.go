//go:build tvm

package disco_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestMain runs the workers too: they are processes of this test program.
func TestMain(m *testing.M) {
	disco.Main(register)
	os.Exit(m.Run())
}

func register() error {
	var err error
	for name, f := range map[string]any{
		"disco.test.pid":    os.Getpid,
		"disco.test.add":    func(x, y int64) int64 { return x + y },
		"disco.test.double": func(x string) string { return x + x },
		"disco.test.bytes":  func(b []byte) []byte { return b },
		"disco.test.len":    func(b []byte) int { return len(b) },
		"disco.test.list":   func() []any { return []any{1, "two", []any{3.5}} },
		"disco.test.func":   func() func(int64) int64 { return func(x int64) int64 { return 10 * x } },
		"disco.test.fail":   func(x int64) (int64, error) { return 0, tvmffi.NewError("ValueError", fmt.Sprint("cannot take ", x)) },
		"disco.test.panic":  func() int { panic(errors.New("a panic in a worker")) },
		"disco.test.print": func(text string) {
			fmt.Println(text)
			fmt.Fprint(os.Stderr, strings.ToUpper(text)) // without an end of line
		},
		"disco.test.sleep": func(ms int64) { time.Sleep(time.Duration(ms) * time.Millisecond) },
		"disco.test.exit":  func(code int) { os.Exit(code) },
	} {
		err = errors.Join(err, tvmffi.Register(name, f))
	}
	return err
}

func need(t testing.TB) {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
}
