package check_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// crosses are the rows of docs/CROSSES.md with a value that a kernel was given, and the recorded calls.
var crosses = map[string]string{
	"2^40 for int32": "add, int32 overflow", "-2^31-1 for int32": "add, int32 underflow", "128 for int8": "ints, too large for int8",
	"256 for uint8": "ints, too large for uint8", "-1 for uint8": "ints, too small for uint8", "true for int32": "add, bool for an int",
	"1.5 for int32": "add, float for an int", "nil for int32": "add, None for an int", "text for int32": "add, text for an int",
	"7 for bool": "mat, int for a bool", "1000 for bool": "mat, large int for a bool", "1 for float32": "mat, int for a float",
	"false for float32": "mat, bool for a float", "nil for float32": "mat, None for a float", "text for float64": "ints, text for float64",
}

// TestCrosses takes the column CuTe of docs/CROSSES.md from what the kernels said. An accepted value has no cell of what arrived:
// no GPU has run them.
func TestCrosses(t *testing.T) {
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	head := regexp.MustCompile(`Recorded on (\S+) with (.+) by`).FindStringSubmatch(string(data))
	if head == nil {
		t.Fatal("the file does not say when it was recorded")
	}
	said := messages(t, recorded)
	cells := map[string]string{}
	for row, call := range crosses {
		cell, ok := said[call]
		if !ok {
			t.Errorf("%s: there is no recorded call %q", row, call)
		}
		if kind, message, failed := strings.Cut(cell, ": "); failed {
			cell = crosstest.Failed(tvmffi.NewError(kind, regexp.MustCompile("`.*`").ReplaceAllString(message, "`...`")))
		}
		cells[row] = cell
	}
	crosstest.Check(t, "CuTe", head[2]+", recorded on "+head[1], cells)
}
