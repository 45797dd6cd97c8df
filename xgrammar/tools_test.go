package xgrammar_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

const weather = `{"type": "function", "function": {"name": "weather", "description": "", "parameters":
	{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}`

// TestTools: the texts that a choice allows, and what is read of them.
func TestTools(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	var tools []xgrammar.Tool
	if err := json.Unmarshal([]byte(`[`+weather+`, {"type": "function", "function": {"name": "now"}}, {"type": "function", "function": {"name": "any", "strict": false, "parameters": {"type": "object"}}}]`), &tools); err != nil {
		t.Fatal(err)
	}
	qwen := func(name, arguments string) string {
		return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
	}
	call := qwen("weather", `{"city": "Oslo"}`)
	for _, x := range []struct {
		choice   string
		parallel bool
		text     string
		ok       bool
		calls    []xgrammar.ToolCall
	}{
		{`"auto"`, true, "Hello.", true, nil},
		{`"auto"`, true, "Wait: " + call + " and " + qwen("now", "{}"), true, []xgrammar.ToolCall{{"weather", `{"city": "Oslo"}`}, {"now", "{}"}}},
		{`null`, true, qwen("weather", `{"city": 3}`), false, nil},
		{`"auto"`, true, qwen("any", `{"a": [1]}`) + qwen("any", "{}"), true, []xgrammar.ToolCall{{"any", `{"a": [1]}`}, {"any", "{}"}}},
		{`"auto"`, true, qwen("any", `"age"`), false, nil},
		{`"auto"`, true, qwen("now", "null"), false, nil},
		{`"auto"`, true, qwen("now", `{"a": 1}`), false, nil},
		{`"auto"`, false, call + call, false, nil},
		{`"none"`, true, "Hello.", true, nil},
		{`"none"`, true, call, false, nil},
		{`"required"`, false, "Hello.", false, nil},
		{`"required"`, false, call, true, []xgrammar.ToolCall{{"weather", `{"city": "Oslo"}`}}},
		{`{"type": "function", "function": {"name": "now"}}`, false, qwen("now", "{}"), true, []xgrammar.ToolCall{{"now", "{}"}}},
		{`{"type": "function", "function": {"name": "now"}}`, false, call, false, nil},
		{`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "now"}}]}}`, true, "Hello.", true, nil},
		{`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "now"}}]}}`, true, call, false, nil},
		{`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}`, true, call, false, nil},
	} {
		var choice xgrammar.ToolChoice
		if err := json.Unmarshal([]byte(x.choice), &choice); err != nil {
			t.Fatal(err)
		}
		m := matcherOf(t, c, must(must(xgrammar.Qwen.Format(tools, choice, x.parallel))(t).Tag())(t))
		if ok := must(m.AcceptText(x.text))(t) && must(m.Complete())(t); ok != x.ok {
			t.Errorf("%s: %q is allowed: %v", x.choice, x.text, ok)
		}
		m.Release()
		if rest, calls := xgrammar.Qwen.Calls(x.text); x.ok && (!reflect.DeepEqual(calls, x.calls) || strings.Contains(rest, "tool_call")) {
			t.Errorf("%q has the calls %v and the rest %q", x.text, calls, rest)
		}
	}
	// Begin of this syntax may be in the arguments, and a text may be cut off.
	rest, calls := xgrammar.Llama.Calls(`a {"name": "f", "parameters": {"name": "x"}} b {"name": "g", "parameters": {"c`)
	if rest != `a  b {"name": "g", "parameters": {"c` || len(calls) != 1 || calls[0] != (xgrammar.ToolCall{"f", `{"name": "x"}`}) {
		t.Errorf("%q %v", rest, calls)
	}
	// The arguments of this call are whole.
	if rest, calls = xgrammar.Llama.Calls(strings.Repeat(`{"name": "f", "parameters": {}}`+xgrammar.CallSeparator, 2)); rest != "" || len(calls) != 2 {
		t.Errorf("two calls: %q and %v", rest, calls)
	}
	if rest, calls = xgrammar.Qwen.Calls("<tool_call>\n" + `{"name": "f", "arguments": {}}` + "\n</tool"); rest != "}\n</tool" || len(calls) != 1 {
		t.Errorf("%q %v", rest, calls)
	}
}

