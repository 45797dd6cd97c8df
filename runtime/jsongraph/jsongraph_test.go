package jsongraph_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func TestJSONGraph(t *testing.T) {
	runtimetest.LoadProgram(t)
	// Shared values stay shared, and objects keep their types.
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, []any{x}, []any{x, map[string]any{"k": []any{1, 2.5, nil}}})
	text := runtimetest.Must[[]byte](t)(jsongraph.Marshal(f, map[string]any{"by": "a test", "n": 1}))
	g := runtimetest.Must[*runtimetest.Func](t)(jsongraph.Unmarshal[*runtimetest.Func](text))
	if g.String() != f.String() || !runtimetest.Must[bool](t)(structural.Equal(f, g)) || tvmffi.Same(f, g) {
		t.Errorf("the function came back as %v, want an equal copy of %v", g, f)
	}
	t.Run("metadata", func(t *testing.T) {
		for _, lost := range []map[string]any{{"by": "a\xff"}, {"b\xffy": 1}, {"by": []any{map[string]any{"n": "\xed\xa0\x80"}}}} { // json.Unmarshal would make U+FFFD of it
			for _, x := range []any{1, map[any]any{1: tvmffi.Float32}} {
				_, err := jsongraph.Marshal(x, lost)
				runtimetest.WantError(t, err, tvmffi.ErrValue, "metadata: a text in it is not UTF-8")
			}
		}
		for _, unwritten := range []any{[]byte("ab"), uint64(math.MaxUint64), map[any]any{1: 1}} {
			for _, x := range []any{1, map[any]any{1: tvmffi.Float32}} {
				// Its kind is ErrValue, or ErrOverflow where the library has no integers beyond those of int64.
				if text, err := jsongraph.Marshal(x, map[string]any{"at": []any{unwritten}}); err == nil || !strings.Contains(err.Error(), "metadata: ") {
					t.Errorf("metadata with %v: %s, %v, want an error", unwritten, text, err)
				}
			}
		}
		if m := runtimetest.Must[json.RawMessage](t)(jsongraph.Metadata(text)); string(m) != `{"by":"a test","n":1}` && string(m) != `{"n":1,"by":"a test"}` {
			t.Errorf("metadata %s, want by and n", m)
		}
		if m, err := jsongraph.Metadata([]byte(`{"root_index":0}`)); m != nil || err != nil {
			t.Errorf("without metadata, Metadata returned %s, %v, want nil, nil", m, err)
		}
		for _, broken := range []string{``, `[]`, `{"metadata":1`, `{"metadata":[1}`} {
			if m, err := jsongraph.Metadata([]byte(broken)); m != nil || !errors.Is(err, tvmffi.ErrValue) {
				t.Errorf("of %q, Metadata returned %s, %v, want an error", broken, m, err)
			}
		}
	})
	t.Run("in structs of Go, for encoding/json and encoding/gob", func(t *testing.T) {
		type point struct {
			Step int
			Func jsongraph.Graph[*runtimetest.Func]
		}
		in, out := point{3, jsongraph.Graph[*runtimetest.Func]{Value: f}}, point{}
		b := runtimetest.Must[[]byte](t)(json.Marshal(in))
		if err := json.Unmarshal(b, &out); err != nil || out.Step != 3 || out.Func.Value.String() != f.String() {
			t.Errorf("encoding/json gives %v, %v, want step 3 and %v", out, err, f)
		}
		out.Func.Value.Release()
		var buf bytes.Buffer
		out = point{}
		if err := errors.Join(gob.NewEncoder(&buf).Encode(in), gob.NewDecoder(&buf).Decode(&out)); err != nil || out.Func.Value.String() != f.String() {
			t.Errorf("encoding/gob gives %v, %v, want %v", out, err, f)
		}
		out.Func.Value.Release()
	})
	_, err := jsongraph.Unmarshal[*runtimetest.Box](text)
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected calls.Box, got program.Func")
	for _, o := range []interface{ Release() }{f, g, x} {
		o.Release()
	}
	_, err = jsongraph.Marshal(f, nil)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

