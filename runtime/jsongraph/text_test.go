package jsongraph_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// TestMarshal_text fixes the text: a value occurs once, before what refers to it, and a
// whole float stays a float.
func TestMarshal_text(t *testing.T) {
	runtimetest.LoadProgram(t)
	node := func(text string) string { return `{"nodes":[` + text + `],"root_index":0}` }
	many := func(nodes ...string) string {
		return `{"nodes":[` + strings.Join(nodes, ",") + `],"root_index":` + string(rune('0'+len(nodes)-1)) + `}`
	}
	for _, c := range []struct {
		x    any
		want string
	}{
		{nil, node(`{"type":"None"}`)},
		{true, node(`{"type":"bool","data":true}`)},
		{-7, node(`{"type":"int","data":-7}`)},
		{0.0, node(`{"type":"float","data":0.0}`)},
		{math.Copysign(0, -1), node(`{"type":"float","data":-0.0}`)},
		{1.0, node(`{"type":"float","data":1.0}`)},
		{-2.5, node(`{"type":"float","data":-2.5e+00}`)},
		{float64(1<<53 - 1), node(`{"type":"float","data":9007199254740991.0}`)},
		{float64(1 << 53), node(`{"type":"float","data":9.007199254740992e+15}`)},
		{1e300, node(`{"type":"float","data":1e+300}`)},
		{math.NaN(), node(`{"type":"float","data":NaN}`)},
		{math.Inf(1), node(`{"type":"float","data":Infinity}`)},
		{math.Inf(-1), node(`{"type":"float","data":-Infinity}`)},
		{tvmffi.CUDA(3), node(`{"type":"Device","data":[2,3]}`)},
		{tvmffi.Float32, node(`{"type":"DataType","data":"float32"}`)},
		{"", node(`{"type":"ffi.String","data":""}`)},
		{"a\x00\x1f\"\\/\u00e9\x7f", node(`{"type":"ffi.String","data":"a\u0000\u001f\"\\/é` + "\x7f" + `"}`)},
		{[]byte("\x00\xff"), node(`{"type":"ffi.Bytes","data":"AP8="}`)},
		{[]any{}, node(`{"type":"ffi.Array","data":[]}`)},
		{[]any{1, "x", 1, "x", []byte("x")}, many(`{"type":"int","data":1}`, `{"type":"ffi.String","data":"x"}`, `{"type":"ffi.Bytes","data":"eA=="}`,
			`{"type":"ffi.Array","data":[0,1,0,1,2]}`)},
		{[]any{math.NaN(), math.NaN(), 0.0, math.Copysign(0, -1)}, many(`{"type":"float","data":NaN}`, `{"type":"float","data":0.0}`, `{"type":"float","data":-0.0}`,
			`{"type":"ffi.Array","data":[0,0,1,2]}`)},
		{map[string]any{"k": []any{nil}}, many(`{"type":"ffi.String","data":"k"}`, `{"type":"None"}`, `{"type":"ffi.Array","data":[1]}`, `{"type":"ffi.Map","data":[0,2]}`)},
	} {
		text, err := jsongraph.Marshal(c.x, nil)
		if err != nil || string(text) != c.want {
			t.Errorf("%v:\ngot  %s, %v\nwant %s", c.x, text, err, c.want)
		}
	}
	shared := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1))
	defer shared.Release()
	text, err := jsongraph.Marshal([]any{shared, shared}, nil)
	if want := many(`{"type":"int","data":1}`, `{"type":"ffi.Array","data":[0]}`, `{"type":"ffi.Array","data":[1,1]}`); err != nil || string(text) != want {
		t.Errorf("what is shared is written as\n%s, %v, want\n%s", text, err, want)
	}
	shape := runtimetest.Must[*tvmffi.Shape](t)(tvmffi.NewShape(4, 5))
	defer shape.Release()
	if text, err := jsongraph.Marshal(shape, nil); err != nil || string(text) != node(`{"type":"ffi.Shape","data":[4,5]}`) {
		t.Errorf("a shape is written as %s, %v", text, err)
	}
}

// TestMarshal_dataTypes writes all data types of some widths: each is read as it was, or refused.
func TestMarshal_dataTypes(t *testing.T) {
	runtimetest.Load(t)
	written := 0
	for code := range 256 {
		for _, bits := range []uint8{0, 1, 4, 6, 8, 16, 32, 64, 128, 255} {
			for _, lanes := range []uint16{0, 1, 2, 4, 256, 32768, 65535} {
				x := tvmffi.DataType{Code: uint8(code), Bits: bits, Lanes: lanes}
				text, err := jsongraph.Marshal([]any{x}, nil)
				if err != nil {
					runtimetest.WantError(t, err, tvmffi.ErrValue, "the data type "+x.String()+" has no name that every reader of JSON graphs takes")
					continue
				}
				written++
				if back, err := jsongraph.Unmarshal[[]tvmffi.DataType](text); err != nil || back[0] != x {
					t.Fatalf("%v was written as %s and read as %v, %v", x, text, back, err)
				}
			}
		}
	}
	if written < 200 {
		t.Errorf("only %d data types were written", written)
	}
	for _, x := range []tvmffi.DataType{tvmffi.Complex64, {Code: 0, Lanes: 1}, {Code: 2, Bits: 32}, {Code: 77, Bits: 8, Lanes: 1}} {
		if text, err := jsongraph.Marshal(x, nil); err == nil {
			t.Errorf("%v was written as %s", x, text)
		}
	}
}
