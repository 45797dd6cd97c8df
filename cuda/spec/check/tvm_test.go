//go:build tvm

package check_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var recordTVM = flag.Bool("record-tvm", false, "write what the functions say to "+recordedTVM)

// tvmKernels compiles the functions by the real TVM, once for the cache.
func tvmKernels(t testing.TB) *tvmffi.Module {
	t.Helper()
	use(t)
	m, err := tvmffi.LoadModule(nativetest.Model(t, "testdata/tvm_kernels.py"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	return m
}

func tvmFunction(t testing.TB, m *tvmffi.Module, name string) *tvmffi.Function {
	t.Helper()
	f, err := m.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f
}

// TestTVMMessages makes the same calls of real functions of TVM and of the checker, and
// compares what both say with the recorded messages.
func TestTVMMessages(t *testing.T) {
	m := tvmKernels(t)
	var lines []string
	for _, r := range tvmRows(t) {
		_, err := tvmFunction(t, m, r.fn).Call(r.args...)
		want := text(err)
		lines = append(lines, line(r, err))
		name := r.fn + ", " + r.what
		c := check.MustCompile(tvmSpecs[r.fn])
		if got := text(c.Check(r.args...)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	slices.Sort(lines)
	if *recordTVM {
		head := "# What functions of TVM say to the calls of tvmtable_test.go. Recorded on " + time.Now().UTC().Format(time.DateOnly) +
			" with apache-tvm 0.27.0.post1 by\n# go test -tags tvm ./cuda/spec/check -run TestTVMMessages -record-tvm\n\n"
		if err := os.WriteFile(recordedTVM, []byte(head+strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(recordedTVM)
	if err != nil {
		t.Fatal(err)
	}
	if _, old, _ := strings.Cut(string(data), "\n\n"); old != strings.Join(lines, "\n")+"\n" {
		t.Errorf("not as recorded:\n%s", strings.Join(lines, "\n"))
	}
}

// reportedChecker makes a checker of the description that a function reports when it gets more arguments than it takes.
func reportedChecker(f *tvmffi.Function) (*check.Checker, error) {
	_, err := f.Call(make([]any, 200)...)
	if err == nil {
		return nil, errors.New("the function takes 200 arguments")
	}
	description, err := spec.ParseMessage(err.Error())
	if err != nil {
		return nil, err
	}
	return check.New(description)
}

// TestTVMReported compares the signatures that the functions report with those of the
// table, and makes checkers of them.
func TestTVMReported(t *testing.T) {
	m := tvmKernels(t)
	for name, text := range tvmSpecs {
		c, err := reportedChecker(tvmFunction(t, m, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, want := c.Plan().Func, check.MustCompile(text).Plan().Func
		if got.Dialect != spec.TVM || got.Signature() != want.Signature() {
			t.Errorf("%s reports\n%s, the table has\n%s", name, got, want.Signature())
		}
	}
}

// TestTVMMisaligned calls a function with memory that is 4 bytes off. The function assumes an
// alignment that it does not check, and the process dies; a checker refuses the call.
func TestTVMMisaligned(t *testing.T) {
	const child = "TVMFFI_TEST_CHILD"
	m := tvmKernels(t)
	f := tvmFunction(t, m, "add")
	mk := maker{t}
	x := mk.tensor(tvmffi.Float32, []int64{8, 4}, on(tvmffi.CPU))
	off := mk.tensor(tvmffi.Float32, []int64{8, 4}, on(tvmffi.CPU), shifted(4))
	if os.Getenv(child) != "" {
		_, err := f.Call(x, off, x)
		t.Fatalf("the call came back with %v", err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTVMMisaligned$")
	cmd.Env = append(os.Environ(), child+"=misaligned")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "SIGSEGV") {
		t.Errorf("the child ended with %v, want SIGSEGV:\n%s", err, out)
	}
	c, err := reportedChecker(f)
	if err != nil {
		t.Fatal(err)
	}
	const want = "ValueError: Misaligned Tensor data on argument #1 when calling:\n  `add(A: Tensor([n, 4], float32), B: Tensor([n, 4], float32), C: Tensor([n, 4], float32))`,\n  expected data alignment=64 bytes"
	if got := text(c.Check(x, off, x)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := c.Check(x, x, x); err != nil {
		t.Error(err)
	}
	// Without rows nothing is read.
	if err := c.Check(mk.tensor(tvmffi.Float32, []int64{0, 4}, on(tvmffi.CPU), shifted(4)), mk.tensor(tvmffi.Float32, []int64{0, 4}, on(tvmffi.CPU)),
		mk.tensor(tvmffi.Float32, []int64{0, 4}, on(tvmffi.CPU))); err != nil {
		t.Error(err)
	}
}
