//go:build tvm

package vm_test

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

const network = "../../examples/tvm_vm/testdata/mlp.py"

// load returns the executable of a model, and a machine that runs it.
func load(t testing.TB, path string) (*vm.Executable, *vm.Machine) {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	e, err := vm.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Release)
	m, err := e.NewMachine(vm.Pooled)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return e, m
}

type array struct {
	Data  []float32 `json:"data"`
	Shape []int64   `json:"shape"`
}

// inputs returns the arguments of the network: rows of four numbers, then its parameters.
func inputs(t testing.TB, rows int64) (arrays []array, tensors []any) {
	t.Helper()
	for i, shape := range [][]int64{{rows, 4}, {4, 16}, {16}, {16, 16}, {16}, {16, 3}, {3}} {
		a := array{Shape: shape}
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		for j := range n {
			a.Data = append(a.Data, float32(math.Sin(float64(100*i)+float64(j))))
		}
		x, err := tvmffi.NewTensor(tvmffi.Float32, shape...) // aligned, as kernels expect
		if err == nil {
			err = tvmffi.CopyFrom(x, a.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Release)
		arrays, tensors = append(arrays, a), append(tensors, x)
	}
	return arrays, tensors
}

func find(t testing.TB, m *vm.Machine, name string) *vm.Function {
	t.Helper()
	f, err := m.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// near compares numbers to 1e-6.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: got %v, expected %v", what, got, want)
	}
	for i := range got {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Fatalf("%s: element %d is %v, expected %v", what, i, got[i], want[i])
		}
	}
}

func numbers(t *testing.T, x *tvmffi.Tensor, err error) []float32 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	got, err := tvmffi.ToFloat32(x)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// python runs main in Python.
func python(t *testing.T, path string, arrays []array) (result []float32) {
	t.Helper()
	in, err := json.Marshal(arrays)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nativetest.TVM(t), "testdata/run.py", path)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestCalls compares calls with and without state with those of Python.
func TestCalls(t *testing.T) {
	path := nativetest.Model(t, network)
	_, m := load(t, path)
	leaktest.Check(t)
	arrays, args := inputs(t, 5)
	want := python(t, path, arrays)
	main, both := find(t, m, "main"), find(t, m, "both")
	x, err := main.CallTensor(args...)
	near(t, "Call", numbers(t, x, err), want)

	if err := both.SetInput(args...); err != nil {
		t.Fatal(err)
	}
	if err := both.Invoke(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		index []int
		n     int
	}{{nil, 2}, {[]int{0}, -1}, {[]int{1}, 1}, {[]int{1, 0}, -1}} {
		if n, err := both.OutputLen(test.index...); n != test.n || err != nil {
			t.Errorf("OutputLen%v = %d, %v, expected %d", test.index, n, err, test.n)
		}
	}
	x, err = both.Output(0)
	near(t, "Output(0)", numbers(t, x, err), want)
	hidden, err := both.Output(1, 0)
	inner := numbers(t, hidden, err)
	if _, err := both.Output(); err == nil || !strings.Contains(err.Error(), "vm: output of both: ") {
		t.Errorf("the output of a tuple without an index: %v", err)
	}

	v, err := both.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	tensors, err := vm.Tensors(v)
	if err != nil || len(tensors) != 2 {
		t.Fatalf("Tensors: %v, %v", tensors, err)
	}
	near(t, "tuple", numbers(t, tensors[0], nil), want)
	near(t, "tuple in the tuple", numbers(t, tensors[1], nil), inner)
}

// TestSignatures compares what the model says about its functions.
func TestSignatures(t *testing.T) {
	e, _ := load(t, nativetest.Model(t, network))
	all, err := e.Signatures()
	if err != nil || len(all) != 2 || all[0].Name != "both" {
		t.Fatalf("%v, %v", all, err)
	}
	const want = "main(x, w1, b1, w2, b2, w3, b3)"
	if got := all[1].String(); got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
	if text, err := e.Text(); err != nil || !strings.Contains(text, "@main:") {
		t.Errorf("Text: %v", err)
	}
}

