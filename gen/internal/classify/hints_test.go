package classify

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

func TestNameAfter(t *testing.T) {
	typ := func(name string) schema.TypeSchema { return schema.TypeSchema{Name: name} }
	fields := []schema.Field{{Name: "color", Type: typ("ffi.String")}, {Name: "petals", Type: typ("int")}}
	for _, test := range []struct {
		params []schema.Param
		want   string
	}{
		{[]schema.Param{{Type: typ("ffi.String")}, {Type: typ("int")}}, "color petals "},
		{[]schema.Param{{Type: typ("int")}, {Type: typ("ffi.String")}}, "  "},
		{[]schema.Param{{Type: typ("ffi.String")}}, " "},
		{[]schema.Param{{Type: typ("ffi.String"), Name: "hue"}, {Type: typ("int")}}, "hue  "},
	} {
		nameAfter(test.params, fields)
		got := ""
		for _, p := range test.params {
			got += p.Name + " "
		}
		if got != test.want {
			t.Errorf("names %q, want %q", got, test.want)
		}
	}
}