// Marshal writes the same graph as the library, node for node.
func TestToJSONGraph_same(t *testing.T) {
	runtimetest.LoadProgram(t)
	plain := func(text string) (x any) {
		text = regexp.MustCompile(`:(NaN|-?Infinity)`).ReplaceAllString(text, `:"$1"`)
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Errorf("the graph %s is not JSON: %v", text, err)
		}
		return x
	}
	same := func(x any) {
		t.Helper()
		mine := runtimetest.Must[[]byte](t)(jsongraph.Marshal(x, map[string]any{"m": 1}))
		theirs := runtimetest.Get[string](t, "ffi.ToJSONGraphString", x, map[string]any{"m": 1})
		if !reflect.DeepEqual(plain(string(mine)), plain(theirs)) {
			t.Errorf("wrote  %s\nwanted %s", mine, theirs)
		}
	}
	runtimetest.Values(t, func(r values.Row, x any) {
		if r.Graph != "" && x != any(tvmffi.Int32.WithLanes(65535)) { // of which the library forgets the lanes
			same(x)
		}
	})
	l := runtimetest.NewList(t, 1, 1, "a", "a long text on the heap", "a long text on the heap")
	x := runtimetest.NewVar(t, "x \"\x01\\/\u00e9")
	f := runtimetest.NewFunc(t, []any{x, l}, []any{x, map[string]any{"k": l, "j": []any{l, l}}, tvmffi.Float32, tvmffi.CUDA(1)})
	links := runtimetest.NewChain(t, 3)
	d := runtimetest.Must[*tvmffi.Dict[any, any]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[any, any]{Key: 2, Value: x}, tvmffi.Pair[any, any]{Key: "k", Value: f})))
	for _, v := range []any{x, f, links, d, []any{f, f, links, d}} {
		same(v)
	}
	for _, o := range []interface{ Release() }{l, x, f, links, d} {
		o.Release()
	}
}

// Members of an enum come back as the same objects.
func TestJSONGraph_enum(t *testing.T) {
	runtimetest.Balanced(t)
	v, err := runtimetest.Call("testing.enum_variant_get", "Alpha")
	if err != nil {
		t.Skip("the testing library has no enums:", err)
	}
	if strings.HasPrefix(nativetest.Version(), "0.1.12") {
		t.Skip("version 0.1.12 makes members of enums anew")
	}
	text := runtimetest.Must[[]byte](t)(jsongraph.Marshal(v, nil))
	w := runtimetest.Must[tvmffi.Any](t)(jsongraph.Unmarshal[tvmffi.Any](text))
	a, b := runtimetest.Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](v)), runtimetest.Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](w))
	if !tvmffi.Same(a, b) {
		t.Errorf("the member came back as another object: %s", text)
	}
	v.Release()
	w.Release()
}

func TestToJSONGraph_errors(t *testing.T) {
	runtimetest.Balanced(t)
	l := runtimetest.NewLoop(t)
	_, err := jsongraph.Marshal([]any{l}, nil)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "Cycle detected during serialization: a List contains itself")
	runtimetest.EndLoop(t, l)
	d := runtimetest.Must[*tvmffi.Dict[string, any]](t)(tvmffi.NewDict(tvmffi.PairsOf[string, any]()))
	if err := d.Set("k", d); err != nil {
		t.Fatal(err)
	}
	_, err = jsongraph.Marshal(d, nil)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "Cycle detected during serialization: a Dict contains itself")
	if err := d.Set("k", 1); err != nil {
		t.Fatal(err)
	}
	d.Release()
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("calls.nop"))
	tensor := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1}))
	for _, x := range []any{fn, tensor, []any{tensor}, map[string]any{"k": fn}} {
		_, err = jsongraph.Marshal(x, nil)
		runtimetest.WantError(t, err, nil, "ToJSONGraph", "ffi.")
	}
	_, err = jsongraph.Marshal(make(chan int), nil)
	runtimetest.WantError(t, err, tvmffi.ErrType, "chan int")
	_, err = jsongraph.Marshal(1, map[string]any{"x": make(chan int)})
	runtimetest.WantError(t, err, tvmffi.ErrType, "metadata")
	fn.Release()
	tensor.Release()
}

