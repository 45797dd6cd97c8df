//go:build tvm

package vm_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// TestRemote runs a model on the other side of an RPC session, here in the same process.
func TestRemote(t *testing.T) {
	path := nativetest.Model(t, network)
	load(t, path) // the runtime too
	if err := tvmffi.Register("tvm.rpc.server.load_module", func(path string) (any, error) {
		m, err := tvmffi.LoadModule(path)
		return tvmffi.Move(m), err
	}); err != nil {
		t.Fatal(err)
	}
	defer tvmffi.Unregister("tvm.rpc.server.load_module")
	session, err := rpc.LocalSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Release()
	module, err := rpc.LoadRemoteModule(session, path)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := vm.Of(module)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Release()
	index, err := rpc.SessTableIndex(session)
	if err != nil {
		t.Fatal(err)
	}
	device := tvmffi.Device{Type: int32(index+1)*128 + tvmffi.DeviceCPU}
	m, err := exe.NewMachine(vm.Pooled, device)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	arrays, _ := inputs(t, 3)
	var args []any
	for _, a := range arrays {
		x, err := runtime.TVMTensorAllocWithScope(tvmffi.Of(a.Shape...), tvmffi.Float32, device, nil)
		if err == nil {
			err = tvmffi.CopyFrom(x, a.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer x.Release()
		args = append(args, x)
	}
	want := python(t, path, arrays)
	x, err := find(t, m, "main").CallTensor(args...)
	near(t, "remote call", numbers(t, x, err), want)
	both := find(t, m, "both")
	if err := both.SetInput(args...); err != nil {
		t.Fatal(err)
	}
	if err := both.Invoke(); err != nil {
		t.Fatal(err)
	}
	x, err = both.Output(0)
	near(t, "remote call with state", numbers(t, x, err), want)
	if err := m.SetInstrument(func(vm.Event) error { return nil }); err == nil {
		t.Error("a remote machine takes a hook")
	}
}
