package jsonlines

import "testing"

func TestMarshal(t *testing.T) {
	v := map[string]any{
		"empty": []int{},
		"list":  []any{1, []int{}, map[string]any{"a": []int{1, 2}, "b": "<x>,\n\t\t\t]"}},
		"map":   map[string]any{"k": map[string]int{"x": 1}, "l": "}"},
	}
	const want = `{
	"empty": [],
	"list": [
		1,
		[],
		{"a": [1, 2], "b": "<x>,\n\t\t\t]"}
	],
	"map": {
		"k": {"x": 1},
		"l": "}"
	}
}
`
	if got, err := Marshal(v); err != nil || string(got) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}
