package exportrt_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"

	"github.com/ebitengine/purego"
)

// branch is a record that contains itself.
type branch struct {
	Name string                        `ffi:"name"`
	Size tvmffi.Tuple2[int64, float32] `ffi:"size"`
	Note *string                       `ffi:"note"`
	Any  any                           `ffi:"any,optional"`
	Next []branch                      `ffi:"next,optional"`
}

// flatReader writes a result in flat form as a text, and ends it.
type flatReader struct {
	values []abi.Any
	text   []byte
}

func (r *flatReader) next() string {
	v := r.values[0]
	r.values = r.values[1:]
	part := func() string { return string(r.text[v.Bits:][:v.Small]) }
	var parts []string
	switch v.TypeIndex {
	case abi.TypeNone:
		return "None"
	case abi.TypeBool:
		return fmt.Sprint(v.Bits == 1)
	case abi.TypeInt:
		return fmt.Sprint(int64(v.Bits))
	case abi.TypeFloat:
		return fmt.Sprintf("%.2f", math.Float64frombits(v.Bits))
	case abi.TypeRawStr:
		return fmt.Sprintf("%q", part())
	case abi.TypeByteArrayPtr:
		return fmt.Sprintf("b%q", part())
	case abi.TypeSmallStr:
		text, _ := capi.StringOf(v)
		return fmt.Sprintf("%q", text)
	case callbacks.FlatTyped:
		return r.next() + ":" + r.next()
	case callbacks.FlatList, callbacks.FlatTuple:
		for range v.Bits {
			parts = append(parts, r.next())
		}
		if v.TypeIndex == callbacks.FlatTuple {
			return "(" + strings.Join(parts, " ") + ")"
		}
		return "[" + strings.Join(parts, " ") + "]"
	case callbacks.FlatMap:
		for range v.Bits {
			key := r.next()
			parts = append(parts, key+":"+r.next())
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	key := capi.KeyOf(v.TypeIndex)
	objects.DecRef(uintptr(v.Bits))
	return key
}

// flatError makes an object of an error in flat form, and ends that.
func flatError(at uintptr) (handle uintptr) {
	references := *capi.PointerTo[[2]uintptr](at + 48)
	made := new(uintptr)
	purego.SyscallN(capi.API.ErrorCreate, at, at+16, at+32, references[0], references[1], capi.Address(made))
	for _, reference := range references {
		if reference != 0 {
			objects.DecRef(reference)
		}
	}
	return *made
}

// flatCall calls a func that returns v, with room for a result in flat form.
func flatCall[T any](v T, room int) (text string, rc int32, inRoom bool) {
	return flatCallBy(v, callbacks.FlatRoom, room)
}

// flatCallBy is flatCall for a caller that sets the result to how.
func flatCallBy[T any](v T, how abi.TypeIndex, room int) (text string, rc int32, inRoom bool) {
	call, self := callbacks.Export(func(a *bindrt.Args) error { return bindrt.Return(a, v) }, 0, nil)
	base := capi.Allocate(uintptr(max(room, 1)))
	defer purego.SyscallN(capi.CFunction("free"), base)
	result := &abi.Any{TypeIndex: how, Small: uint32(room), Bits: uint64(base)}
	if room == 0 {
		result.TypeIndex = callbacks.Room
	}
	r, _, _ := purego.SyscallN(call, self, 0, 0, capi.Address(result))
	if result.TypeIndex == callbacks.FlatError {
		*result = abi.Any{TypeIndex: abi.TypeError, Bits: uint64(flatError(base))}
	}
	if result.TypeIndex != callbacks.Flat {
		one := flatReader{values: []abi.Any{*result}}
		return one.next(), int32(r), false
	}
	at := uintptr(result.Bits)
	if at != base {
		defer purego.SyscallN(capi.CFunction("free"), at)
	}
	values := unsafe.Slice(capi.PointerTo[abi.Any](at), result.Small)
	all := flatReader{values, unsafe.Slice(capi.PointerTo[byte](at+uintptr(len(values))*unsafe.Sizeof(abi.Any{})), 1<<16)}
	text = all.next()
	if len(all.values) > 0 {
		text += " and more"
	}
	return text, int32(r), at == base
}

func checkFlat[T any](t *testing.T, v T, want string) {
	t.Helper()
	for _, room := range []int{1 << 12, 1} {
		got, rc, inRoom := flatCall(v, room)
		if got != want || rc != 0 || (room == 1 && inRoom) {
			t.Errorf("%T with room for %d: %s, %d, %v, want %s", v, room, got, rc, inRoom, want)
		}
	}
}

// TestFlat: texts and containers are written into the memory of a caller that takes them, or into
// memory that it frees. Objects are references, and everything inside any stays what it was.
func TestFlat(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	checkFlat(t, "", `""`)
	checkFlat(t, "a\x00 text", `"a\x00 text"`)
	checkFlat(t, []byte("bytes"), `b"bytes"`)
	checkFlat(t, []byte(nil), `b""`)
	checkFlat(t, []string{"short", "long enough", ""}, `["short" "long enough" ""]`)
	checkFlat(t, []string(nil), `[]`)
	checkFlat(t, [2][]float32{{1, 2}, nil}, `[[1.00 2.00] []]`)
	checkFlat(t, []bool{true, false}, `[true false]`)
	checkFlat(t, map[string]int64{"b": 2, "a": 1, "long enough": 3}, `{"a":1 "b":2 "long enough":3}`)
	checkFlat(t, map[string]any{"k": []int64{1}, "n": nil, "s": "a long text"}, `{"k":ffi.Array "n":None "s":"a long text"}`)
	checkFlat(t, map[any]string{"b": "x", 2: "x", "a": "x", true: "x", nil: "x", 1: "x"}, `{None:"x" true:"x" 1:"x" 2:"x" "a":"x" "b":"x"}`)
	checkFlat(t, map[int8][]string{2: {"x"}, 1: nil}, `{1:[] 2:["x"]}`)
	checkFlat(t, tvmffi.Tuple2[int64, []byte]{A: 1, B: []byte{2}}, `(1 b"\x02")`)
	checkFlat(t, tvmffi.Tuple4[string, bool, float64, int64]{A: "a\x00 text", B: true, C: -2.5, D: -7}, `("a\x00 text" true -2.50 -7)`)
	checkFlat(t, tvmffi.Tuple2[string, string]{A: strings.Repeat("long", 100)}, `("`+strings.Repeat("long", 100)+`" "")`)
	checkFlat(t, tvmffi.Tuple2[int64, tvmffi.Tuple2[bool, string]]{A: 1}, `(1 (false ""))`)
	checkFlat(t, []any{1, 2.5, "text", true, nil, []int64{1}, map[string]int64{}}, `[1 2.50 "text" true None ffi.Array ffi.Map]`)
	mixed := map[string]any{"k": []any{1, []string{"x"}, map[string]any{}}}
	if got, _, _ := flatCallBy(mixed, callbacks.FlatAnyRoom, 1<<12); got != `{"k":[1 ["x"] {}]}` {
		t.Error(got, "is all of a value of any type in flat form")
	}
	// A value of any type has the name of its type only for a caller that has no other way to know it.
	typed := tvmffi.Tuple2[any, time.Duration]{A: map[string]any{"a": []any{time.Unix(1, 2).UTC(), time.Second, 2i, map[int]struct{}{3: {}}}, "b": []time.Duration{4}}, B: 5}
	for room, want := range map[abi.TypeIndex]string{
		callbacks.FlatAnyRoom: `({"a":["time":(1 2 0) "duration":1000000000 "complex":(0.00 2.00) "set":[3]] "b":["duration":4]} 5)`,
		callbacks.FlatRoom:    `(ffi.Map 5)`,
	} {
		if got, _, _ := flatCallBy(typed, room, 1<<12); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	note := "a note of some length"
	tree := branch{Name: "root", Size: tvmffi.Tuple2[int64, float32]{A: 1, B: 2}, Note: &note, Next: []branch{{Name: "leaf", Any: "x"}}}
	checkFlat(t, &tree, `{"name":"root" "size":(1 2.00) "note":"a note of some length" "next":[{"name":"leaf" "size":(0 0.00) "note":None "any":"x"}]}`)
	array, err := tvmffi.NewArray(int64(1))
	if err != nil {
		t.Fatal(err)
	}
	defer array.Release()
	checkFlat(t, []*tvmffi.Array[int64]{array, nil}, `[ffi.Array None]`)

	// A single value is what it always is, and nothing is flat without room.
	for _, room := range []int{1 << 12, 0} {
		for got, want := range map[any]string{int64(7): "7", 1.5: "1.50", true: "true"} {
			if text, rc, inRoom := flatCall(got, room); text != want || rc != 0 || inRoom {
				t.Errorf("%v: %s, %d, %v", got, text, rc, inRoom)
			}
		}
	}
	if text, rc, _ := flatCall([]string{"x"}, 0); text != "ffi.Array" || rc != 0 {
		t.Error(text, rc)
	}
}

// TestFlatFails: a result that cannot be packed is an error, and its objects end.
func TestFlatFails(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	loop := branch{Name: "loop"}
	loop.Next = []branch{loop}
	loop.Next[0].Next = loop.Next
	before := objects.LiveCallbacks()
	if text, rc, _ := flatCall(loop, 1<<12); rc != -1 || text != "ffi.Error" {
		t.Error(text, rc)
	}
	wrong := []any{func(int64) int64 { return 1 }, errors.New("x"), make(chan int)}
	if text, rc, _ := flatCall(wrong, 1<<12); rc != -1 || text != "ffi.Error" {
		t.Error(text, rc)
	}
	if after := objects.LiveCallbacks(); after != before {
		t.Errorf("%d values of Go live, %d before", after, before)
	}
}
