//go:build tvmffi_liveness

package jsongraph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

const long = "a text of more than seven bytes"

//go:noinline
func list() *tvmffi.List[any] { return runtimetest.Got(tvmffi.NewList[any](int64(1), long)) }

//go:noinline
func graph(x any) []byte {
	b := runtimetest.Got(jsongraph.Marshal(x, map[string]any{"by": list()}))
	return append([]byte(nil), b...)
}

func TestLiveness(t *testing.T) {
	runtimetest.LoadProgram(t)
	print := `[1, "` + long + `"]`
	type list1 = *tvmffi.List[any]
	runtimetest.Alive(t, []runtimetest.Use{
		{"Marshal", func() any { return strings.Count(string(runtimetest.Got(jsongraph.Marshal(list(), nil))), long) }, 1},
		{"Marshal of a slice", func() any { return strings.Count(string(runtimetest.Got(jsongraph.Marshal([]any{list()}, nil))), long) }, 1},
		{"Marshal of metadata", func() any { return strings.Contains(string(runtimetest.Got(jsongraph.Metadata(graph(list())))), long) }, true},
		{"Unmarshal", func() any { return fmt.Sprint(runtimetest.Got(jsongraph.Unmarshal[list1](graph(list())))) }, print},
		{"Unmarshal of an Any", func() any { return fmt.Sprint(runtimetest.Got(jsongraph.Unmarshal[tvmffi.Any](graph(list())))) }, print},
		{"Graph.MarshalJSON", func() any {
			return len(runtimetest.Got(jsongraph.Graph[list1]{Value: list()}.MarshalJSON())) > len(long)
		}, true},
		{"Graph.MarshalBinary", func() any {
			return len(runtimetest.Got(jsongraph.Graph[list1]{Value: list()}.MarshalBinary())) > len(long)
		}, true},
		{"Graph.UnmarshalJSON", func() any {
			var g jsongraph.Graph[list1]
			runtimetest.Got(0, g.UnmarshalJSON(graph(list())))
			return fmt.Sprint(g.Value)
		}, print},
		{"Graph.UnmarshalBinary", func() any {
			var g jsongraph.Graph[list1]
			runtimetest.Got(0, g.UnmarshalBinary(graph(list())))
			return fmt.Sprint(g.Value)
		}, print},
	})
}
