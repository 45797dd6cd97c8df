package server

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestCalls: the parts of a text are the same message, wherever the text is cut.
func TestCalls(t *testing.T) {
	const (
		begin  = "<tool_call>\n{\"name\": \""
		middle = `", "arguments": `
		end    = "}\n</tool_call>"
	)
	type call struct{ name, arguments string }
	for text, want := range map[string]struct {
		content, finish string
		calls           []call
	}{
		"":                                  {"", "stop", nil},
		"Hello":                             {"Hello", "stop", nil},
		"a < b <tool":                       {"a < b <tool", "stop", nil},
		begin + "f" + middle + "{}" + end:   {"", "tool_calls", []call{{"f", "{}"}}},
		"x" + begin + "f" + middle + "{}":   {"x", "tool_calls", []call{{"f", "{}"}}},
		begin + "f" + middle + `{"a": "}`:   {"", "stop", []call{{"f", `{"a": "}`}}}, // cut off
		begin + "f" + middle:                {"", "stop", []call{{"f", ""}}},
		"a" + begin + "f":                   {"a" + begin + "f", "stop", nil},
		begin + "f" + middle + "{}" + "}\n": {"", "tool_calls", []call{{"f", "{}"}}},
		begin + "f" + middle + `{"a": [{"}": "\"]}\\"}], "é": "\\"}` + end + begin + "g" + middle + `{"b": {}}` + end + "bye": {
			"bye", "tool_calls", []call{{"f", `{"a": [{"}": "\"]}\\"}], "é": "\\"}`}, {"g", `{"b": {}}`}}},
	} {
		for size := 1; size <= len(text)+1; size++ {
			q := &request{}
			if err := json.Unmarshal([]byte(`{`+tools+`}`), q); err != nil {
				t.Fatal(err)
			}
			split, got, rest := q.splitter(), message{}, []rune(text)
			for len(rest) > 0 {
				n := min(size, len(rest))
				parts, _ := split(string(rest[:n]), "")
				for _, part := range parts {
					got.join(part)
				}
				rest = rest[n:]
			}
			parts, finish := split("", "stop")
			for _, part := range parts {
				got.join(part)
			}
			said := ""
			if got.Content != nil {
				said = string(*got.Content)
			}
			if said != want.content || finish != want.finish || len(got.ToolCalls) != len(want.calls) {
				t.Fatalf("%q by %d: %q %s %+v", text, size, said, finish, got.ToolCalls)
			}
			for i, c := range got.ToolCalls {
				if f := c.Function; c.Index != i || !strings.HasPrefix(c.ID, "call_") || c.Type != "function" || f.Name != want.calls[i].name || f.Arguments != want.calls[i].arguments {
					t.Errorf("%q by %d: %+v, want %+v", text, size, c, want.calls[i])
				}
			}
		}
	}
}

// TestCalls_stream: arguments come in parts. The first one of a call has its name, and no other one has.
func TestCalls_stream(t *testing.T) {
	_, url := start(t, nil)
	_, events, err := post(t.Context(), url, tools+`, "tool_choice": "required", "parallel_tool_calls": false, "seed": 1, "stream": true`)
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`"delta":\{"tool_calls":\[\{"index":0,"id":"call_\w+","type":"function","function":\{"name":"weather","arguments":""\}\}\]\}`)
	next := regexp.MustCompile(`"delta":\{"tool_calls":\[\{"index":0,"function":\{"arguments":"[^}]*"\}\}\]\}`)
	if n, m := len(first.FindAllString(events, -1)), len(next.FindAllString(events, -1)); n != 1 || m < 3 || !strings.Contains(events, `"finish_reason":"tool_calls"`) {
		t.Errorf("%d parts begin a call, and %d go on: %s", n, m, events)
	}
}
