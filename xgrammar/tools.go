package xgrammar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// Format is a part of a structural tag. It has one of these types, with these fields. A field of another type is an error.
//
//	any_text              free text: Excludes, MaxTokens, MaxChars
//	const_string          a fixed text: Value
//	json_schema           Schema, Style, AnyOrder, MaxWhitespace, Excludes
//	qwen_xml_parameter    json_schema with the Style qwen_xml: its fields without Style
//	regex, grammar        Pattern; EBNF
//	sequence, or          Elements
//	optional, star, plus  Content
//	repeat                Content, Min, Max; a Max of -1 is any number
//	tag                   Begin, Content, End
//	triggered_tags        free text, in which tags follow Triggers: Tags, AtLeastOne, StopAfterFirst, Excludes
//	tags_with_separator   Tags, Separator, AtLeastOne, StopAfterFirst
//	token                 the token with the text of Token
//	exclude_token         any token
//	any_tokens            any tokens: MaxTokens
type Format struct {
	Type           string          `json:"type"`
	Value          *string         `json:"value,omitempty"`
	Schema         json.RawMessage `json:"json_schema,omitempty"`
	Style          string          `json:"style,omitempty"`
	AnyOrder       bool            `json:"any_order,omitempty"`
	MaxWhitespace  *int            `json:"max_whitespace_cnt,omitempty"`
	Pattern        string          `json:"pattern,omitempty"`
	EBNF           string          `json:"grammar,omitempty"`
	Elements       []Format        `json:"elements,omitempty"`
	Content        *Format         `json:"content,omitempty"`
	Min            *int            `json:"min,omitempty"`
	Max            *int            `json:"max,omitempty"`
	Begin          *string         `json:"begin,omitempty"`
	End            []string        `json:"end,omitempty"`
	Triggers       []string        `json:"triggers,omitempty"`
	Tags           []Format        `json:"tags,omitempty"`
	Separator      *string         `json:"separator,omitempty"`
	AtLeastOne     bool            `json:"at_least_one,omitempty"`
	StopAfterFirst bool            `json:"stop_after_first,omitempty"`
	Excludes       []string        `json:"excludes,omitempty"`
	MaxTokens      *int            `json:"max_tokens,omitempty"`
	MaxChars       *int            `json:"max_chars,omitempty"`
	Token          string          `json:"token,omitempty"`
}

// fieldsOf are the fields that XGrammar reads of each type of format. It ignores others.
var fieldsOf = map[string][]string{
	"any_text":            {"Excludes", "MaxTokens", "MaxChars"},
	"const_string":        {"Value"},
	"json_schema":         {"Schema", "Style", "AnyOrder", "MaxWhitespace", "Excludes"},
	"qwen_xml_parameter":  {"Schema", "AnyOrder", "MaxWhitespace", "Excludes"},
	"regex":               {"Pattern"},
	"grammar":             {"EBNF"},
	"sequence":            {"Elements"},
	"or":                  {"Elements"},
	"optional":            {"Content"},
	"star":                {"Content"},
	"plus":                {"Content"},
	"repeat":              {"Content", "Min", "Max"},
	"tag":                 {"Begin", "Content", "End"},
	"triggered_tags":      {"Triggers", "Tags", "AtLeastOne", "StopAfterFirst", "Excludes"},
	"tags_with_separator": {"Tags", "Separator", "AtLeastOne", "StopAfterFirst"},
	"token":               {"Token"},
	"exclude_token":       nil,
	"any_tokens":          {"MaxTokens"},
}

// Tag returns the structural tag of texts that have the format.
func (f Format) Tag() (StructuralTag, error) {
	text, err := json.Marshal(map[string]any{"type": "structural_tag", "format": f})
	if bad, found := notUTF8(reflect.ValueOf(f)); err == nil && found { // JSON has U+FFFD in its place
		err = fmt.Errorf("the text %.60q is not UTF-8, so a structural tag, which is JSON, cannot have it", bad)
	}
	if err == nil {
		err = f.fits()
	}
	if err != nil {
		return "", failed(fmt.Sprintf("the format %.80s", f.Type), err)
	}
	return StructuralTag(text), nil
}

// fits returns an error for a number that XGrammar would cut, or refuse, and for a field that it would leave out.
func (f Format) fits() error {
	if fields, known := fieldsOf[f.Type]; known { // XGrammar refuses other types
		for field, value := range reflect.ValueOf(f).Fields() {
			set := !value.IsZero() && !(value.Kind() == reflect.Slice && value.Len() == 0)
			if set && field.Name != "Type" && !slices.Contains(fields, field.Name) {
				return fmt.Errorf("the type %s has no field %s, which XGrammar would leave out: want %s", f.Type, field.Name, cmp.Or(strings.Join(fields, ", "), "none"))
			}
		}
	}
	limit := f.Max
	switch {
	case limit != nil && *limit < -1:
		return fmt.Errorf("%s is %d, want 0 or more, or -1 for any number", "Max", *limit)
	case limit != nil && *limit == -1:
		limit = nil
	}
	for _, number := range []struct {
		name string
		n    *int
	}{{"MaxWhitespace", f.MaxWhitespace}, {"Min", f.Min}, {"Max", limit}, {"MaxTokens", f.MaxTokens}, {"MaxChars", f.MaxChars}} {
		if number.n != nil {
			if err := fits(number.name, *number.n); err != nil {
				return err
			}
		}
	}
	parts := slices.Concat(f.Elements, f.Tags)
	if f.Content != nil {
		parts = append(parts, *f.Content)
	}
	for _, part := range parts {
		if err := part.fits(); err != nil {
			return err
		}
	}
	return nil
}