// TestTools_arguments: which arguments the parameters of a function allow. They are always objects.
func TestTools_arguments(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	texts := []string{"{}", `{"a": 1}`, `{"a": "x"}`, `{"b": [2]}`, `"age"`, "null", "[1]", "3"}
	const one = `{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`
	for function, allowed := range map[string]string{
		`{"name": "f"}`:                                                  "{}",
		`{"name": "f", "parameters": null}`:                              "{}",
		`{"name": "f", "parameters": {}}`:                                "{}",
		`{"name": "f", "parameters": true}`:                              "{}",
		`{"name": "f", "parameters": {"type": "object"}}`:                `{} {"a": 1} {"a": "x"} {"b": [2]}`,
		`{"name": "f", "parameters": {"title": "F", "required": ["a"]}}`: "{}",
		`{"name": "f", "parameters": {"type": "object", "allOf": [{"type": "object"}, {"required": ["a"]}]}}`: `{} {"a": 1} {"a": "x"} {"b": [2]}`,
		`{"name": "f", "strict": true}`:                                                       "{}",
		`{"name": "f", "parameters": ` + one + `}`:                                            `{"a": 1}`,
		`{"name": "f", "strict": false}`:                                                      `{} {"a": 1} {"a": "x"} {"b": [2]}`,
		`{"name": "f", "strict": false, "parameters": true}`:                                  `{} {"a": 1} {"a": "x"} {"b": [2]}`,
		`{"name": "f", "strict": false, "parameters": ` + one + `}`:                           `{} {"a": 1} {"a": "x"} {"b": [2]}`,
		`{"name": "f", "parameters": {"anyOf": [` + one + `]}}`:                               `{"a": 1}`,
		`{"name": "f", "parameters": {"$ref": "#/$defs/one", "$defs": {"one": ` + one + `}}}`: `{"a": 1}`,
		`{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}`:             `{} {"a": 1}`,
	} {
		var tool xgrammar.Tool
		if err := json.Unmarshal([]byte(`{"type": "function", "function": `+function+`}`), &tool); err != nil {
			t.Fatal(err)
		}
		tag := must(must(xgrammar.Qwen.Format([]xgrammar.Tool{tool}, xgrammar.ToolChoice{Mode: "required"}, false))(t).Tag())(t)
		var got []string
		for _, text := range texts {
			m := matcherOf(t, c, tag)
			if must(m.AcceptText("<tool_call>\n{\"name\": \"f\", \"arguments\": "+text+"}\n</tool_call>"))(t) && must(m.Complete())(t) {
				got = append(got, text)
			}
			m.Release()
		}
		if strings.Join(got, " ") != allowed {
			t.Errorf("%s allows %v, want %s", function, got, allowed)
		}
	}
}

