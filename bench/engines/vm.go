package main

import (
	"path/filepath"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// machine has the items of the Relax VM: functions that return their argument.
func machine(data string) {
	executable := must(vm.Load(filepath.Join(data, "vm.so")))
	m := must(executable.NewMachine(vm.Pooled, tvmffi.CPU))
	same, checked := must(m.Function("same")), must(m.Function("checked"))
	item("vm_int", func(n int) {
		for i := range n {
			_ = must(tvmffi.As[int64](must(same.Call(i))))
		}
	})
	x := must(tvmffi.FromSlice(make([]float32, 8), 8))
	item("vm_tensor", func(n int) {
		for range n {
			must(checked.CallTensor(x)).Release()
		}
	})
}
