package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// reenterSource is a library that calls Go while it is being loaded, between the
// registration of two functions.
const reenterSource = `
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace ffi = tvm::ffi;
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("reenter.early", [](int64_t x) { return x + 1; });
  if (auto f = ffi::Function::GetGlobal("reentertest.on_load")) (*f)();
  refl::GlobalDef().def("reenter.late", [](int64_t x) { return x + 2; });
}
int64_t Export(int64_t x) { return x + 3; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(reenter_export, Export);
`

func init() {
	runtimetest.Children["reenter"] = reenterChild
	runtimetest.Children["lock order"] = lockOrderChild
}

// aliveFor ends a child that hangs.
func aliveFor(d time.Duration) {
	time.AfterFunc(nativetest.Patience(d), func() {
		fmt.Println("it hangs")
		os.Exit(4)
	})
}

// A library whose initialiser calls Go code that uses the bindings of that very
// library finds what is registered so far.
func TestLibraryCallsGoWhileItLoads(t *testing.T) {
	path := nativetest.BuildText(t, "reenter", reenterSource)
	if out, err := runtimetest.Child(t, "reenter", "CORE="+nativetest.Library(t), envFile+"="+path); err != nil {
		t.Errorf("the child ended with %v: %s", err, out)
	}
}

type reentered struct {
	N int64 `ffi:"n"`
}

func reenterChild() error {
	aliveFor(30 * time.Second)
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	library := &bindrt.Library{Files: []bindrt.File{{Name: "libreenter.so"}}}
	funcs := map[string]*bindrt.Func{}
	for _, name := range []string{"reenter.early", "reenter.late"} {
		funcs[name] = &bindrt.Func{Library: library, Name: name, Sig: "(int) -> int"}
	}
	export := &bindrt.Func{Library: library, Module: "libreenter.so", Name: "reenter_export"}
	class := &bindrt.Type{Library: library, Key: "reenter.Type"}
	made := define.Object[reentered]("gotest.Reentered")
	apply := func(f *bindrt.Func) (int64, error) {
		var c bindrt.Call1
		c.Begin(f, 1)
		c.Int(0, 1)
		return c.DoInt()
	}
	use := func() error {
		if err := bindrt.Load(library); err != nil {
			return fmt.Errorf("load again: %w", err)
		}
		if x, err := apply(funcs["reenter.early"]); x != 2 || err != nil {
			return fmt.Errorf("a function that is registered: %d, %w", x, err)
		}
		for what, try := range map[string]func() error{
			"a function": func() error { _, err := apply(funcs["reenter.late"]); return err },
			"an export":  func() error { _, err := apply(export); return err },
			"a type":     func() error { _, err := class.Info(); return err },
		} {
			if err := try(); !errors.Is(err, tvmffi.ErrAttribute) || !strings.Contains(err.Error(), "being loaded") || strings.Contains(err.Error(), "go generate") {
				return fmt.Errorf("%s that is not there yet: %v", what, err)
			}
		}
		x, err := made.New(reentered{N: 7})
		if err != nil {
			return err
		}
		x.Release()
		return nil
	}
	inside := errors.New("the library did not call Go")
	if err := tvmffi.Register("reentertest.on_load", func() { inside = use() }); err != nil {
		return err
	}
	if err := bindrt.Load(library, tvmffi.WithFile(os.Getenv(envFile))); err != nil {
		return err
	}
	if inside != nil {
		return fmt.Errorf("while the library is loaded: %w", inside)
	}
	for f, want := range map[*bindrt.Func]int64{funcs["reenter.early"]: 2, funcs["reenter.late"]: 3, export: 4} {
		if x, err := apply(f); x != want || err != nil {
			return fmt.Errorf("%s after loading: %d, %w", f, x, err)
		}
	}
	if _, err := class.Info(); err == nil || !strings.Contains(err.Error(), "go generate") {
		return fmt.Errorf("a type that is not in the library: %w", err)
	}
	return nil
}

// Who holds the registry, as a library does that is being loaded, may need what
// another goroutine has begun to look for: neither may wait for the other.
func TestOrderOfLocks(t *testing.T) {
	env := []string{"CORE=" + nativetest.Library(t), envFile + "=" + nativetest.Build(t, "garden")}
	if out, err := runtimetest.Child(t, "lock order", env...); err != nil {
		t.Errorf("the child ended with %v: %s", err, out)
	}
}

type ordered struct {
	N int64 `ffi:"n"`
}

func lockOrderChild() error {
	aliveFor(30 * time.Second)
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	library := &bindrt.Library{Files: []bindrt.File{{Name: "libgarden.so"}}}
	made := define.Object[ordered]("gotest.Ordered")
	m, err := tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[float64, int64]{Key: 1.5, Value: 3}))
	if err != nil {
		return err
	}
	defer m.Release()
	if v, ok := m.Get(1.5); !ok || v != 3 {
		return fmt.Errorf("the map has %d, %v", v, ok)
	}
	for what, use := range map[string]func() error{
		"a library":         func() error { return bindrt.Load(library, tvmffi.WithFile(os.Getenv(envFile))) },
		"a type made in Go": made.Register,
		"a key that is not in a map": func() error {
			if v, ok := m.Get(2.5); ok {
				return fmt.Errorf("it has the value %d", v)
			}
			return nil
		},
	} {
		done := make(chan error, 2)
		fmt.Println(what)
		go func() {
			capi.Registry.Lock()
			defer capi.Registry.Unlock()
			go func() { done <- use() }()
			time.Sleep(100 * time.Millisecond) // it waits for the registry
			done <- use()
		}()
		for range 2 {
			if err := <-done; err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	return nil
}
