package main

import (
	"path/filepath"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// machine has the items of the Relax VM: functions that return their argument.
func machine(data, runtime string) {
	check(tvmffi.LoadLibrary(runtime))
	function := func(m *tvmffi.Module, name string) *tvmffi.Function { return must(m.Function(name)) }
	executable := must(tvmffi.LoadModule(filepath.Join(data, "vm.so")))
	vm := must(tvmffi.As[*tvmffi.Module](must(function(executable, "vm_load_executable").Call())))
	must(function(vm, "vm_initialization").Call(1, 0, 2))

	same, checked := function(vm, "same"), function(vm, "checked")
	item("vm_int", func(n int) {
		for i := range n {
			intSink = must(tvmffi.As[int64](must(same.Call(i))))
		}
	})
	x := must(tvmffi.FromSlice(make([]float32, 8), 8))
	item("vm_tensor", func(n int) {
		for range n {
			must(checked.Call(x)).Release()
		}
	})
	item("vm_named", func(n int) {
		for range n {
			f := function(vm, "checked")
			must(f.Call(x)).Release()
			f.Release()
		}
	})
}

var intSink int64
