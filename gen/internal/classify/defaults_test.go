package classify

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// TestConstant_textEnum has texts that are the value of one member and the name of another: the value decides.
func TestConstant_textEnum(t *testing.T) {
	enum := &Named{"Season", hints.Enum{Values: map[string]hints.Constant{"warm": {Value: "cold"}, "cold": {Value: "warm"}}}}
	for range 20 { // the order of a map differs
		d, err := new(Items).constant(schema.TypeSchema{Name: "ffi.String"}, hints.Constant{Value: "warm"}, enum)
		if err != nil || d.Member != "cold" {
			t.Fatalf("%+v, %v", d, err)
		}
	}
}
