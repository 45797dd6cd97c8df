package jsongraph_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// TestMarshal_text fixes the text: a value occurs once, before what refers to it, and a
// whole float stays a float. What is read is written as the same text.
func TestMarshal_text(t *testing.T) {
	runtimetest.Balanced(t)
	runtimetest.Values(t, func(r values.Row, x any) {
		text, err := jsongraph.Marshal(x, nil)
		if (err == nil) != (r.Graph != "") || string(text) != r.GraphText() {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", r.Name, text, err, r.GraphText())
		}
		if err != nil {
			return
		}
		back, err := jsongraph.Unmarshal[tvmffi.Any](text)
		runtimetest.WantBack(t, "a graph", r, x, back, err)
		if again, err := jsongraph.Marshal(back, nil); err != nil || string(again) != r.GraphText() {
			t.Errorf("%s was read and written as %s, %v", r.Name, again, err)
		}
		back.Release()
	})
	shared := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1))
	defer shared.Release()
	text, err := jsongraph.Marshal([]any{shared, shared}, nil)
	if want := `{"nodes":[{"type":"int","data":1},{"type":"ffi.Array","data":[0]},{"type":"ffi.Array","data":[1,1]}],"root_index":2}`; err != nil || string(text) != want {
		t.Errorf("what is shared is written as\n%s, %v, want\n%s", text, err, want)
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
}