// hostileGraphs are graphs that are malformed, or for which the library would read
// beyond its memory or without end.
var hostileGraphs = []struct {
	text string
	kind error
	want string
}{
	{``, tvmffi.ErrValue, "Expecting value: line 1 column 1 (char 0)"},
	{`[]`, tvmffi.ErrValue, "Invalid JSON Object Graph, expected an object"},
	{`null`, tvmffi.ErrValue, "expected an object"},
	{`{}`, tvmffi.ErrValue, "Invalid JSON Object Graph, expected `root_index` integer field"},
	{`{"root_index":true,"nodes":[]}`, tvmffi.ErrValue, "expected `root_index` integer field"},
	{`{"root_index":0.0,"nodes":[]}`, tvmffi.ErrValue, "expected `root_index` integer field"},
	{`{"root_index":0}`, tvmffi.ErrValue, "Invalid JSON Object Graph, expected `nodes` array field"},
	{`{"root_index":0,"nodes":{}}`, tvmffi.ErrValue, "expected `nodes` array field"},
	{`{"root_index":0,"nodes":[]}`, tvmffi.ErrValue, "Invalid JSON Object Graph: invalid node index 0"},
	{`{"root_index":-1,"nodes":[{"type":"None"}]}`, tvmffi.ErrValue, "invalid node index -1"},
	{`{"root_index":9223372036854775807,"nodes":[{"type":"None"}]}`, tvmffi.ErrValue, "invalid node index 9223372036854775807"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[1]}]}`, tvmffi.ErrValue, "invalid node index 1"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[-1]}]}`, tvmffi.ErrValue, "invalid node index -1"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[99999999999]}]}`, tvmffi.ErrValue, "invalid node index 99999999999"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]}`, tvmffi.ErrValue, "node 0 contains itself"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[false]}]}`, tvmffi.ErrValue, "node 0 refers to a node by a value that is not an integer"},
	{`{"root_index":0,"nodes":[{"data":[0],"type":"ffi.List"}]}`, tvmffi.ErrValue, "node 0 contains itself"},
	{`{"root_index":0,"n\u006fdes":[{"t\u0079pe":"ffi.\u0041rray","d\u0061ta":[0]}]}`, tvmffi.ErrValue, "node 0 contains itself"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Map","data":[1,0]},{"type":"int","data":1}]}`, tvmffi.ErrValue, "node 0 contains itself"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[1]},{"type":"ffi.Dict","data":[0,2]},{"type":"None"}]}`, tvmffi.ErrValue, "node 0 contains itself"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Map","data":[1]},{"type":"int","data":1}]}`, tvmffi.ErrValue, "Invalid JSON Object Graph: Map/Dict data must contain an even number of [key, value] entries, got 1"},
	{`{"root_index":0,"nodes":[{"type":"program.Link","data":{"next":0,"value":1,"small":1}}]}`, tvmffi.ErrValue, "node 0 contains itself"},
	{`{"root_index":0,"nodes":[{"type":"program.Link","data":{"next":true,"value":1,"small":1}}]}`, tvmffi.ErrValue, "not an integer"},
	{`{"root_index":0,"nodes":[{"type":"program.Link","data":{"value":1,"small":1}}]}`, tvmffi.ErrType, "Required field `next` not set in type `program.Link`"},
	{`{"root_index":0,"nodes":[{"type":"program.Link","data":{"next":1,"value":"x","small":1}},{"type":"None"}]}`, tvmffi.ErrType, "Cannot convert"},
	{`{"root_index":0,"nodes":[{"type":"Device","data":[1]}]}`, tvmffi.ErrValue, "Device data must be an array of [device_type, device_id], got 1 element(s)"},
	{`{"root_index":0,"nodes":[{"type":"bool","data":2}]}`, tvmffi.ErrValue, "node 0 has a number for a bool, expected true or false"},
	{`{"root_index":0,"nodes":[{"data":0.5,"type":"bool"}]}`, tvmffi.ErrValue, "node 0 has a number for a bool, expected true or false"},
	{`{"root_index":0,"nodes":[{"type":"None","data":5}]}`, tvmffi.ErrValue, "node 0 is None, and has data"},
	{`{"root_index":0,"nodes":[{"type":"int","data":-0}]}`, tvmffi.ErrType, "Cannot convert from type `float` to `int`"},
	{`{"root_index":0,"nodes":[{"type":"Device","data":[2,4294967296]}]}`, tvmffi.ErrValue, "is a Device with 4294967296, which does not fit int32"},
	{`{"root_index":0,"nodes":[{"type":"Device","data":[-4294967294,0]}]}`, tvmffi.ErrValue, "is a Device with -4294967294, which does not fit int32"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"\u00ff\u00ff\u00ff\u00ff"}]}`, tvmffi.ErrValue, "not in base64"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"abc"}]}`, nil, "base64"},
	{`{"root_index":0,"nodes":[{"type":"no.such.Type","data":{}}]}`, nil, "no.such.Type"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Function","data":{}}]}`, tvmffi.ErrRuntime, "Type `ffi.Function` does not support reflection creation"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Object"}]}`, tvmffi.ErrRuntime, "Type `ffi.Object` does not support reflection creation"},
	{`{"root_index":0,"nodes":[{"type":"DLTensor*","data":{}}]}`, tvmffi.ErrRuntime, "does not support reflection creation"},
	{`{"root_index":0,"nodes":[{"type":"ffi.SmallStr","data":"x"}]}`, tvmffi.ErrRuntime, "does not support reflection creation"},
	{`{"root_index":0,"nodes":[{"type":1,"data":{}}]}`, tvmffi.ErrValue, "the type is not a string"},
	{`{"root_index":0,"nodes":[{"type":"int","type":"ffi.Array","data":[0]}]}`, tvmffi.ErrValue, `"type" occurs twice in an object: line 1 column 46`},
	{`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[],"data":[0]}]}`, tvmffi.ErrValue, `"data" occurs twice`},
	{`{"root_index":0,"nodes":[{"type":"None","data":{"a":[{"b":1,"c":2,"b":3}]}}]}`, tvmffi.ErrValue, `"b" occurs twice`},
	{`{"root_index":0,"nodes":[{"type":"None","data":{"\u0061":1,"a":2}}]}`, tvmffi.ErrValue, `"a" occurs twice`},
	{`{"root_index":0,"nodes":[{"type":"None","data":{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"8":1}}]}`, tvmffi.ErrValue, `"8" occurs twice`},
	{`{"root_index":0,"nodes":[{"type":"program.Link","data":{"next":1,"value":1,"value":2,"small":1}},{"type":"None"}]}`, tvmffi.ErrValue, `"value" occurs twice`},
	{mapGraph(`"int","data":1`, `"int","data":1`), tvmffi.ErrValue, "node 0 has two entries with the key of node 2: one of them would be lost"},
	{mapGraph(`"ffi.String","data":"a"`, `"ffi.String","data":"\u0061"`), tvmffi.ErrValue, "two entries"},
	{mapGraph(`"float","data":NaN`, `"float","data":NaN`), tvmffi.ErrValue, "two entries"},
	{mapGraph(`"float","data":1.50`, `"float","data": 15e-1`), tvmffi.ErrValue, "two entries"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Dict","data":[1,1,1,1]},{"type":"int","data":1}]}`, tvmffi.ErrValue, "node 0 has two entries with the key of node 1"},
	{`{"root_index":0,"nodes":[{"type":"int","data":1,"dta":2}]}`, tvmffi.ErrValue, `node 0 has the member "dta", expected type and data`},
	{`{"root_index":0,"nodes":[{"type":"int","data":1}],"nods":[]}`, tvmffi.ErrValue, `it has the member "nods", expected root_index, nodes and metadata`},
	{`{"root_index":0,"nodes":[{"type":"program.Link","data":{"next":1,"value":1,"small":1,"valu":2}},{"type":"None"}]}`, tvmffi.ErrValue, `node 0 has a value for "valu", and its type program.Link has no such field: they are next, small, value`},
	{`{"root_index":0,"nodes":[],"nodes":[{"type":"ffi.Array","data":[0]}]}`, tvmffi.ErrValue, `"nodes" occurs twice`},
	{`{"root_index":0,"nodes":[{}]}`, tvmffi.ErrKey, "key is not in Map"},
	{`{"root_index":0,"nodes":[7]}`, tvmffi.ErrType, "Cannot convert"},
	{`{"root_index":0,"nodes":[{"type":"None"}]} x`, tvmffi.ErrValue, "Extra data"},
	{`{"root_index":0,"nodes":[{"type":"None"}]`, tvmffi.ErrValue, "Expecting ','"},
	{`{root_index:0}`, tvmffi.ErrValue, "Expecting a string"},
	{`{"root_index`, tvmffi.ErrValue, "Unterminated string"},
	{`{"root\x":0}`, tvmffi.ErrValue, "Invalid \\escape"},
	{`{"root_index":00,"nodes":[{"type":"None"}]}`, tvmffi.ErrValue, "line 1 column"},
	{`{"root_index":0,"nodes":[{"type":"int","data":01}]}`, tvmffi.ErrValue, "Expecting value"},
	{"{\"root_index\":0,\n\"nodes\":[{\"type\":\"int\",\"data\":\"a\x01\"}]}", tvmffi.ErrValue, "Invalid control character: line 2 column 33"},
	{`{"root_index":0,"nodes":[{"type":"ffi.String","data":"\x"}]}`, tvmffi.ErrValue, "Invalid \\escape"},
	{`{"root_index":0,"nodes":[{"type":"ffi.String","data":"\ud800"}]}`, tvmffi.ErrValue, "surrogate"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"YQ"}]}`, tvmffi.ErrValue, "node 0 holds bytes that are not in base64"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"YR=="}]}`, tvmffi.ErrValue, "node 0 holds bytes that are not in base64"},
	{`{"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"YQ==YQ=="}]}`, tvmffi.ErrValue, "node 0 holds bytes that are not in base64"},
	{`{"root_index":0,"nodes":[{"type":"DataType","data":"int0"}]}`, tvmffi.ErrValue, "node 0 has the data type int0 of 0 bits"},
	{`{"root_index":0,"nodes":[{"type":"DataType","data":"float00x4"}]}`, tvmffi.ErrValue, "node 0 has the data type float00x4 of 0 bits"},
	{`{"root_index":0,"nodes":[{"type":"DataType","data":"int8xvscale"}]}`, tvmffi.ErrValue, "the data type `int8xvscale` for another one"},
	{`{"root_index":0,"nodes":[{"type":"DataType","data":"custom[a99999999999]8"}]}`, tvmffi.ErrValue, "custom_type"}, // the library reads the name
	{`{"root_index":0,"nodes":[{"type":"DataType","data":"int8x18446744073709551620"}]}`, tvmffi.ErrValue, "18446744073709551620 is not a number of bits or lanes"},
}

