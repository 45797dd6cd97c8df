package testing_test

import (
	"encoding/json"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestMarshalJSON writes generated types: those with parents, enums, and variants.
func TestMarshalJSON(t *testing.T) {
	load(t)
	derived := check.Value(lib.NewTestCxxClassDerived(1, 2, 0.5))(t)
	defer derived.Release()
	pair := check.Value(lib.NewTestIntPair(3, 4))(t)
	defer pair.Release()
	const text = `{"v_i64":1,"v_i32":2,"v_f64":0.5,"v_f32":8.0}`
	for _, c := range []struct {
		x    any
		want string
	}{
		{derived, text},
		{tvmffi.Upcast[*lib.TestCxxClassBase](derived), text}, // text of the dynamic type
		{lib.TestCxxClassBaseRef(derived), text},
		{pair, `{"a":3,"b":4}`},
		{[]*lib.TestIntPair{pair, nil}, `[{"a":3,"b":4},null]`},
		{lib.IntOrStringOfInt(7), "7"},
		{lib.IntOrStringOrIntArrayOfIntArray(tvmffi.Of[int64](1, 2)), "[1,2]"},
		{struct{ V lib.IntOrString }{lib.IntOrStringOfString("s")}, `{"V":"s"}`},
	} {
		got, err := json.Marshal(c.x)
		check.OK(t, err)
		check.Equal(t, string(got), c.want)
	}
}
