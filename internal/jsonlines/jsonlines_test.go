package jsonlines

import (
	"encoding/json"
	"strings"
	"testing"
)

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

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": [{"a": 2}, {"a": 3}], "c": {"a": {}, "": 0, "\"": 1, "\\": 2}}`: "",
		`[]`: "", ` 1 `: "", `"{\"a\":1,\"a\":2}"`: "", `{"a": 1, "a": }`: "", `{"a":1,"a":2`: "", ``: "", `{"a":1} {"a":2}`: "",
		`{"a": 1, "A": 2}`:                         "",
		`{"a": 1, "a": 1}`:                         `line 1, column 10: the key "a" occurs twice: remove one`,
		"{\n \"b\": [1, {\"x\":\"}\",\n\"x\":1}]}": `line 3, column 1: the key "x" occurs twice in b.1: remove one`,
		`{"a": 1, "\u0061": 1}`:                    `the key "a" occurs twice`,
		`{"\\": 1, "\\": 1}`:                       `the key "\\" occurs twice`,
		`{"": null,"":true}`:                       `line 1, column 11: the key "" occurs twice`,
		`["\ud83d\ude00", "\\ud800", "\uFFFD"]`:    "",
		`["a", "x\ud800"]`:                         `line 1, column 9: \ud800 is half of a surrogate pair, expected a character`,
		`{"\uDC00": 1}`:                            `\uDC00 is half of a surrogate pair`,
		`["\ud800\u0041"]`:                         `\ud800 is half`,
		`["\ud800\ud800"]`:                         `\ud800 is half`,
		"[\n\"ab\xff\"]":                           `line 2, column 4: the byte 0xff is not UTF-8`,
		"[\"\xed\xa0\x80\"]":                       `line 1, column 3: the byte 0xed is not UTF-8`,
		`{"a":{"b":{"c":-1e3,"d":[],"c":{}}}}`:     `the key "c" occurs twice in a.b`,
		`[[[]],{},{"q":[[{"k":1 ,"k":2}]]}]`:       `the key "k" occurs twice in 2.q.0.0`,
	} {
		err := Check([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzCheck: the check ends for every text, and takes what Go writes of a map.
func FuzzCheck(f *testing.F) {
	f.Add(`{"a": [1, "\u0061", {"a": null}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		_ = Check([]byte(text))
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(again); err != nil {
			t.Errorf("%s: %v", again, err)
		}
	})
}
