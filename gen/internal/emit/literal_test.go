package emit

import (
	"bytes"
	"math"
	"testing"

	"github.com/dave/jennifer/jen"
)

// TestLiteral: a constant has the value of the default, also its sign.
func TestLiteral(t *testing.T) {
	for want, v := range map[string]any{
		"-9223372036854775808": int64(math.MinInt64), "0.1": 0.1, "1e+300": 1e300, "0": int64(0), "true": true, `"a\x00b"`: "a\x00b", "math.Copysign(0, -1)": math.Copysign(0, -1),
		"0.0": 0.0,
	} {
		var b bytes.Buffer
		if err := jen.Var().Id("x").Op("=").Add(literal(v)).Render(&b); err != nil || b.String() != "var x = "+want {
			t.Errorf("%v is %s, %v, want %s", v, b.String(), err, want)
		}
	}
}
