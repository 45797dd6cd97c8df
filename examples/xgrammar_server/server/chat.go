package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// request is the body of a chat completion.
type request struct {
	Model               string              `json:"model"`
	Messages            []message           `json:"messages"`
	ResponseFormat      *responseFormat     `json:"response_format"`
	Tools               []xgrammar.Tool     `json:"tools"`
	ToolChoice          xgrammar.ToolChoice `json:"tool_choice"`
	ParallelToolCalls   *bool               `json:"parallel_tool_calls"`
	MaxTokens           *int                `json:"max_tokens"`
	MaxCompletionTokens *int                `json:"max_completion_tokens"`
	sampling
	without
	N             *int  `json:"n"`
	Stop          stops `json:"stop"`
	Stream        bool  `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
		Obfuscation  bool `json:"include_obfuscation"` // of lengths, against who listens; this server has no TLS
	} `json:"stream_options"`
	Modalities  []string `json:"modalities"`
	LogProbs    bool     `json:"logprobs"`
	TopLogProbs int      `json:"top_logprobs"`
}

// responseFormat is what the text of an answer follows.
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// without are members that do not change what the model writes: this one has no effort, and the server stores nothing.
type without struct {
	Metadata         json.RawMessage `json:"metadata"`
	ReasoningEffort  json.RawMessage `json:"reasoning_effort"`
	Verbosity        json.RawMessage `json:"verbosity"`
	CacheKey         json.RawMessage `json:"prompt_cache_key"`
	CacheRetention   json.RawMessage `json:"prompt_cache_retention"`
	SafetyIdentifier json.RawMessage `json:"safety_identifier"`
	ServiceTier      json.RawMessage `json:"service_tier"`
	Store            json.RawMessage `json:"store"`
	User             json.RawMessage `json:"user"`
}

// UnmarshalJSON reads a request. A member that would be ignored is an error, unless it is null.
func (r *request) UnmarshalJSON(text []byte) error {
	if err := lost(text); err != nil {
		return err
	}
	type plain request
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return err
	}
	if param := unknown(text, reflect.TypeFor[plain](), ""); param != "" {
		return invalid(param, "this server does not support it")
	}
	return nil
}

// unknown returns the path of a member that a type does not have, or "". Clients send messages back as they got them, from other servers
// too, so a message may have any.
func unknown(text json.RawMessage, t reflect.Type, path string) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || t == reflect.TypeFor[message]() {
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		return unknown(text, t.Elem(), path)
	case reflect.Slice:
		var all []json.RawMessage
		_ = json.Unmarshal(text, &all) // it was read before, here and below
		for i, one := range all {
			if param := unknown(one, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); param != "" {
				return param
			}
		}
	case reflect.Struct:
		var all map[string]json.RawMessage
		_ = json.Unmarshal(text, &all)
		types := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			types[name] = f.Type
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			inner := fmt.Sprintf("%.64s", name)
			if path != "" {
				inner = path + "." + inner
			}
			if types[name] == nil && string(all[name]) != "null" {
				return inner
			}
			if types[name] != nil {
				if param := unknown(all[name], types[name], inner); param != "" {
					return param
				}
			}
		}
	}
	return ""
}

// stops are texts at which an answer ends.
type stops []string

// UnmarshalJSON reads a text or several.
func (s *stops) UnmarshalJSON(text []byte) error {
	var one *string
	if json.Unmarshal(text, &one) == nil {
		if one != nil {
			*s = stops{*one}
		}
		return nil
	}
	if json.Unmarshal(text, (*[]string)(s)) != nil || len(*s) > 4 {
		return invalid("stop", "it is %.80s, want a text or at most four", text)
	}
	return nil
}

var roles = []string{"system", "developer", "user", "assistant", "tool"}

// message is a message of a chat, and what a part of an answer adds to one.
type message struct {
	Role      string     `json:"role,omitempty"`
	Content   *content   `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`

	Refusal      *string         `json:"refusal,omitempty"` // of an assistant, in place of the content
	Audio        json.RawMessage `json:"audio,omitempty"`
	FunctionCall json.RawMessage `json:"function_call,omitempty"`
}

// check returns what of a message of a client the model would not see.
func (m *message) check(at string) error {
	if !slices.Contains(roles, m.Role) {
		return invalid(at+".role", "it is %.64q, want one of %s", m.Role, strings.Join(roles, ", "))
	}
	if m.Content == nil && (m.Role != "assistant" || m.Refusal == nil && len(m.ToolCalls) == 0) {
		return invalid(at+".content", "there is none")
	}
	if m.Content != nil && *m.Content != "" && m.Refusal != nil && *m.Refusal != "" { // the model sees one text
		return invalid(at+".refusal", "the message has a content, too: send one of them")
	}
	for name, v := range map[string]json.RawMessage{"audio": m.Audio, "function_call": m.FunctionCall} {
		if v != nil && string(v) != "null" {
			return invalid(at+"."+name, "this server does not support it")
		}
	}
	for i, c := range m.ToolCalls {
		if c.Type != "function" {
			return invalid(fmt.Sprintf("%s.tool_calls[%d].type", at, i), "it is %.64q, want function", c.Type)
		}
		if c.Function.Name == "" {
			return invalid(fmt.Sprintf("%s.tool_calls[%d].function.name", at, i), "there is none")
		}
	}
	return nil
}

type toolCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// content is a text, which clients may send in parts.
type content string

// UnmarshalJSON reads a text or the texts of parts.
func (c *content) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*string)(c)) == nil {
		return nil
	}
	var parts []struct {
		Type          string
		Text, Refusal *string
	}
	if json.Unmarshal(text, &parts) != nil {
		return invalid("messages", "content is neither a string nor an array of parts with a type and a text")
	}
	for _, p := range parts {
		text, other := p.Text, p.Refusal
		switch p.Type {
		case "text":
		case "refusal":
			text, other = other, text
		default:
			return invalid("messages", "content has a part of the type %q, want text", p.Type)
		}
		if text == nil || other != nil {
			return invalid("messages", "content has a part of the type %q, want one with the member %[1]s, and without the other of text and refusal", p.Type)
		}
		*c += content(*text)
	}
	return nil
}

// answer is a whole answer, or a part of one in a stream.
type answer struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index    int       `json:"index"`
	Message  *message  `json:"message,omitempty"`
	Delta    *message  `json:"delta,omitempty"`
	LogProbs *logProbs `json:"logprobs,omitempty"`
	Finish   *string   `json:"finish_reason"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// problem is an error that the client sees.
type problem struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// Error returns the message.
func (p *problem) Error() string { return p.Message }

func invalid(param, format string, args ...any) error {
	return &problem{http.StatusBadRequest, param + ": " + fmt.Sprintf(format, args...), "invalid_request_error", &param, "invalid_value"}
}

// TooLong is OpenAI's error for a chat that a model has no room for: its messages have so many tokens, or more. A model may return
// it before it knows the tokens.
func TooLong(tokens, context int) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens, "+
		"and an answer needs one more: please reduce the length of the messages.", context, tokens), "invalid_request_error", new("messages"), "context_length_exceeded"}
}

