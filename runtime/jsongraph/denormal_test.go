package jsongraph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// floats returns 3,000 floats of all magnitudes, most of them denormal.
func floats() []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, 1e-323, 1e-310, 2.2250738585072009e-308, 2.2250738585072011e-308, 2.2250738585072014e-308, 2.2250738585072019e-308, 4.450147717014403e-308, math.MaxFloat64, -1e300, 0.1}
	for len(all) < 600 { // each number of bits of a denormal float
		all = append(all, math.Float64frombits(r.Uint64()>>(12+len(all)%52)|r.Uint64()&(1<<63)))
	}
	for len(all) < 700 { // around the first normal ones
		all = append(all, math.Float64frombits(0x0010_0000_0000_0000+r.Uint64N(64)-32))
	}
	for len(all) < 1000 {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			all = append(all, f)
		}
	}
	return all
}

// same compares floats by their bits.
func same(a, b []float64) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d floats, want %d", len(a), len(b))
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return fmt.Errorf("%g came back as %g", b[i], a[i])
		}
	}
	return nil
}

// floatsOf reads JSON text in which a float without a fraction is an int.
func floatsOf[T any](text []byte) (T, error) {
	v, err := tvmffi.ParseJSON[tvmffi.Any](text)
	if err != nil {
		var none T
		return none, err
	}
	defer v.Release()
	return tvmffi.Convert[T](v)
}

// TestDenormals writes floats of which the parser of the library refuses the shortest text,
// and reads them back.
func TestDenormals(t *testing.T) {
	runtimetest.Load(t)
	all := floats()
	back := func(name string, got []float64, err error) {
		t.Helper()
		if err == nil {
			err = same(got, all)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	graph := runtimetest.Must[[]byte](t)(jsongraph.Marshal(all, map[string]any{"all": all}))
	got, err := jsongraph.Unmarshal[[]float64](graph)
	back("a graph", got, err)
	metadata := runtimetest.Must[[]byte](t)(jsongraph.Metadata(graph))
	inside, err := floatsOf[map[string][]float64](metadata)
	back("metadata", inside["all"], err)
	for _, indent := range []int{0, 2} {
		text := runtimetest.Must[[]byte](t)(tvmffi.StringifyJSON(all, indent))
		got, err = floatsOf[[]float64](text)
		back("JSON", got, err)
	}
	for _, f := range all[:200] { // alone, and beside a text that looks like one
		text := runtimetest.Must[[]byte](t)(jsongraph.Marshal([]any{f, "a \"5e-324\" b", int64(3)}, nil))
		list, err := jsongraph.Unmarshal[[]any](text)
		if err != nil || list[0] != f || list[1] != "a \"5e-324\" b" || list[2] != int64(3) {
			t.Fatalf("%g came back as %v, %v", f, list, err)
		}
	}
	// Texts that others wrote are read, too.
	if list, err := tvmffi.ParseJSON[[]float64]([]byte(`[5e-324, -4.9406564584124654e-324, 1E-310, 0.0]`)); err != nil || list[0] != 5e-324 || list[1] != -5e-324 || list[2] != 1e-310 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestDenormals_anyForm reads numbers below the normal ones in other forms than the shortest.
func TestDenormals_anyForm(t *testing.T) {
	runtimetest.Load(t)
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for _, text := range []string{
		"0." + zeros(310) + "5", "-0." + zeros(322) + "7", "1" + zeros(90) + "e-400", "0." + zeros(200) + "3e-115", "1e-0310", "1E-0310",
		"123456789" + zeros(700) + "e-1020", "2.2250738585072011e-308", "0." + zeros(307) + "22250738585072011", "1e-00000000000000000000310",
	} {
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || want == 0 {
			t.Fatalf("%s is %v (%v)", text, want, err)
		}
		got, err := tvmffi.ParseJSON[float64]([]byte(text))
		if err != nil || got != want {
			t.Errorf("ParseJSON of %.40s: %v, %v, want %v", text, got, err, want)
		}
		got, err = jsongraph.Unmarshal[float64]([]byte(`{"nodes":[{"type":"ffi.String","data":"e-3"},{"type":"float","data":` + text + `}],"root_index":1}`))
		if err != nil || got != want {
			t.Errorf("the graph with %.40s: %v, %v, want %v", text, got, err, want)
		}
	}
}