const narrowText = `
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;

class NarrowObj : public Object {
 public:
  int8_t a = 0;
  uint16_t b = 0;
  float c = 0;
  uint64_t d = 0;
  Optional<int8_t> e;
  Optional<float> f;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("narrow.Narrow", NarrowObj, Object);
};

int64_t live = 0;

// An object that C++ makes of an int.
class MadeObj : public Object {
 public:
  int64_t of;
  explicit MadeObj(int64_t of = 0) : of(of) { ++live; }
  ~MadeObj() { --live; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("narrow.Made", MadeObj, Object);
};

class Made : public ObjectRef {
 public:
  explicit Made(int64_t of) { data_ = make_object<MadeObj>(of); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Made, ObjectRef, MadeObj);
};

namespace tvm {
namespace ffi {
template <>
inline constexpr bool use_default_type_traits_v<Made> = false;
template <>
struct TypeTraits<Made> : public ObjectRefWithFallbackTraitsBase<Made, int64_t> {
  static Made ConvertFallbackValue(int64_t of) { return Made(of); }
};
}  // namespace ffi
}  // namespace tvm

class MakerObj : public Object {
 public:
  Variant<Made, String> made{String("none")};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("narrow.Maker", MakerObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = reflection;
  refl::ObjectDef<MadeObj>().def_ro("of", &MadeObj::of);
  refl::ObjectDef<MakerObj>().def_ro("made", &MakerObj::made);
  refl::GlobalDef().def("narrow.live", [] { return live; });
  refl::ObjectDef<NarrowObj>()
      .def_ro("a", &NarrowObj::a, refl::DefaultValue(int64_t{0}))
      .def_ro("b", &NarrowObj::b, refl::DefaultValue(int64_t{0}))
      .def_ro("c", &NarrowObj::c, refl::DefaultValue(0.0))
      .def_ro("d", &NarrowObj::d, refl::DefaultValue(int64_t{0}))
      .def_ro("e", &NarrowObj::e, refl::DefaultValue(nullptr))
      .def_ro("f", &NarrowObj::f, refl::DefaultValue(nullptr));
}
`

