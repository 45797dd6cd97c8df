package calls_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// symbol finds a C function that the runtime does not use.
func symbol(t *testing.T, name string) uintptr {
	t.Helper()
	h, err := dynlib.Open(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.Symbol(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// array describes a text that lives forever.
func array(s string) *abi.ByteArray {
	b := append([]byte(s), 0)
	forever = append(forever, b)
	return &abi.ByteArray{Data: uintptr(unsafe.Pointer(unsafe.SliceData(b))), Size: uintptr(len(s))}
}

var forever []any

// addFields registers fields of a type, as a library does while it is loaded.
func addFields(t *testing.T, register uintptr, index abi.TypeIndex, first, n int) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	for i := first; i < first+n; i++ {
		info := &abi.FieldInfo{
			Name: *array(fmt.Sprint("field_", i)), Metadata: *array(`{"type_schema":"{\"type\":\"int\"}"}`),
			Size: 8, Alignment: 8, Offset: int64(24 + 8*i), StaticTypeIndex: abi.TypeInt,
		}
		forever = append(forever, info)
		if rc, _, _ := purego.SyscallN(register, uintptr(index), uintptr(unsafe.Pointer(info))); int32(rc) != 0 {
			t.Error("the field was not registered")
			return
		}
	}
}

// The library moves the entries of fields and methods when it registers another
// one: what was found must not point there, and a search must hold the lock.
func TestTypeTableGrows(t *testing.T) {
	load(t)
	register := symbol(t, "TVMFFITypeRegisterField")
	key := "core_test.Growing"
	parent, err := registry.IndexOfKey("ffi.Object")
	if err != nil {
		t.Fatal(err)
	}
	capi.Registry.Lock()
	i, _, _ := purego.SyscallN(capi.API.TypeGetOrAllocIndex, uintptr(unsafe.Pointer(array(key))), ^uintptr(0), 1, 0, 1, uintptr(parent))
	capi.Registry.Unlock()
	index := abi.TypeIndex(int32(i))
	addFields(t, register, index, 0, 3)
	owner := &fields.Type{Key: key}
	before := fields.Field{Owner: owner, Name: "field_1"}
	info, err := before.Info()
	if err != nil {
		t.Fatal(err)
	}
	table, err := owner.Info()
	if err != nil {
		t.Fatal(err)
	}
	if at := uintptr(unsafe.Pointer(info)); at >= table.Fields && at < table.Fields+3*unsafe.Sizeof(*info) {
		t.Error("the entry that was found lies in the table, which will move")
	}
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		added := 3
		for ; added < 3000; added += 10 {
			select {
			case <-stop:
				done <- added
				return
			default:
				addFields(t, register, index, added, 10)
			}
		}
		done <- added
	}()
	for n := 0; n < 3000; n++ {
		f := fields.Field{Owner: owner, Name: fmt.Sprint("field_", n%3)}
		got, err := f.Info()
		if err != nil {
			t.Fatalf("field %d: %v", n%3, err)
		}
		if got.Offset != int64(24+8*(n%3)) {
			t.Fatalf("field %d: offset %d", n%3, got.Offset)
		}
	}
	close(stop)
	<-done
	addFields(t, register, index, 5000, 2000)
	runtime.GC()
	if capi.GoString(info.Name) != "field_1" || info.Offset != 32 || info.Size != 8 {
		t.Errorf("the entry that was found before is now %+v", info)
	}
	again, err := before.Info()
	if err != nil || again.Offset != 32 {
		t.Errorf("%+v, %v", again, err)
	}
}

// Each search of the type table waits until the Registry is unlocked.
func TestSearchesHoldTheRegistry(t *testing.T) {
	load(t)
	box, err := typeBox.Info()
	if err != nil {
		t.Fatal(err)
	}
	var list = fields.Type{Key: "calls.Box"}
	if _, err := list.Info(); err != nil {
		t.Fatal(err)
	}
	for what, search := range map[string]func() error{
		"Field.Info":   func() error { _, err := (&fields.Field{Owner: &list, Name: "i64"}).Info(); return err },
		"Func.Resolve": func() error { _ = (&calls.Func{Owner: &list, Name: "no_such_method"}).Resolve(); return nil },
		"FieldOf": func() error {
			if fields.Of(box.TypeIndex, "i64") == nil {
				return fmt.Errorf("no field")
			}
			return nil
		},
	} {
		done := make(chan error, 1)
		capi.Registry.Lock()
		go func() { done <- search() }()
		select {
		case <-done:
			t.Errorf("%s does not wait for the registry", what)
			done <- nil
		case <-time.After(100 * time.Millisecond):
		}
		capi.Registry.Unlock()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(nativetest.Patience(10 * time.Second)):
			t.Fatalf("%s hangs", what)
		}
	}
}

// Who holds the registry, as a library does that is being loaded, may need a
// function that somebody else is just looking for.
func TestResolveUnderTheRegistry(t *testing.T) {
	load(t)
	f := calls.Func{Name: "ffi.Array"}
	other, done := make(chan error, 1), make(chan error, 1)
	go func() {
		capi.Registry.Lock()
		defer capi.Registry.Unlock()
		go func() { other <- f.Resolve() }()
		time.Sleep(100 * time.Millisecond) // it waits for the registry
		done <- f.Resolve()
	}()
	for _, c := range []chan error{done, other} {
		select {
		case err := <-c:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(nativetest.Patience(10 * time.Second)):
			t.Fatal("both wait for each other")
		}
	}
}

// TestOpenFile_again loads a library that the process has, and does not list all functions again.
func TestOpenFile_again(t *testing.T) {
	load(t)
	calls := nativetest.Build(t, "calls")
	if allocations := testing.AllocsPerRun(5, func() {
		if err := libraries.OpenFile(calls); err != nil {
			t.Fatal(err)
		}
	}); allocations > 40 {
		t.Errorf("loading a library again makes %.0f allocations, want 40 at most", allocations)
	}
}
