package jsonlines

import (
	"encoding/json"
	"errors"
	"strconv"
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
		`{"a": 1, "A": 2}`:                          "",
		`{"a": 1, "a": 1}`:                          `line 1, column 10: the key "a" occurs twice: remove one`,
		"{\n \"b\": [1, {\"x\":\"}\",\n\"x\":1}]}":  `line 3, column 1: the key "x" occurs twice in b.1: remove one`,
		`{"a": 1, "\u0061": 1}`:                     `the key "a" occurs twice`,
		`{"\\": 1, "\\": 1}`:                        `the key "\\" occurs twice`,
		`{"": null,"":true}`:                        `line 1, column 11: the key "" occurs twice`,
		`["\ud83d\ude00", "\\ud800", "\uFFFD"]`:     "",
		`["a", "x\ud800"]`:                          `line 1, column 9: \ud800 is half of a surrogate pair, expected a character`,
		`{"\uDC00": 1}`:                             `\uDC00 is half of a surrogate pair`,
		`["\ud800\u0041"]`:                          `\ud800 is half`,
		`["\ud800\ud800"]`:                          `\ud800 is half`,
		"[\n\"ab\xff\"]":                            `line 2, column 4: the byte 0xff is not UTF-8`,
		"[\"\xed\xa0\x80\"]":                        `line 1, column 3: the byte 0xed is not UTF-8`,
		`{"a":{"b":{"c":-1e3,"d":[],"c":{}}}}`:      `the key "c" occurs twice in a.b`,
		`{"a": [1e308, -1e400]}`:                    `line 1, column 15: the number -1e400 is outside the range of float64 in a.1: write one up to 1.8e308`,
		"[0e999, " + strings.Repeat("9", 310) + "]": "9999… is outside the range of float64 in 1",
		`[[[]],{},{"q":[[{"k":1 ,"k":2}]]}]`:        `the key "k" occurs twice in 2.q.0.0`,
	} {
		err := Check([]byte(text), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzCheck: the check ends for every text, and takes what Go writes of a map.
func FuzzCheck(f *testing.F) {
	f.Add(`{"a": [1, "\u0061", {"a": null}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		_ = Check([]byte(text), nil)
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(again, &v); err != nil {
			t.Errorf("%s: %v", again, err)
		}
	})
}

// TestCheck_into: what a type loses is an error, and nothing else.
func TestCheck_into(t *testing.T) {
	type inner struct {
		Format int
		Sizes  []int64 `json:"sizes"`
	}
	type Embedded struct{ Deep string }
	type file struct {
		inner
		*Embedded
		Name   string                `json:"name,omitempty"`
		Maybe  []*int                `json:"maybe"`
		By     map[string]inner      `json:"by"`
		Counts map[string]int        `json:"counts"`
		Raw    json.RawMessage       `json:"raw"`
		Skip   int                   `json:"-"`
		Texts  [2][]string           `json:"texts"`
		Any    any                   `json:"any"`
		Lists  []map[string]*[]inner `json:"lists"`
	}
	for text, want := range map[string]string{
		`{"format": 1, "name": "n", "by": {"a": {"Format": 1}, "A": {"FORMAT": 2}}, "counts": {"x": 1, "X": 2}, "skip": 1, "Skip": 2}`: "",
		`{"maybe": [null], "any": [null, {"a": 1, "A": 2}], "raw": {"a": [null], "A": 1}, "name": null, "texts": [null, null]}`:        "",
		`{"unknown": 1, "Unknown": 2}`:                     "",
		`{"format": 1, "Format": 2}`:                       `line 1, column 15: the keys "format" and "Format" are one key: remove one`,
		`{"name": "a", "NAME": "b"}`:                       `the keys "name" and "NAME" are one key`,
		`{"deep": "a", "Deep": "b"}`:                       `the keys "deep" and "Deep" are one key`,
		`{"\u017fizes": [], "sizes": []}`:                  `the keys "ſizes" and "sizes" are one key`,
		`{"by": {"a": {"sizes": [], "Sizes": []}}}`:        `the keys "sizes" and "Sizes" in by.a are one key`,
		`{"lists": [{"k": [{"format": 1, "FORMAT": 1}]}]}`: `the keys "format" and "FORMAT" in lists.0.k.0 are one key`,
		`{"sizes": [1, null]}`:                             `line 1, column 15: found null in sizes.1, expected one of the type int64`,
		`{"counts": {"a": null}}`:                          `found null in counts.a, expected one of the type int`,
		`{"texts": [["a", null], []]}`:                     `found null in texts.0.1, expected one of the type string`,
	} {
		var f file
		err := Unmarshal([]byte(text), &f)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestFloat(t *testing.T) {
	for text, bits := range map[string]int{"1e-400": 64, "-0.00001e-400": 64, "1e-50": 32, "0x1p-2000": 64, "1e400": 64, "1e39": 32} {
		if x, err := Float(text, bits); !errors.Is(err, strconv.ErrRange) {
			t.Errorf("%s is %v, %v", text, x, err)
		}
	}
	for text, want := range map[string]float64{"0": 0, "-0": 0, "0e-400": 0, "0.000E+5": 0, "0x0p-5": 0, "5e-324": 5e-324, "1e-3": 1e-3, "0x1p-2": 0.25, "+1": 1} {
		if x, err := Float(text, 64); x != want || err != nil {
			t.Errorf("%s is %v, %v", text, x, err)
		}
	}
}