// notUTF8 finds a text in a value without cycles that is not UTF-8.
func notUTF8(v reflect.Value) (text string, found bool) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			return notUTF8(v.Elem())
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !found; i++ {
			text, found = notUTF8(v.Field(i))
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && !found; i++ {
			text, found = notUTF8(v.Index(i))
		}
	}
	return text, found
}

// Tool is an element of tools in OpenAI's chat completions.
type Tool struct {
	Type     string `json:"type"` // function
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON schema of objects; without one that says something, only {}
		Strict      *bool           `json:"strict,omitempty"`     // if it is false, any object
	} `json:"function"`
}

// ToolChoice is tool_choice in OpenAI's chat completions. The zero ToolChoice is auto.
type ToolChoice struct {
	Mode  string   // auto, none or required
	Names []string // the functions that may be called; nil for all
}

// UnmarshalJSON reads a mode, one function, or allowed_tools. Other members are an error, and so is one of the two beside the other.
func (c *ToolChoice) UnmarshalJSON(text []byte) error {
	*c = ToolChoice{}
	if json.Unmarshal(text, &c.Mode) == nil {
		if c.Mode == "" && string(text) != "null" {
			return failed("tool_choice", errMode(""))
		}
		return nil // null is ""
	}
	type function struct {
		Type     string                 `json:"type"`
		Function *struct{ Name string } `json:"function"`
	}
	choice := struct {
		function
		Allowed *struct {
			Mode  string
			Tools []function
		} `json:"allowed_tools"`
	}{}
	if err := jsonlines.Unmarshal(text, &choice); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return failed("tool_choice", fmt.Errorf("it has %s%s, want none, auto, required, a function or allowed_tools", wrong.Value, inPlaceOf(wrong.Type)))
		}
		return failed("tool_choice", err)
	}
	known := json.NewDecoder(bytes.NewReader(text))
	known.DisallowUnknownFields()
	if err := known.Decode(&choice); err != nil {
		return failed("tool_choice", errors.New(strings.TrimPrefix(err.Error(), "json: ")))
	}
	allowed := []function{choice.function}
	switch c.Mode = "required"; {
	case choice.Type == "allowed_tools" && choice.Allowed != nil && choice.Function == nil:
		if c.Mode, allowed = choice.Allowed.Mode, choice.Allowed.Tools; c.Mode != "auto" && c.Mode != "required" {
			return failed("tool_choice", fmt.Errorf("the mode of allowed_tools is %q, want auto or required", c.Mode))
		}
		if allowed == nil {
			return failed("tool_choice", fmt.Errorf("allowed_tools has no tools: list those that may be called"))
		}
	case choice.Type != "function" || choice.Allowed != nil:
		return failed("tool_choice", fmt.Errorf("it has the type %q, want function with the member function alone, or allowed_tools with the member allowed_tools alone", choice.Type))
	}
	c.Names = []string{} // no name allows no function
	for _, tool := range allowed {
		if tool.Type != "function" || tool.Function == nil || tool.Function.Name == "" {
			return failed("tool_choice", fmt.Errorf("a tool has the type %q, want function with the name of one", tool.Type))
		}
		c.Names = append(c.Names, tool.Function.Name)
	}
	return nil
}

// inPlaceOf says what a member of a tool_choice has to be.
func inPlaceOf(t reflect.Type) string {
	if t.Kind() == reflect.String {
		return " for a text"
	}
	return ""
}

func errMode(mode string) error { return fmt.Errorf("it is %q, want none, auto or required", mode) }

// ToolSyntax is how a model writes the call of a tool: Begin, the name, Middle, the arguments as JSON, End. After Trigger,
// the start of Begin, nothing else may come.
type ToolSyntax struct{ Trigger, Begin, Middle, End string }