// TestFaults makes mistakes. Each is an error, after which the machine works.
func TestFaults(t *testing.T) {
	e, m := load(t, nativetest.Model(t, network))
	leaktest.Check(t)
	_, args := inputs(t, 2)
	main := find(t, m, "main")
	other := func(i int, x any) []any {
		changed := append([]any{}, args...)
		changed[i] = x
		return changed
	}
	tensor := func(x *tvmffi.Tensor, err error) *tvmffi.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Release)
		return x
	}
	result := func(_ any, err error) error { return err }
	flat := tensor(tvmffi.NewTensor(tvmffi.Float32, 2, 3))
	for _, test := range []struct {
		err  error
		want string
	}{
		{result(main.Call(args[:3]...)), "vm: call main: the number of arguments is 3, expected 7: main(x, w1, b1, w2, b2, w3, b3)"},
		{main.SetInput(), "vm: set the input of main: the number of arguments is 0, expected 7"},
		{result(main.Call(other(0, flat)...)), `param=x, annotation=R.Tensor((n, 4), dtype="float32")`},
		{result(main.Call(other(2, tensor(tvmffi.NewTensor(tvmffi.Float64, 16)))...)), "param=b1"},
		{result(main.Call(other(1, "text")...)), "param=w1"},
		{result(main.Call(other(1, nil)...)), "param=w1"},
		{result(m.Function("Main")), "vm: find Main: there is no such function, only both, main"},
		{result(main.Output()), "No output saved"},
		{main.Invoke(), "No inputs set"},
		{result(e.NewMachine(7)), "allocator 7 is unknown"},
		{result(e.NewMachine(vm.Naive, tvmffi.CUDA(0))), "device cuda:0 does not exist"},
	} {
		var typed *vm.Error
		if test.err == nil || !errors.As(test.err, &typed) || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("got %v, expected an *Error with %q", test.err, test.want)
		}
	}
	x, err := main.CallTensor(args...)
	if got := numbers(t, x, err); len(got) != 6 {
		t.Errorf("after the errors: %v", got)
	}
	m.Close()
	m.Close()
	if _, err := main.Call(args...); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a call after Close: %v", err)
	}
}

// loaded returns how much of a library lies in memory.
func loaded(t *testing.T, path string) (end int) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, int(p.Off+p.Filesz))
		}
	}
	return end
}

// TestFiles loads files that are damaged, or that hold something else.
func TestFiles(t *testing.T) {
	whole := nativetest.Model(t, network)
	e, _ := load(t, whole)
	leaktest.Check(t)
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	files := map[string]string{filepath.Join(dir, "none.so"): "none.so", write("empty.so", nil): "", write("text.so", []byte("text")): ""}
	for i := range 8 { // up to the end of what is loaded; the sections after it are for linkers
		files[write(fmt.Sprintf("part%d.so", i), b[:loaded(t, whole)*(i+1)/9])] = ""
	}
	library := nativetest.Pinned(t, "apache-tvm").Path("tvm/lib/libtvm_runtime.so")
	files[library] = "without a Relax executable"
	for path, want := range files {
		var typed *vm.Error
		if _, err := vm.Load(path); !errors.As(err, &typed) || typed.Name != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := vm.Load(filepath.Join(dir, "none.so")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	extern, err := vm.Load(nativetest.Model(t, "testdata/small.py", "extern"))
	if err != nil {
		t.Fatal(err)
	}
	defer extern.Release()
	var typed *vm.Error
	if _, err := extern.NewMachine(vm.Naive); !errors.As(err, &typed) || !strings.Contains(err.Error(), "test.vm.kernel") {
		t.Errorf("a kernel that no library has: %v", err)
	}
	m, err := e.NewMachine(vm.Naive)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestInstrument counts kernels, and fails in a hook.
func TestInstrument(t *testing.T) {
	_, m := load(t, nativetest.Model(t, network))
	leaktest.Check(t)
	_, args := inputs(t, 1)
	main := find(t, m, "main")
	before, after := map[string]int{}, map[string]int{}
	set := func(f func(vm.Event) error) {
		t.Helper()
		if err := m.SetInstrument(f); err != nil {
			t.Fatal(err)
		}
	}
	set(func(e vm.Event) error {
		if e.Before {
			before[e.Function] += len(e.Args)
		} else {
			after[e.Function]++
		}
		return nil
	})
	x, err := main.CallTensor(args...)
	numbers(t, x, err)
	if before["matmul"] != 3 || after["matmul"] != 1 || before["relu"] != 4 || after["relu"] != 2 {
		t.Errorf("before %v, after %v", before, after)
	}
	refused := errors.New("the hook refuses")
	set(func(e vm.Event) error { return refused })
	if _, err := main.Call(args...); !errors.Is(err, refused) {
		t.Errorf("an error of the hook: %v", err)
	}
	set(nil)
	clear(before)
	x, err = main.CallTensor(args...)
	numbers(t, x, err)
	if len(before) > 0 {
		t.Errorf("the hook was called after it was taken away: %v", before)
	}
}

// TestGoroutines calls one machine from many goroutines. A hook, which runs in the middle of each
// call, gives the others time.
func TestGoroutines(t *testing.T) {
	_, m := load(t, nativetest.Model(t, network))
	leaktest.Check(t)
	var inside, most atomic.Int32
	if err := m.SetInstrument(func(e vm.Event) error {
		switch {
		case e.Function == "matmul" && e.Before:
			most.Store(max(most.Load(), inside.Add(1)))
			runtime.Gosched()
		case e.Function == "matmul":
			inside.Add(-1)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for rows := range 8 {
		arrays, args := inputs(t, int64(rows+1))
		main := find(t, m, "main")
		all.Go(func() {
			for range 50 {
				x, err := main.CallTensor(args...)
				if err != nil || x.Size(0) != arrays[0].Shape[0] {
					t.Errorf("%v, %v", x, err)
					return
				}
				x.Release()
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d calls were inside a kernel at once, expected 1", most.Load())
	}
}
