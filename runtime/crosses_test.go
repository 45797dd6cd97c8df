package tvmffi_test

import (
	"encoding/json"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// TestCrosses_go gives each value to a Go func by a call through TVM-FFI.
func TestCrosses_go(t *testing.T) {
	runtimetest.Balanced(t)
	through := func(f any) func(args ...any) (tvmffi.Any, error) {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		t.Cleanup(fn.Release)
		return fn.Call
	}
	echo := through(func(x any) any { return x })
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) { return echo(x) })
	typed := map[string]func(x any) (tvmffi.Any, error){}
	for name, f := range map[string]any{
		"int8": func(x int8) int8 { return x }, "uint8": func(x uint8) uint8 { return x }, "int32": func(x int32) int32 { return x },
		"int64": func(x int64) int64 { return x }, "uint64": func(x uint64) uint64 { return x }, "bool": func(x bool) bool { return x },
		"float32": func(x float32) float32 { return x }, "float64": func(x float64) float64 { return x },
		"text": func(x string) string { return x }, "bytes": func(x []byte) []byte { return x },
		"dtype":  func(x tvmffi.DataType) tvmffi.DataType { return x },
		"device": func(x tvmffi.Device) tvmffi.Device { return x },
	} {
		call := through(f)
		typed[name] = func(x any) (tvmffi.Any, error) { return call(x) }
	}
	crosstest.Narrow(t, cells, typed)
	crosstest.Raise(t, cells, func(kind, message string) error {
		_, err := through(func() error { return tvmffi.NewError(kind, message) })()
		return err
	})
	crosstest.Check(t, "Go", nativetest.Version(), cells)
}

// TestCrosses_cpp gives each value to a C++ function that returns it.
func TestCrosses_cpp(t *testing.T) {
	runtimetest.Balanced(t)
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) { return runtimetest.Call("testing.echo", x) })
	typed := map[string]func(x any) (tvmffi.Any, error){}
	for name, f := range map[string]string{
		"int8": "calls.int8", "uint8": "calls.uint8", "int32": "calls.int32", "int64": "testing.schema_id_int", "uint64": "calls.uint64",
		"bool": "testing.schema_id_bool", "float32": "calls.float32", "float64": "testing.schema_id_float", "text": "testing.schema_id_string",
		"bytes": "testing.schema_id_bytes", "dtype": "testing.schema_id_dtype", "device": "testing.schema_id_device",
	} {
		typed[name] = func(x any) (tvmffi.Any, error) { return runtimetest.Call(f, x) }
	}
	crosstest.Narrow(t, cells, typed)
	crosstest.Raise(t, cells, func(kind, message string) error {
		_, err := runtimetest.Call("calls.fail", kind, message)
		return err
	})
	crosstest.Check(t, "C++", nativetest.Version(), cells)
}

// TestCrosses_jsongraph writes each value as a JSON graph and reads it.
func TestCrosses_jsongraph(t *testing.T) {
	runtimetest.Balanced(t)
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) {
		graph, err := jsongraph.Marshal(x, nil)
		if err != nil {
			return tvmffi.Any{}, err
		}
		return jsongraph.Unmarshal[tvmffi.Any](graph)
	})
	crosstest.Check(t, "JSON graph", nativetest.Version(), cells)
}

// TestCrosses_ffijson writes each value with the writer of the library and reads it with its parser.
func TestCrosses_ffijson(t *testing.T) {
	runtimetest.Balanced(t)
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) {
		text, err := tvmffi.StringifyJSON(x, 0)
		if err != nil {
			return tvmffi.Any{}, err
		}
		return tvmffi.ParseJSON[tvmffi.Any](text)
	})
	crosstest.Check(t, "ffi.json", nativetest.Version(), cells)
}

// TestCrosses_json writes each value with encoding/json, as an Any, and reads it as an Any.
func TestCrosses_json(t *testing.T) {
	runtimetest.Balanced(t)
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) {
		var back tvmffi.Any
		a, err := tvmffi.AnyOf(x)
		if err != nil {
			return back, err
		}
		defer a.Release()
		text, err := json.Marshal(a)
		if err != nil {
			return back, err
		}
		err = json.Unmarshal(text, &back)
		return back, err
	})
	crosstest.Check(t, "encoding/json", nativetest.Version(), cells)
}
