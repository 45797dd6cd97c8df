//go:build tvm

package check_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
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
		checkPacked(t, name, c, r.args, want)
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

// TestTVMBindings calls the same function in the way of generated bindings, which have the
// alignment from the signature that the function reports.
func TestTVMBindings(t *testing.T) {
	tvmKernels(t)
	path := nativetest.Model(t, "testdata/tvm_kernels.py")
	file := filepath.Base(path)
	library := bindrt.Library{Files: []bindrt.File{{Name: file}}}
	if err := library.Load(&find.Options{Paths: map[string]string{file: path}}); err != nil {
		t.Fatal(err)
	}
	fn := bindrt.Func{Library: &library, Module: file, Name: "add"}
	add := func(a, b, c *tvmffi.Tensor) error {
		var f bindrt.Call3
		f.Begin(&fn, 3)
		bindrt.PutAligned(&f.Call, 0, a, 64)
		bindrt.PutAligned(&f.Call, 1, b, 64)
		bindrt.PutAligned(&f.Call, 2, c, 64)
		return f.Do()
	}
	m := maker{t}
	rows := func(n int64, changes ...change) *tvmffi.Tensor {
		t.Helper()
		return m.tensor(tvmffi.Float32, []int64{n, 4}, append([]change{on(tvmffi.CPU)}, changes...)...)
	}
	x, none := rows(8), rows(0, shifted(4))
	if err := errors.Join(add(x, x, x), add(none, none, none)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ a, b *tvmffi.Tensor }{{x, rows(8, shifted(4))}, {x, offset(rows(8), 4)}, {rows(8, shifted(32)), x}} {
		err := add(c.a, c.b, x)
		if !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "misaligned Tensor data: the address is") || !strings.Contains(err.Error(), "a multiple of 64") {
			t.Errorf("got %v, want a misaligned tensor", err)
		}
	}
	// The function finds out the rest.
	if err := add(nil, x, x); !errors.Is(err, tvmffi.ErrType) || !strings.Contains(err.Error(), "expected Tensor") {
		t.Errorf("None: %v", err)
	}
}
