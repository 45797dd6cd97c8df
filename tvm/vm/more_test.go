//go:build tvm

package vm_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// TestMore does what else Python's virtual machine offers: arguments by name, functions that are saved with their
// arguments, measuring, closures, and an allocator for each device.
func TestMore(t *testing.T) {
	path := nativetest.Model(t, network)
	e, m := load(t, path)
	arrays, args := inputs(t, 3)
	want := python(t, path, arrays)
	main := find(t, m, "main")
	named := map[string]any{}
	for i, p := range main.Signature().Params[2:] {
		named[p] = args[2+i]
	}
	all, err := main.Args(named, args[:2]...)
	if err != nil {
		t.Fatal(err)
	}
	x, err := main.CallTensor(all...)
	near(t, "named", numbers(t, x, err), want)
	if _, err := main.Args(map[string]any{"x": 1, "w1": 1}); err == nil || !strings.Contains(err.Error(), "there is no argument for b1") {
		t.Errorf("too few: %v", err)
	}
	named["w4"] = nil
	if _, err := main.Args(named, args[:2]...); err == nil || !strings.Contains(err.Error(), "1 of the named arguments are not parameters") {
		t.Errorf("too many: %v", err)
	}

	saved, err := main.Save("main_saved", args...)
	if err != nil {
		t.Fatal(err)
	}
	x, err = saved.CallTensor()
	near(t, "saved", numbers(t, x, err), want)
	if _, err := main.Save("x", 1); err == nil || !strings.Contains(err.Error(), "the number of arguments is 1") {
		t.Errorf("too few arguments: %v", err)
	}
	timer, err := saved.Timer(rpc.TimerOptions{Number: 3, Repeat: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Release()
	if times, err := timer.Run(t.Context()); err != nil || len(times) != 2 || min(times[0], times[1]) <= 0 {
		t.Errorf("the times are %v, %v", times, err)
	}

	f, err := tvmffi.FuncOf(func(x int64) int64 { return 2 * x })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	closure, err := tvmffi.AnyOf(f)
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.InvokeClosure(closure, 21)
	if n, _ := tvmffi.As[int64](v); n != 42 || err != nil {
		t.Errorf("the closure returned %v, %v", v, err)
	}

	on, err := e.NewMachineOn(vm.Memory{Device: tvmffi.CPU, Allocator: vm.Pooled}, vm.Memory{Device: tvmffi.CPU, Allocator: vm.Naive})
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	x, err = find(t, on, "main").CallTensor(args...)
	near(t, "with two allocators", numbers(t, x, err), want)
	if _, err := e.NewMachineOn(vm.Memory{Device: tvmffi.CUDA(0), Allocator: vm.Naive}); err == nil || !strings.Contains(err.Error(), "add one") {
		t.Errorf("without the CPU: %v", err)
	}
}
