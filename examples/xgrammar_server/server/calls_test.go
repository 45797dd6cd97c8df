package server

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/xgrammar"
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
		// What is between calls, or behind the last one, is left out.
		begin + "f" + middle + "{}" + end + "\n" + begin + "g" + middle + "{}" + end + "\n": {"", "tool_calls", []call{{"f", "{}"}, {"g", "{}"}}},
		begin + "f" + middle + "{}" + end + "\n\n<tool!":                                    {"\n\n<tool!", "tool_calls", []call{{"f", "{}"}}},
		"\n" + begin + "f" + middle + "{}" + end + "\n" + begin + "g":                       {"\n" + begin + "g", "tool_calls", []call{{"f", "{}"}}},
	} {
		for size := 1; size <= len(text)+1; size++ {
			got := splitBy(t, size, text, `"stop": null`)
			said := ""
			if got.Message.Content != nil {
				said = string(*got.Message.Content)
			}
			if said != want.content || *got.Finish != want.finish || len(got.Message.ToolCalls) != len(want.calls) {
				t.Fatalf("%q by %d: %q %s %+v", text, size, said, *got.Finish, got.Message.ToolCalls)
			}
			for i, c := range got.Message.ToolCalls {
				if f := c.Function; c.Index != i || !strings.HasPrefix(c.ID, "call_") || c.Type != "function" || f.Name != want.calls[i].name || f.Arguments != want.calls[i].arguments {
					t.Errorf("%q by %d: %+v, want %+v", text, size, c, want.calls[i])
				}
			}
		}
	}
}

// splitBy splits a text that comes in tokens of so many characters, by a request with tools, and returns the choice. It stops where the
// splitter says so.
func splitBy(t *testing.T, size int, text, members string) choice {
	t.Helper()
	q := &request{}
	if err := json.Unmarshal([]byte(`{`+tools+`, "logprobs": true, `+members+`}`), q); err != nil {
		t.Fatal(err)
	}
	split, w, c, rest, stopped := q.splitter(), &worth{}, choice{Message: &message{}}, []rune(text), false
	add := func(parts []part) {
		for _, p := range w.of(parts) {
			c.add(p, q)
		}
	}
	for len(rest) > 0 && !stopped {
		token := string(rest[:min(size, len(rest))])
		rest = rest[min(size, len(rest)):]
		var parts []part
		parts, stopped = split.add(token)
		w.waiting = append(w.waiting, tokenLogProb{logProb: logProb{Token: token}, begin: w.text, end: w.text + len(token)})
		w.text += len(token)
		add(parts)
	}
	parts, finish := split.rest("stop")
	add(parts)
	c.end(finish, q)
	return c
}

// TestCalls_content: stops are looked for in the content, and its tokens have their probabilities, wherever the text is cut into tokens.
// Those of calls are in none.
func TestCalls_content(t *testing.T) {
	call := func(arguments string) string {
		return "<tool_call>\n{\"name\": \"weather\", \"arguments\": " + arguments + "}\n</tool_call>"
	}
	for _, x := range []struct {
		text, stops, content, finish string
		calls                        int
	}{
		{"one two" + call("{}") + "three", `["zz"]`, "one twothree", "tool_calls", 1},
		{"one two" + call("{}") + "three", `["two"]`, "one ", "stop", 0},
		{"one two" + call("{}") + "three", `["hr"]`, "one twot", "tool_calls", 1},
		{"one two" + call(`{"a": "two\n"}`), `["\n", "}", "name"]`, "one two", "tool_calls", 1}, // texts of the syntax, and of arguments
		{"one two" + call("{}") + "three", `["othr", "o<", "twot"]`, "one twothree", "tool_calls", 1},
		{"one two" + call("{}") + call("{}") + "t", `["three"]`, "one twot", "tool_calls", 2},
		{"one tw", `["two"]`, "one tw", "stop", 0},
		{call("{}"), `["x"]`, "", "tool_calls", 1},
	} {
		for size := 1; size <= len(x.text)+1; size++ {
			got, said, tokens := splitBy(t, size, x.text, `"stop": `+x.stops), "", ""
			if got.Message.Content != nil {
				said = string(*got.Message.Content)
				for _, token := range got.LogProbs.Content {
					tokens += token.Token
				}
			}
			if said != x.content || *got.Finish != x.finish || len(got.Message.ToolCalls) != x.calls {
				t.Errorf("%q stops at %s, by %d: %q %s %+v", x.text, x.stops, size, said, *got.Finish, got.Message.ToolCalls)
			}
			// A token may have more text than the content, where that is cut, and none but its own.
			if size == 1 && tokens != said || said == "" && got.LogProbs != nil {
				t.Errorf("%q stops at %s, by %d: the tokens of %q are %q", x.text, x.stops, size, said, tokens)
			}
		}
	}
}

// TestCalls_format: with a format and tools, an answer follows the format, or it has calls alone.
func TestCalls_format(t *testing.T) {
	s, _ := start(t, nil)
	const call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	schema := `, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}`
	for _, x := range []struct {
		members string
		want    map[string]bool
	}{
		{schema, map[string]bool{`{"a": 1}`: true, call: true, call + "\n" + call: true, `{"a": 1}` + call: false, call + `{"a": 1}`: false, "text": false, `{"b": 1}`: false}},
		{schema + `, "parallel_tool_calls": false`, map[string]bool{`{"a": 1}`: true, call: true, call + "\n" + call: false}},
		{schema + `, "tool_choice": "required"`, map[string]bool{`{"a": 1}`: false, call: true, call + "\n" + call: true, call + "text": false, call + "\n{": false}},
		{`, "response_format": {"type": "text"}, "tool_choice": "required"`, map[string]bool{call: true, call + "\n" + call: true, call + "text": false, "text" + call: false}},
		{schema + `, "tool_choice": "none"`, map[string]bool{`{"a": 1}`: true, call: false}},
		{`, "response_format": {"type": "json_object"}`, map[string]bool{`{"b": [1]}`: true, call: true, `[1]`: false}},
		{`, "response_format": {"type": "text"}`, map[string]bool{"text": true, "text" + call: true}},
	} {
		q := &request{N: new(1)}
		if err := json.Unmarshal([]byte(`{`+tools+x.members+`}`), q); err != nil {
			t.Fatal(err)
		}
		for text, want := range x.want {
			m, err := s.matcher(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.AcceptText(text)
			if got && err == nil {
				got, err = m.Complete()
			}
			if m.Release(); got != want || err != nil {
				t.Errorf("%s: %q is allowed: %v %v", x.members, text, got, err)
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

// TestChat_calls: a call of a chat without arguments is an object of JSON for the model, too.
func TestChat_calls(t *testing.T) {
	q := request{Messages: []message{{Role: "assistant", ToolCalls: []toolCall{{Function: functionCall{Name: "f"}}, {Function: functionCall{Name: "g", Arguments: `{"a": 1`}}}}}}
	syntax := xgrammar.Qwen
	want := syntax.Begin + "f" + syntax.Middle + "{}" + syntax.End + syntax.Begin + "g" + syntax.Middle + `{"a": 1` + syntax.End
	if got := q.chat().Messages[0].Calls; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
