package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzParseJSON compares the reader with encoding/json. It may refuse more: a key that occurs
// twice, invalid UTF-8, deep nesting.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, -2.5e3, null, true, false], "é": {}, "": "x\u00e9\n\"\\\/"}`, ` [ ] `, `"\ud800"`, `"\ud83d\ude00"`, `-0`, "\"\x7f\"",
		``, ` `, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `[,]`, `{1:2}`, `{"a" 1}`, `[1}`, `[] x`, `01`, `1.`, `+1`, `nul`, `nullx`, `tru e`,
		"[\x00]", "[]\x00", "\"\t\"", `"a`, `"a\`, `"a\"`, `"\q"`, `"\u12"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want, got any
		invalid := json.Unmarshal([]byte(text), &want)
		n, err := parseJSON(text)
		if err != nil {
			refused := strings.Contains(err.Error(), "occurs twice") || strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "deeper")
			if invalid == nil && !refused {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var b strings.Builder
		n.compact(&b)
		if !json.Valid([]byte(text)) || invalid == nil && (json.Unmarshal([]byte(b.String()), &got) != nil || !reflect.DeepEqual(got, want)) {
			t.Fatalf("%q: read as %s, want the error %v or %v", text, b.String(), invalid, want)
		}
	})
}
