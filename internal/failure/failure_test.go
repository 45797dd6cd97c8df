package failure

import "testing"

// TestOurs checks which functions are left out of the backtrace of a program.
func TestOurs(t *testing.T) {
	for function, want := range map[string]bool{
		module + "internal/ccall.Call":                       true,
		module + "internal/callbacks.callbackEntry":          true,
		module + "internal/a/b.(*T[...]).do.func1":           true,
		module + "runtime.(*Function).Call":                  true,
		module + "runtime/define.Struct[...]":                true,
		module + "cuda.(*Kernel).Launch":                     true,
		module + "cuda/kernelrt.Begin":                       true,
		module + "internal/failure_test.TestX":               false,
		module + "runtime_test.TestX.func1":                  false,
		module + "runtime/define_test.TestX":                 false,
		module + "internal/testkit/runtimetest.Call":         false,
		module + "internals.F":                               false,
		module + "runtimes/x.F":                              false,
		module + "generated/xgrammar.(*Grammar).String":      false,
		module + "xgrammar.(*Compiler).Compile":              false,
		module + "tvm/internal/x.F":                          false,
		"github.com/tvmffi-go/tvmffi-others/internal/x.F":    false,
		"example.com/github.com/tvmffi-go/tvmffi/internal.F": false,
		"main.main":                             false,
		"runtime.gopanic":                       true,
		"runtime/debug.Stack":                   false,
		"reflect.Value.Call":                    true,
		"internal/runtime/maps.F":               true,
		"syscall.SyscallN":                      true,
		"syscall.Open":                          false,
		"github.com/ebitengine/purego.SyscallN": true,
	} {
		if got := ours(function); got != want {
			t.Errorf("ours(%q) = %v, want %v", function, got, want)
		}
	}
}