func unavailable(status int, code, text string) *problem {
	return &problem{status: status, Message: text, Type: "server_error", Code: code}
}

var (
	errStopping = unavailable(http.StatusServiceUnavailable, "stopping", "the server stops: ask another one")
	errTime     = unavailable(http.StatusGatewayTimeout, "timeout", "the answer took longer than the flag -time of the server allows: ask for fewer tokens or a simpler format, or send a shorter text")
	errBusy     = unavailable(http.StatusTooManyRequests, "busy", "too many requests are being answered: try again")
)

const (
	mostChoices  = 16      // bounds the work of one request
	mostLogProbs = 1 << 16 // bounds the memory of one: about 500 bytes for each
)

// check fills in defaults and returns the first mistake.
func (r *request) check(name string, most, vocabulary int) error {
	limit, param, given := min(256, most), "max_tokens", r.MaxTokens
	if r.MaxTokens != nil {
		limit = *r.MaxTokens
	}
	if r.MaxCompletionTokens != nil {
		limit, param = *r.MaxCompletionTokens, "max_completion_tokens"
	}
	r.MaxTokens = &limit
	if r.ResponseFormat == nil {
		r.ResponseFormat = &responseFormat{Type: "text"}
	}
	if r.N == nil {
		r.N = new(1)
	}
	switch {
	case r.Model == "":
		return invalid("model", "it is missing: this server has %s", name)
	case r.Model != name:
		return noModel(r.Model, name)
	case len(r.Messages) == 0:
		return invalid("messages", "there is none")
	case r.MaxCompletionTokens != nil && given != nil && *given != limit:
		return invalid("max_tokens", "it is %d, and max_completion_tokens is %d: send one of them", *given, limit)
	case limit < 1 || limit > most:
		return invalid(param, "it is %d, want 1 to %d", limit, most)
	case *r.N < 1 || *r.N > mostChoices:
		return invalid("n", "it is %d, want 1 to %d", *r.N, mostChoices)
	case slices.Contains(r.Stop, ""):
		return invalid("stop", "a text is empty")
	case r.TopLogProbs != 0 && !r.LogProbs:
		return invalid("top_logprobs", "it needs logprobs")
	case r.TopLogProbs < 0 || r.TopLogProbs > 20:
		return invalid("top_logprobs", "it is %d, want 0 to 20", r.TopLogProbs)
	case r.LogProbs && *r.N*limit*(r.TopLogProbs+1) > mostLogProbs:
		return invalid("top_logprobs", "%d choices of %d tokens with %d probabilities each are more than %d: lower one of them", *r.N, limit, r.TopLogProbs+1, mostLogProbs)
	case r.StreamOptions != nil && !r.Stream:
		return invalid("stream_options", "it needs stream")
	case r.Modalities != nil && !slices.Equal(r.Modalities, []string{"text"}):
		return invalid("modalities", "this server writes text alone")
	}
	for i, m := range r.Messages {
		if err := m.check(fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	return r.sampling.check(vocabulary)
}

// source is what the answer must follow, nil for any text.
func (r *request) source() (s xgrammar.Source, param string, err error) {
	format := r.ResponseFormat
	schema := xgrammar.JSONSchema{Text: string(format.JSONSchema.Schema), Compact: true}
	switch {
	case format.Type != "json_schema" && format.JSONSchema.Schema != nil:
		return nil, "", invalid("response_format.json_schema", "it needs the type json_schema")
	case format.Type == "json_schema" && len(format.JSONSchema.Schema) == 0:
		return nil, "", invalid("response_format.json_schema.schema", "it is not there")
	case format.Type == "json_schema":
		strict := format.JSONSchema.Strict
		schema.Loose = strict != nil && !*strict
	case format.Type == "json_object":
		schema.Text = `{"type": "object", "additionalProperties": true}`
	case format.Type != "text":
		return nil, "", invalid("response_format", "its type is %q, want text, json_object or json_schema", format.Type)
	}
	if len(r.Tools) > 0 || len(r.ToolChoice.Names) > 0 || !slices.Contains([]string{"", "auto", "none"}, r.ToolChoice.Mode) {
		f, err := r.calls(r.ToolChoice)
		if e := (*xgrammar.Error)(nil); errors.As(err, &e) {
			return nil, e.Item, err // tool_choice, or tools[0]
		}
		if err == nil && schema.Text != "" && f.Type == "triggered_tags" {
			// As OpenAI has it, an answer calls tools alone, or else follows the schema. A structural tag has no Loose, so a schema that is
			// not strict is followed as it is.
			f, err = r.calls(xgrammar.ToolChoice{Mode: "required", Names: r.ToolChoice.Names})
			f = xgrammar.Format{Type: "or", Elements: []xgrammar.Format{{Type: "json_schema", Schema: json.RawMessage(schema.Text)}, f}}
			param = "response_format or "
		}
		if err != nil || schema.Text == "" || f.Type != "any_text" {
			s, err = f.Tag()
			return s, param + "tools", err
		}
	}
	if schema.Text == "" {
		return nil, "", nil
	}
	return schema, "response_format", nil
}

// calls returns the format of an answer that calls tools as a choice says.
func (r *request) calls(choice xgrammar.ToolChoice) (xgrammar.Format, error) {
	return xgrammar.Qwen.Format(r.Tools, choice, r.ParallelToolCalls == nil || *r.ParallelToolCalls)
}

// loosely returns which parts of the schemas of a request XGrammar does not follow, for a header. It is an error if the
// request says that a schema is strict. Control characters in an answer are not among them: the server masks them.
func (r *request) loosely() (string, error) {
	var parts strings.Builder
	check := func(param string, text json.RawMessage, strict *bool) error {
		all, err := xgrammar.JSONSchema{Text: string(text)}.Check()
		if err != nil || strict != nil && !*strict {
			return nil // the compiler says more, or nobody asked for it
		}
		for _, d := range all {
			if d.Effect == xgrammar.Narrower || d.Control && len(r.Tools) == 0 {
				continue
			}
			if strict != nil {
				instead := ""
				if d.Instead != "" && len(d.Instead) < 2000 {
					instead = fmt.Sprintf("; this schema at %q is equal, and can be followed: %s", d.Place, d.Instead)
				}
				return invalid(param, "the schema is strict, and cannot be followed at %s%s", d, instead)
			}
			if parts.Len() > 2000 {
				parts.WriteString(", ...")
				return nil
			}
			if parts.Len() > 0 {
				parts.WriteString(", ")
			}
			parts.WriteString(param + " " + strconv.QuoteToASCII(fmt.Sprintf("%.200s", d.Pointer)))
		}
		return nil
	}
	if err := check("response_format", r.ResponseFormat.JSONSchema.Schema, r.ResponseFormat.JSONSchema.Strict); err != nil {
		return "", err
	}
	for i, tool := range r.Tools {
		f := tool.Function
		if r.ToolChoice.Mode == "none" || r.ToolChoice.Names != nil && !slices.Contains(r.ToolChoice.Names, f.Name) || parts.Len() > 2000 {
			continue
		}
		if err := check(fmt.Sprintf("tools[%d]", i), f.Parameters, f.Strict); err != nil {
			return "", err
		}
	}
	return parts.String(), nil
}

// chat returns the messages and the tools that may be called, as a model takes them.
func (r *request) chat() Chat {
	var c Chat
	for _, tool := range r.Tools {
		if r.ToolChoice.Mode != "none" && (r.ToolChoice.Names == nil || slices.Contains(r.ToolChoice.Names, tool.Function.Name)) {
			c.Tools = append(c.Tools, tool)
		}
	}
	for _, m := range r.Messages {
		to := Message{Role: m.Role}
		if m.Content != nil {
			to.Text = string(*m.Content)
		} else if m.Refusal != nil {
			to.Text = *m.Refusal
		}
		for _, c := range m.ToolCalls {
			to.Calls += xgrammar.Qwen.Begin + c.Function.Name + xgrammar.Qwen.Middle + cmp.Or(c.Function.Arguments, "{}") + xgrammar.Qwen.End
		}
		c.Messages = append(c.Messages, to)
	}
	return c
}
