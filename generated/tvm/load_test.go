//go:build tvm

package tvm_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm"
	"github.com/tvmffi-go/tvmffi/generated/tvm/contrib/random"
	"github.com/tvmffi-go/tvmffi/generated/tvm/contrib/sort"
	"github.com/tvmffi-go/tvmffi/generated/tvm/deviceapi"
	"github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/generated/tvm/ffi"
	"github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
	"github.com/tvmffi-go/tvmffi/generated/tvm/rpc/server"
	rpctesting "github.com/tvmffi-go/tvmffi/generated/tvm/rpc/testing"
	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime/threading"
	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime/timer"
	"github.com/tvmffi-go/tvmffi/generated/tvm/vm"
	"github.com/tvmffi-go/tvmffi/generated/tvm/vm/builtin"
	"github.com/tvmffi-go/tvmffi/generated/tvm/vm/builtin/memorymanager"
	"github.com/tvmffi-go/tvmffi/generated/tvm/vm/builtin/tensorcache"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestLoadChecked compares every function and type with the libraries of the pinned wheel.
func TestLoadChecked(t *testing.T) {
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	for name, check := range map[string]func(...tvmffi.LoadOption) error{
		"tvm": tvm.LoadChecked, "contrib/random": random.LoadChecked, "contrib/sort": sort.LoadChecked,
		"deviceapi": deviceapi.LoadChecked, "disco": disco.LoadChecked, "ffi": ffi.LoadChecked,
		"rpc": rpc.LoadChecked, "rpc/server": server.LoadChecked, "rpc/testing": rpctesting.LoadChecked,
		"runtime": runtime.LoadChecked, "runtime/threading": threading.LoadChecked, "runtime/timer": timer.LoadChecked,
		"vm": vm.LoadChecked, "vm/builtin": builtin.LoadChecked,
		"vm/builtin/memorymanager": memorymanager.LoadChecked, "vm/builtin/tensorcache": tensorcache.LoadChecked,
	} {
		if err := check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSidecars loads the library for CUDA, which needs a driver, and says so where there is none.
func TestSidecars(t *testing.T) {
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	all, err := tvm.Sidecars()
	if err != nil || len(all) != 1 || !strings.HasSuffix(all[0].Path, "libtvm_runtime_cuda.so") {
		t.Fatalf("the sidecars are %v, %v", all, err)
	}
	_, missing := tvmffi.Lookup("device_api.cuda")
	if err := all[0].Err; (err == nil) != (missing == nil) || err != nil && !strings.Contains(err.Error(), "libcuda") {
		t.Errorf("the sidecar: %v; its function: %v", err, missing)
	}
}
