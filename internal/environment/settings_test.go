package environment

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestStreamTypes: the C file of a shared library has the same devices.
func TestStreamTypes(t *testing.T) {
	text, err := os.ReadFile("../../gen/internal/emit/exportmain.go")
	if err != nil {
		t.Fatal(err)
	}
	types := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(streamTypes), "[]")), ", ")
	for _, line := range []string{"types[] = {" + types + "};", fmt.Sprintf("id < %d;", maxStreamDevice)} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the C file has no %s", line)
		}
	}
}