// The syntax of some models.
var (
	// Qwen is that of Qwen 2.5 and 3, and of Hermes.
	Qwen = ToolSyntax{"<tool_call>", "<tool_call>\n{\"name\": \"", `", "arguments": `, "}\n</tool_call>"}
	// Llama is that of Llama 3.1 and 3.2.
	Llama = ToolSyntax{`{"name": `, `{"name": "`, `", "parameters": `, "}"}
)

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// Format returns the format of a text that may, or must, call tools. Without parallel it has one call at most. If it must, it has
// calls alone, with a [CallSeparator] between two of them: after a call, small models would invent its result. The arguments of a
// call are always an object, because clients read no other JSON.
func (s ToolSyntax) Format(tools []Tool, choice ToolChoice, parallel bool) (f Format, err error) {
	f = Format{Type: "triggered_tags", Triggers: []string{s.Trigger}, StopAfterFirst: !parallel, AtLeastOne: choice.Mode == "required"}
	var known []string
	for i, tool := range tools {
		name, parameters, strict := tool.Function.Name, tool.Function.Parameters, tool.Function.Strict
		if slices.Contains(known, name) {
			return f, failed(fmt.Sprintf("tools[%d]", i), fmt.Errorf("another tool has the name %q, too: give each its own", name))
		}
		if tool.Type != "function" || !toolName().MatchString(name) {
			return f, failed(fmt.Sprintf("tools[%d]", i), fmt.Errorf("it has the type %q and the name %q, want a function with a name of 1 to 64 letters, digits, _ and -", tool.Type, name))
		}
		known = append(known, name)
		parameters, err := objectSchema(parameters)
		if err != nil {
			return f, failed(fmt.Sprintf("tools[%d]", i), err)
		}
		if strict != nil && !*strict {
			parameters = anyObject
		}
		if choice.Names == nil || slices.Contains(choice.Names, name) {
			f.Tags = append(f.Tags, Format{Type: "tag", Begin: new(s.Begin + name + s.Middle), Content: &Format{Type: "json_schema", Schema: parameters}, End: []string{s.End}})
		}
	}
	for _, name := range choice.Names {
		if !slices.Contains(known, name) {
			return f, failed("tool_choice", fmt.Errorf("no tool has the name %q", name))
		}
	}
	switch {
	case !slices.Contains([]string{"", "auto", "none", "required"}, choice.Mode):
		return f, failed("tool_choice", errMode(choice.Mode))
	case f.AtLeastOne && len(f.Tags) == 0:
		return f, failed("tool_choice", fmt.Errorf("a call is required, and there is no tool"))
	case choice.Mode == "none" || len(f.Tags) == 0:
		return Format{Type: "any_text", Excludes: f.Triggers}, nil
	case f.AtLeastOne:
		return Format{Type: "tags_with_separator", Tags: f.Tags, Separator: new(CallSeparator), AtLeastOne: true, StopAfterFirst: !parallel}, nil
	}
	return f, nil
}

// CallSeparator is between the calls of a text that has nothing else.
const CallSeparator = "\n"

// anyObject is the schema of all objects.
var anyObject = json.RawMessage(`{"type":"object","additionalProperties":true}`)

// objectSchema returns a schema for the parameters of a function by which XGrammar writes objects alone. Parameters that say nothing get
// the schema of {}.
func objectSchema(parameters json.RawMessage) (json.RawMessage, error) {
	var schema map[string]any
	switch text := string(parameters); {
	case text == "", text == "null", text == "true":
	case json.Unmarshal(parameters, &schema) != nil:
		return nil, fmt.Errorf("its parameters are %.80s, want a JSON schema of an object", text)
	}
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","additionalProperties":false}`), nil
	}
	c := checker{root: schema, left: most}
	types, known := c.types(schema, 0, true), false
	if types != nil {
		_, known = ofType[types[0]] // XGrammar names others itself
	}
	switch {
	case slices.Equal(types, []string{"object"}):
		return parameters, nil
	case known:
		return nil, fmt.Errorf("its parameters have the type %s, want object", strings.Join(types, " or "))
	case types != nil:
		return parameters, nil
	case slices.ContainsFunc(leading, func(name string) bool { return schema[name] != nil }):
		return anyObject, nil // XGrammar would write any JSON
	}
	// Only the type is missing. The order of the properties stays.
	_, rest, _ := strings.Cut(string(parameters), "{")
	return json.RawMessage(`{"type":"object",` + rest), nil
}

// ToolCall is a call that a model has written. Its arguments are JSON.
type ToolCall struct{ Name, Arguments string }

// Calls splits a text that follows the format of s into its calls and the rest. A call whose arguments are whole is a call, also if
// the text ends before the end of its form: what there is of that is in the rest, as is all of a call that was cut before. A
// [CallSeparator] between two calls, or behind the last one, is of neither.
func (s ToolSyntax) Calls(text string) (rest string, calls []ToolCall) {
	for {
		before, call, found := strings.Cut(text, s.Begin)
		if len(calls) == 0 || before != CallSeparator {
			rest += before
		}
		if !found {
			return rest, calls
		}
		name, arguments, _ := strings.Cut(call, s.Middle)
		var value json.RawMessage
		d := json.NewDecoder(strings.NewReader(arguments))
		if d.Decode(&value) != nil { // it was cut off
			return rest + s.Begin + call, calls
		}
		calls = append(calls, ToolCall{name, string(value)})
		text = strings.TrimPrefix(arguments[d.InputOffset():], s.End)
	}
}