// The setters of C++ fields cut off what does not fit, and the library's reader with them.
func TestFromJSONGraph_narrow(t *testing.T) {
	runtimetest.LoadProgram(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "narrow", narrowText)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ fields, want, text string }{
		{`"a":-128,"b":65535,"c":1e38`, "a=-128, b=65535, c=1e+38, d=0, e=None, f=None", ""},
		{`"a":127,"b":0,"c":-Infinity`, "a=127, b=0, c=-inf, d=0, e=None, f=None", ""},
		{`"a":true,"c":3`, "a=1, b=0, c=3, d=0, e=None, f=None", ""},
		{`"a":128`, "", "node 0: field a: 128 does not fit an int of 1 byte"},
		{`"a":-129`, "", "node 0: field a: -129 does not fit an int of 1 byte"},
		{`"b":-1`, "", "node 0: field b: -1 does not fit an int of 2 bytes"},
		{`"b":65536`, "", "node 0: field b: 65536 does not fit an int of 2 bytes"},
		{`"c":1e39`, "", "node 0: field c: 1e+39 does not fit a float of 4 bytes"},
		{`"d":9223372036854775807,"e":1,"f":2`, "a=0, b=0, c=0, d=9223372036854775807, e=-128, f=1e+38", ""},
		{`"d":-1`, "", "node 0: field d: -1 does not fit an unsigned int of 8 bytes"},
		{`"e":3`, "", "node 0: field e: 128 does not fit"},
		{`"f":4`, "", "node 0: field f: -1e+39 does not fit"},
	} {
		x, err := jsongraph.Unmarshal[*tvmffi.Object]([]byte(`{"root_index":0,"nodes":[{"type":"narrow.Narrow","data":{` + c.fields + `}},{"type":"int","data":-128},` +
			`{"type":"float","data":1e38},{"data":128,"type":"int"},{"type":"float","data":-1e39}]}`))
		if c.text != "" {
			runtimetest.WantError(t, err, tvmffi.ErrValue, c.text)
			continue
		}
		if err != nil || x.String() != "narrow.Narrow("+c.want+")" {
			t.Fatalf("%s became %v (%v), want %s", c.fields, x, err, c.want)
		}
		x.Release()
	}
	maker := runtimetest.Must[*tvmffi.Object](t)(jsongraph.Unmarshal[*tvmffi.Object]([]byte(`{"root_index":0,"nodes":[{"type":"narrow.Maker","data":{"made":1}},{"type":"int","data":300}]}`)))
	if live := runtimetest.Get[int64](t, "narrow.live"); maker.String() != "narrow.Maker(made=narrow.Made(of=300))" || live != 1 {
		t.Errorf("300 became %v, with %d live objects, want 1", maker, live)
	}
	maker.Release()
	if live := runtimetest.Get[int64](t, "narrow.live"); live != 0 {
		t.Errorf("%d objects that a setter made of 300 are left, want none", live)
	}
}