func TestTools_errors(t *testing.T) {
	for _, x := range []struct{ tools, choice, want string }{
		{`[{"type": "web"}]`, `"auto"`, `tools[0]: it has the type "web" and the name ""`},
		{`[{"type": "function", "function": {"name": "a\"b"}}]`, `"auto"`, `tools[0]: it has the type "function" and the name "a\"b"`},
		{`[` + weather + `,` + weather + `]`, `"auto"`, `tools[1]: `},
		{`[{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}]`, `"auto"`, `tools[0]: its parameters have the type string, want object`},
		{`[{"type": "function", "function": {"name": "f", "parameters": {"type": ["string", "object"]}}}]`, `"auto"`, `tools[0]: its parameters have the type string or object, want object`},
		{`[{"type": "function", "function": {"name": "f", "parameters": {"$ref": "#/$defs/n", "$defs": {"n": {"const": 3}}}}}]`, `"auto"`, `tools[0]: its parameters have the type integer, want object`},
		{`[{"type": "function", "function": {"name": "f", "parameters": {"items": {}}}}]`, `"auto"`, `tools[0]: its parameters have the type array, want object`},
		{`[{"type": "function", "function": {"name": "f", "parameters": 3, "strict": false}}]`, `"auto"`, `tools[0]: its parameters are 3, want a JSON schema of an object`},
		{`[` + weather + `]`, `"maybe"`, `tool_choice: it is "maybe"`},
		{`[]`, `"required"`, `tool_choice: a call is required, and there is no tool`},
		{`[]`, `{"type": "function", "function": {"name": "f"}}`, `tool_choice: no tool has the name "f"`},
	} {
		var tools []xgrammar.Tool
		var choice xgrammar.ToolChoice
		if err := json.Unmarshal([]byte(x.tools), &tools); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(x.choice), &choice); err != nil {
			t.Fatal(err)
		}
		if _, err := xgrammar.Llama.Format(tools, choice, true); err == nil || !strings.Contains(err.Error(), "xgrammar: "+x.want) {
			t.Errorf("%s and %s: %v, want %s", x.tools, x.choice, err, x.want)
		}
	}
	const now = `"function": {"name": "now"}`
	for choice, want := range map[string]string{
		`3`: "tool_choice: it has number, want none, auto", `[]`: "tool_choice: it has array, want",
		`""`:                                `tool_choice: it is ""`,
		`{}`:                                `it has the type ""`,
		`{` + now + `}`:                     `it has the type ""`,
		`{"type": null, ` + now + `}`:       `it has the type ""`,
		`{"type": "Function", ` + now + `}`: `it has the type "Function"`,
		`{"type": "function", ` + now + `, "allowed_tools": {"mode": "auto"}}`:        `it has the type "function", want function with the member function alone`,
		`{"type": "allowed_tools", ` + now + `, "allowed_tools": {"mode": "auto"}}`:   `it has the type "allowed_tools"`,
		`{"type": "allowed_tools", ` + now + `}`:                                      `it has the type "allowed_tools"`,
		`{"type": "function", ` + now + `, "mode": "auto"}`:                           `unknown field "mode"`,
		`{"type": "function", "function": {"name": "now", "strict": true}}`:           `unknown field "strict"`,
		`{"type": "function", "name": "now"}`:                                         `unknown field "name"`,
		`{"type": "function", "function": {}}`:                                        `a tool has the type "function", want function with the name of one`,
		`{"type": "allowed_tools", "allowed_tools": {"tools": []}}`:                   `the mode of allowed_tools is "", want auto or required`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": []}}`:   `the mode of allowed_tools is "none"`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}`:                `allowed_tools has no tools: list those`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": null}}`: `allowed_tools has no tools: list those`,
		`true`: `tool_choice: it has bool, want none, auto, required, a function or allowed_tools`,
		`{"type": "function", "function": {"name": 5}}`:                                                            `tool_choice: it has number for a text, want`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "custom", ` + now + `}]}}`: `a tool has the type "custom"`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [null]}}`:                            `a tool has the type ""`,
	} {
		if err := json.Unmarshal([]byte(choice), &xgrammar.ToolChoice{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", choice, err, want)
		}
	}
	if _, err := (xgrammar.Format{Type: "json_schema", Schema: []byte("{")}).Tag(); err == nil || !strings.Contains(err.Error(), "xgrammar: the format json_schema: ") {
		t.Errorf("got %v", err)
	}
	for _, f := range []xgrammar.Format{
		{Type: "const_string", Value: new("a\xff")}, {Type: "tag", Begin: new(""), Content: &xgrammar.Format{Type: "regex", Pattern: "a\xff"}},
		{Type: "or", Elements: []xgrammar.Format{{Type: "any_text"}, {Type: "any_text", Excludes: []string{"b", "a\xff"}}}},
	} {
		if tag, err := f.Tag(); err == nil || !strings.Contains(err.Error(), `xgrammar: the format `+f.Type+`: the text "a\xff" is not UTF-8`) {
			t.Errorf("%s: %s, %v", f.Type, tag, err)
		}
	}
	large := xgrammar.Format{Type: "repeat", Content: &xgrammar.Format{Type: "const_string", Value: new("a")}, Min: new(0), Max: new(1 << 31)}
	for _, f := range []xgrammar.Format{large, {Type: "sequence", Elements: []xgrammar.Format{large}}, {Type: "star", Content: &large}} {
		if _, err := f.Tag(); err == nil || !strings.HasSuffix(err.Error(), "Max is 2147483648, want at most 2147483647") {
			t.Errorf("%s: %v", f.Type, err)
		}
	}
	one := &xgrammar.Format{Type: "const_string", Value: new("a")}
	for want, f := range map[string]xgrammar.Format{
		"xgrammar: the format any_text: MaxTokens is 2147483648, want at most 2147483647": {Type: "any_text", MaxTokens: new(1 << 31), MaxChars: new(1 << 31)}, // the first of all
		"xgrammar: the format any_text: MaxChars is -1, want 0 or more":                   {Type: "any_text", MaxChars: new(-1)},
		"xgrammar: the format json_schema: MaxWhitespace is -1, want 0 or more":           {Type: "json_schema", MaxWhitespace: new(-1)},
		"xgrammar: the format repeat: Min is -1, want 0 or more":                          {Type: "repeat", Content: one, Min: new(-1), Max: new(3)},
		"xgrammar: the format repeat: Max is -2, want 0 or more, or -1 for any number":    {Type: "repeat", Content: one, Min: new(0), Max: new(-2)},
		"xgrammar: the format or: the type star has no field Min, which XGrammar would leave out: want Content": {Type: "or", Elements: []xgrammar.Format{
			{Type: "star", Content: one, Min: new(0), Max: new(3)}}},
		"xgrammar: the format regex: the type regex has no field Value, which XGrammar would leave out: want Pattern": {Type: "regex", Value: new("")},
		"xgrammar: the format exclude_token: the type exclude_token has no field Token, which XGrammar would":         {Type: "exclude_token", Token: "a"},
	} {
		if tag, err := f.Tag(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s, %v, want %s", tag, err, want)
		}
	}
}

// TestFormat_fields: a type of format has the fields that XGrammar reads, which are those that change its grammar.
func TestFormat_fields(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	compiler := rawCompiler(t)
	one := &xgrammar.Format{Type: "regex", Pattern: "x"}
	schema := json.RawMessage(`{"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}`)
	tag := xgrammar.Format{Type: "tag", Begin: new("<a"), Content: one, End: []string{"b"}}
	others := xgrammar.Format{Value: new("v"), Schema: json.RawMessage(`true`), Style: "glm_xml", AnyOrder: true, MaxWhitespace: new(7), Pattern: "p", EBNF: `root ::= "e"`,
		Elements: []xgrammar.Format{tag}, Content: &tag, Min: new(2), Max: new(9), Begin: new("<c"), End: []string{"z"}, Triggers: []string{"<a"}, Tags: []xgrammar.Format{
			{Type: "tag", Begin: new("<ax"), Content: one, End: []string{"z"}}}, Separator: new("#"), AtLeastOne: true, StopAfterFirst: true, Excludes: []string{"v"}, MaxTokens: new(4), MaxChars: new(5), Token: "red"}
	grammar := func(f xgrammar.Format) string {
		t.Helper()
		text := must(json.Marshal(map[string]any{"type": "structural_tag", "format": f}))(t)
		compiled, err := compiler.CompileStructuralTag(string(text))
		if err != nil {
			return err.Error()
		}
		defer compiled.Release()
		g := must(compiled.Grammar())(t)
		defer g.Release()
		return must(g.SerializeJSON())(t)
	}
	for _, f := range []xgrammar.Format{
		{Type: "any_text"}, {Type: "const_string", Value: new("a")}, {Type: "json_schema", Schema: schema}, {Type: "qwen_xml_parameter", Schema: schema},
		*one, {Type: "grammar", EBNF: `root ::= "a"`}, {Type: "sequence", Elements: []xgrammar.Format{*one}}, {Type: "or", Elements: []xgrammar.Format{*one}},
		{Type: "optional", Content: one}, {Type: "star", Content: one}, {Type: "plus", Content: one}, {Type: "repeat", Content: one, Min: new(1), Max: new(-1)}, tag,
		{Type: "triggered_tags", Triggers: []string{"<"}, Tags: []xgrammar.Format{tag}}, {Type: "tags_with_separator", Tags: []xgrammar.Format{tag}, Separator: new(",")},
		{Type: "token", Token: "age"}, {Type: "exclude_token"}, {Type: "any_tokens"},
	} {
		must(f.Tag())(t)
		without := grammar(f)
		if !strings.HasPrefix(without, "{") {
			t.Errorf("%s: %s", f.Type, without)
		}
		for i := 1; i < reflect.TypeFor[xgrammar.Format]().NumField(); i++ { // the first is Type
			set := f
			reflect.ValueOf(&set).Elem().Field(i).Set(reflect.ValueOf(others).Field(i))
			_, err := set.Tag()
			if read := grammar(set) != without; read != (err == nil) {
				t.Errorf("%s with %s: XGrammar reads it: %v, and the error is %v", f.Type, reflect.TypeFor[xgrammar.Format]().Field(i).Name, read, err)
			}
		}
	}
	// Max -1 is any number.
	m := matcherOf(t, c, must(xgrammar.Format{Type: "repeat", Content: one, Min: new(2), Max: new(-1)}.Tag())(t))
	defer m.Release()
	for n := range 20 {
		if ended := must(m.Complete())(t); ended != (n >= 2) || !must(m.AcceptText("x"))(t) {
			t.Errorf("2 or more times: the text may end after %d: %v", n, ended)
		}
	}
}
