package define_test

import (
	"os"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
)

// TestDefineSpeed compares operations of C++ on a type made in Go and on a class with the
// same fields. If TVMFFI_TEST_SPEED is set, both are measured in turn many times, the fastest runs are compared,
// and the test fails where the type made in Go is too slow. Otherwise each operation runs a few times.
func TestDefineSpeed(t *testing.T) {
	strict := os.Getenv("TVMFFI_TEST_SPEED") != ""
	runtimetest.LoadDefine(t)
	runtimetest.NeedFunctions(t, "ffi.RecursiveEq", "ffi.DeepCopy")
	runtimetest.NewPoint(t, runtimetest.Point{Name: "p"}).Release()
	for _, c := range []struct {
		op   string
		most float64
	}{{"make", 1.1}, {"set_int", 1.1}, {"get_int", 1.1}, {"set_string", 1.2}, {"get_string", 1.2}, {"set_object", 1.2}, {"get_object", 1.2}, {"deep_copy", 1.2}, {"equal", 1.2}} {
		n, times := 100, 1
		if strict {
			n, times = 20000, 41
		}
		if strict && c.op == "deep_copy" {
			n = 2000
		}
		var own, cpp []float64
		for range times {
			own = append(own, runtimetest.MustCall(t, "define.bench", "gotest.Point", c.op, n).Value().(float64))
			cpp = append(cpp, runtimetest.MustCall(t, "define.bench", "define.Point", c.op, n).Value().(float64))
		}
		ratio := slices.Min(own) / slices.Min(cpp)
		t.Logf("%-10s %7.2f ns, in C++ %7.2f ns, ratio %.2f, at most %.1f", c.op, slices.Min(own), slices.Min(cpp), ratio, c.most)
		if strict && ratio > c.most {
			t.Errorf("%s: %.2f times the time of the C++ class", c.op, ratio)
		}
	}
}
