//go:build linux || darwin

package ccall_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// A value per thread, and a function that returns what it was called with. refuse_get
// and refuse_set are what these return once.
const valueText = `
#include <stdint.h>
#include <string.h>
static thread_local uintptr_t value;
extern "C" {
int refuse_get, refuse_set, result;
uintptr_t seen[12];
uintptr_t sets;
int get(uintptr_t* v) { if (refuse_get) { int rc = refuse_get; refuse_get = 0; return rc; } *v = value; return 0; }
int set(uintptr_t v) { ++sets; if (refuse_set && sets == 1 + (refuse_set < 0)) return refuse_set; value = v; return 0; }
uintptr_t lookup(uintptr_t a, uintptr_t b) { return 1000 * a + 10 * b + value; }
int call(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g, uintptr_t h, uintptr_t i, uintptr_t j, uintptr_t k) {
  alignas(32) volatile double aligned[4] = {1, 2, 3, 4};
  uintptr_t all[12] = {a, b, c, d, e, f, g, h, i, j, k, value + (reinterpret_cast<uintptr_t>(aligned) % 16)};
  memcpy(seen, all, sizeof all);
  return result;
}
}
`

// TestCallWithin: the value is the wanted one during the call and the former one
// after it, whatever fails, and the arguments arrive.
func TestCallWithin(t *testing.T) {
	runtime.LockOSThread() // for good: the last case leaves the thread with another value
	h, err := purego.Dlopen(nativetest.BuildText(t, "within", valueText, nativetest.Standalone()), purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	symbol := func(name string) uintptr {
		a, err := purego.Dlsym(h, name)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	at := func(name string) *int32 { a := symbol(name); return *(**int32)(unsafe.Pointer(&a)) }
	seenAt, setsAt := symbol("seen"), symbol("sets")
	seen, sets := *(**[12]uintptr)(unsafe.Pointer(&seenAt)), *(**uintptr)(unsafe.Pointer(&setsAt))
	w := new(ccall.Within)
	heap = w
	w.Set, w.Fn = symbol("set"), symbol("call")
	for _, c := range []struct {
		name                    string
		want                    uintptr
		lookup, any             bool
		get, set, result        int32
		step, rc, back, changes int64
	}{
		{name: "same", want: 0, step: ccall.AtFn},
		{name: "other", want: 7, step: ccall.AtFn, changes: 2},
		{name: "any", want: 7, any: true, get: 3, result: -5, step: ccall.AtFn, rc: -5},
		{name: "failing", want: 7, result: -5, step: ccall.AtFn, rc: -5, changes: 2},
		{name: "lookup", want: 7, lookup: true, step: ccall.AtFn, changes: 2},
		{name: "no get", want: 7, get: 3, step: ccall.AtGet, rc: 3},
		{name: "no set", want: 7, set: 4, step: ccall.AtSet, rc: 4, changes: 1},
		{name: "not back", want: 7, result: 6, set: -9, step: ccall.AtFn, rc: 6, back: -9, changes: 2},
	} {
		*seen, *sets = [12]uintptr{}, 0
		*at("refuse_get"), *at("refuse_set"), *at("result") = c.get, c.set, c.result
		for i := range w.Args {
			w.Args[i] = uintptr(i+1) << 32
		}
		w.Want, w.Lookup, w.Get = c.want, 0, symbol("get")
		if c.any {
			w.Get = 0
		}
		if c.lookup {
			w.Lookup, w.LookupArgs, w.LookupTo = symbol("lookup"), [2]uintptr{5, 3}, uintptr(unsafe.Pointer(&w.Args[8]))
		}
		ccall.CallWithin(w)
		if int64(w.Step) != c.step || w.RC != c.rc || w.Back != c.back || int64(*sets) != c.changes {
			t.Errorf("%s: step %d, %d, back %d, %d changes, want %+v", c.name, w.Step, w.RC, w.Back, *sets, c)
		}
		var want [12]uintptr
		if c.step == ccall.AtFn {
			copy(want[:], w.Args[:])
			want[11] = c.want
		}
		if c.any {
			want[11] = 0 // the value stays as it is
		}
		if c.lookup && w.Args[8] != 5037 {
			t.Errorf("%s: %d was found", c.name, w.Args[8])
		}
		if *seen != want {
			t.Errorf("%s: called with %x, want %x", c.name, *seen, want)
		}
	}
}

// heap keeps what C sees off the stack.
var heap *ccall.Within
