//go:build tvm

package disco_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestModule runs a Relax model whose weights are spread over the workers.
func TestModule(t *testing.T) {
	need(t)
	file := filepath.Join(t.TempDir(), "shard.so")
	if out, err := exec.Command(nativetest.TVM(t), "testdata/shard.py", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, begin := range []begin{disco.Threads, disco.Processes} {
		s := open(t, begin, 2, disco.Options{})
		testModule(t, s, file)
		testBadModules(t, s, file)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testModule(t *testing.T, s *disco.Session, file string) {
	// Rows of x are inputs. Worker i has columns 2i and 2i+1 of w1, and these rows of w2.
	x := []float32{1, 2, 3, 4, -1, 0, 1, 2}
	w1 := []float32{1, 0, 0, -1, 2, 1, 1, 0, 0, 1, -1, 1, -1, 2, 1, 1}
	w2 := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, -1}
	hidden := relu(product(x, w1, 2, 4, 4))
	want := product(hidden, w2, 2, 4, 3)
	shards := make([]float32, 0, len(w1))
	for worker := range 2 {
		for row := range 4 {
			shards = append(shards, w1[4*row+2*worker:4*row+2*worker+2]...)
		}
	}
	input := must[*disco.DRef](t)(s.Broadcast(must[*tvmffi.Tensor](t)(tvmffi.FromSlice(x, 2, 4))))
	first := must[*disco.DRef](t)(s.Scatter(must[*tvmffi.Tensor](t)(tvmffi.FromSlice(shards, 2, 4, 2))))
	second := must[*disco.DRef](t)(s.Scatter(must[*tvmffi.Tensor](t)(tvmffi.FromSlice(w2, 2, 2, 3))))
	m := must[*disco.Module](t)(s.LoadVMModule(file, nil))
	main := must[*disco.DRef](t)(m.Function("main"))
	out := must[*disco.DRef](t)(s.Call(main, input, first, second))
	if err := errors.Join(s.Allreduce(out, out, disco.Sum, false), s.Sync(t.Context())); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		wantTensor(t, "main", out, i, want)
	}
}

func product(a, b []float32, n, m, p int) []float32 {
	c := make([]float32, n*p)
	for i := range n {
		for j := range p {
			for k := range m {
				c[i*p+j] += a[i*m+k] * b[k*p+j]
			}
		}
	}
	return c
}

func relu(a []float32) []float32 {
	for i, x := range a {
		a[i] = max(x, 0)
	}
	return a
}

// testBadModules loads a file that is cut off, and asks for a function that a module does not have.
func testBadModules(t *testing.T, s *disco.Session, file string) {
	text := must[[]byte](t)(os.ReadFile(file))
	cut := filepath.Join(t.TempDir(), "cut.so")
	if err := os.WriteFile(cut, text[:len(text)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct{ file, function, want string }{
		"cut off":  {cut, "main", "cut.so"},
		"no other": {file, "other", "other"},
	} {
		m := must[*disco.Module](t)(s.LoadVMModule(f.file, nil))
		d := must[*disco.DRef](t)(m.Function(f.function))
		var failed *disco.WorkerError
		if _, err := d.Get(t.Context(), 1); !errors.As(err, &failed) || failed.Worker != 1 || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Sync(t.Context()); err == nil {
			t.Errorf("%s: Sync has no error", name)
		}
	}
}
