//go:build tvm

package vm_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// loop calls a function from C++, and through it the machine.
const loop = `
#include <tvm/ffi/tvm_ffi.h>
namespace ffi = tvm::ffi;
void Loop(ffi::Function f, ffi::Tensor x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) f(x);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(loop, Loop);
`

// BenchmarkCall calls a function that returns its argument, from Go and from C++: the
// difference is the cost of Go. The same from Python:
//
//	python testdata/time.py MODEL.so
func BenchmarkCall(b *testing.B) {
	path := nativetest.Model(b, "testdata/small.py", "same")
	_, m := load(b, path)
	x, err := tvmffi.NewTensor(tvmffi.Float32, 16)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Release()
	b.Run("Go", func(b *testing.B) {
		main := find(b, m, "main")
		b.ReportAllocs()
		for b.Loop() {
			y, err := main.CallTensor(x)
			if err != nil {
				b.Fatal(err)
			}
			y.Release()
		}
	})
	b.Run("Do", func(b *testing.B) { // one change of the thread for all calls
		main := find(b, m, "main")
		b.ReportAllocs()
		if err := m.Do(b.Context(), func() error {
			for b.Loop() {
				y, err := main.CallTensor(x)
				if err != nil {
					return err
				}
				y.Release()
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("C++", func(b *testing.B) {
		library, err := tvmffi.LoadModule(nativetest.BuildText(b, "loop", loop, nativetest.AgainstVersion(wheel.TVMNeeds), nativetest.Flags("-O1")))
		if err != nil {
			b.Fatal(err)
		}
		f, err := library.Function("loop")
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		if _, err := f.Call(native(b, path), x, b.N); err != nil {
			b.Fatal(err)
		}
	})
}

// native returns main of a machine of its own.
func native(b *testing.B, path string) *tvmffi.Function {
	b.Helper()
	module, err := tvmffi.LoadModule(path)
	if err != nil {
		b.Fatal(err)
	}
	find := func(m *tvmffi.Module, name string) *tvmffi.Function {
		f, err := m.Function(name)
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	v, err := find(module, "vm_load_executable").Call()
	if err != nil {
		b.Fatal(err)
	}
	machine, err := tvmffi.As[*tvmffi.Module](v)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := find(machine, "vm_initialization").Call(tvmffi.DeviceCPU, 0, int(vm.Pooled)); err != nil {
		b.Fatal(err)
	}
	return find(machine, "main")
}