func TestFromJSONGraph_hostile(t *testing.T) {
	runtimetest.LoadProgram(t)
	t.Run("graphs", func(t *testing.T) {
		for _, c := range hostileGraphs {
			x, err := jsongraph.Unmarshal[tvmffi.Any]([]byte(c.text))
			runtimetest.WantError(t, err, c.kind, c.want)
			if err == nil {
				t.Errorf("the graph %s became %v", c.text, x)
			}
		}
	})
	nodes := func(n int, link func(i int) string) []byte {
		var b strings.Builder
		fmt.Fprintf(&b, `{"root_index":%d,"nodes":[{"type":"None"}`, n)
		for i := range n {
			fmt.Fprintf(&b, `,{"type":"ffi.Array","data":[%s]}`, link(i))
		}
		return []byte(b.String() + "]}")
	}
	t.Run("limits", func(t *testing.T) {
		deep := nodes(100000, func(i int) string { return fmt.Sprint(i) })
		_, err := jsongraph.Unmarshal[tvmffi.Any](deep)
		deepest := 1000
		if runtime.GOOS == "windows" { // there are 2 MB of stack
			deepest = 100
		}
		runtimetest.WantError(t, err, tvmffi.ErrValue, fmt.Sprintf("nodes are nested deeper than %d levels", deepest))
		_, err = jsongraph.Unmarshal[tvmffi.Any](deep, jsongraph.MaxDepth(100_000))
		runtimetest.WantError(t, err, tvmffi.ErrValue, fmt.Sprintf("nodes are nested deeper than %d levels", deepest))
		_, err = jsongraph.Unmarshal[tvmffi.Any](nodes(deepest-1, func(i int) string { return fmt.Sprint(i) }))
		if err != nil {
			t.Error(err)
		}
		_, err = jsongraph.Unmarshal[tvmffi.Any](nodes(20, func(i int) string { return fmt.Sprint(i) }), jsongraph.MaxDepth(20))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "nodes are nested deeper than 20 levels")
		// The longest path counts, whatever the order is.
		_, err = jsongraph.Unmarshal[tvmffi.Any]([]byte(`{"root_index":3,"nodes":[{"type":"None"},{"type":"ffi.Array","data":[0]},{"type":"ffi.Array","data":[1]},{"type":"ffi.Array","data":[1,2]}]}`), jsongraph.MaxDepth(3))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "nodes are nested deeper than 3 levels")
		// Each level refers twice to the level below.
		twice := func(i int) string { return fmt.Sprintf("%d,%[1]d", i) }
		_, err = jsongraph.Unmarshal[tvmffi.Any](nodes(60, twice))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "nodes are shared so often that it takes more than 134217728 visits", "MaxVisits")
		_, err = jsongraph.Unmarshal[tvmffi.Any](nodes(deepest-10, twice))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "visits")
		_, err = jsongraph.Unmarshal[tvmffi.Any](nodes(3, twice), jsongraph.MaxVisits(14))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "more than 14 visits")
		for visits, levels := range map[int]int{15: 3, math.MaxInt: 60} {
			if _, err := jsongraph.Unmarshal[tvmffi.Any](nodes(levels, twice), jsongraph.MaxVisits(visits)); err != nil {
				t.Error(err)
			}
		}
		_, err = jsongraph.Unmarshal[tvmffi.Any](deep, jsongraph.MaxNodes(100))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "more than 100 nodes")
		_, err = jsongraph.Unmarshal[tvmffi.Any](deep, jsongraph.MaxBytes(100))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "are more than the limit of 100")
		_, err = jsongraph.Unmarshal[tvmffi.Any]([]byte(`{"root_index":0,"nodes":[{"type":"None"}],"metadata":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + "}"))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "the JSON text is nested deeper than 1000 levels")
	})
}

// These structs are made types by different options.
type (
	derived struct {
		More string `ffi:"more"`
	}
	counter struct {
		N int64 `ffi:"n"`
	}
	converted struct {
		Length int64 `ffi:"length"`
	}
)

// No text ends the process, and a value that was read and can be written can be read again.
func FuzzFromJSONGraph(f *testing.F) {
	runtimetest.LoadDefine(f)
	for _, made := range []interface{ Register() error }{
		runtimetest.PointType,
		define.Object[derived]("gotest.Derived", define.ParentKey("define.Base")),
		define.Object[counter]("gotest.Counter", define.State[int]()),
	} {
		if err := made.Register(); err != nil {
			f.Fatal(err)
		}
	}
	length := define.Converter("length", func(v tvmffi.Any) (int64, error) { return tvmffi.As[int64](v) })
	if err := define.Object[converted]("gotest.Converted", length).Register(); err != nil {
		f.Log("without a type with a converter:", err) // libtvm_ffi is older than 0.1.11
	}
	for _, c := range hostileGraphs {
		f.Add([]byte(c.text))
	}
	for _, key := range runtimetest.Must[[]string](f)(tvmffi.TypeKeys()) {
		for _, data := range []string{`{}`, `0`, `"x"`, `[1]`, `null`} {
			f.Add([]byte(`{"root_index":0,"nodes":[{"type":"` + key + `","data":` + data + `},{"type":"int","data":1}]}`))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := jsongraph.Unmarshal[tvmffi.Any](text, jsongraph.MaxBytes(1<<16), jsongraph.MaxDepth(100))
		if err != nil {
			return
		}
		defer x.Release()
		if again, err := jsongraph.Marshal(x, nil); err == nil {
			y, err := jsongraph.Unmarshal[tvmffi.Any](again)
			if err != nil {
				t.Errorf("the graph %s was written as %s, which cannot be read: %v", text, again, err)
			}
			y.Release()
		}
	})
}

// mapGraph is a graph of a map with two entries, whose keys are those nodes.
func mapGraph(first, second string) string {
	return `{"root_index":0,"nodes":[{"type":"ffi.Map","data":[1,1,2,1]},{"type":` + first + `},{"type":` + second + `}]}`
}

// TestKeys: the keys of a map that differ remain, and keys that JSON cannot tell apart are an error.
func TestKeys(t *testing.T) {
	keys := []any{math.NaN(), math.Copysign(0, -1), 0.0, 0, false, "0", []byte("0"), nil, math.Inf(1), "", "\xff", "\xfe", "\xff\"", "\xfe\""}
	pairs := make([]tvmffi.Pair[any, int], len(keys))
	for i, key := range keys {
		pairs[i] = tvmffi.Pair[any, int]{Key: key, Value: i}
	}
	m, err := tvmffi.NewMap(tvmffi.PairsOf(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsongraph.Marshal(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := jsongraph.Unmarshal[*tvmffi.Map[tvmffi.Any, int]](text)
	if err != nil || back.Len() != len(pairs) {
		t.Errorf("%s: %v, %v", text, back, err)
	}
	nans, err := tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[float64, int]{Key: math.NaN(), Value: 1}, tvmffi.Pair[float64, int]{Key: math.Float64frombits(math.Float64bits(math.NaN()) + 2), Value: 2}))
	if err != nil || nans.Len() != 2 {
		t.Fatalf("%v, %v", nans, err)
	}
	if text, err := jsongraph.Marshal(nans, nil); !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "two keys that are NaN") {
		t.Errorf("%s, %v", text, err)
	}
	alpha, err := runtimetest.Call("testing.enum_variant_get", "Alpha")
	if err != nil {
		return // the testing library has no enums
	}
	byLibrary, err := tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[float64, tvmffi.Any]{Key: math.NaN(), Value: alpha}, tvmffi.Pair[float64, tvmffi.Any]{Key: math.Float64frombits(math.Float64bits(math.NaN()) + 2)}))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := jsongraph.Marshal(byLibrary, nil); !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "two entries with the key") {
		t.Errorf("%s, %v", text, err)
	}
}
