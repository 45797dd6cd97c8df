package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// request is the body of a chat completion. Other members of OpenAI's API change nothing.
type request struct {
	Model          string    `json:"model"`
	Messages       []message `json:"messages"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
			Strict *bool           `json:"strict"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Tools               []xgrammar.Tool     `json:"tools"`
	ToolChoice          xgrammar.ToolChoice `json:"tool_choice"`
	ParallelToolCalls   *bool               `json:"parallel_tool_calls"`
	MaxTokens           *int                `json:"max_tokens"`
	MaxCompletionTokens *int                `json:"max_completion_tokens"`
	Temperature         *float64            `json:"temperature"`
	Seed                *uint64             `json:"seed"`
	N                   *int                `json:"n"`
	Stop                json.RawMessage     `json:"stop"`
	Stream              bool                `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// message is a message of a chat, and what a part of an answer adds to one.
type message struct {
	Role      string     `json:"role,omitempty"`
	Content   *content   `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// content is a text, which clients may send in parts.
type content string

// UnmarshalJSON reads a text or the texts of parts.
func (c *content) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*string)(c)) == nil {
		return nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(text, &parts) != nil {
		return invalid("messages", "content is neither a string nor an array of parts with a type and a text")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return invalid("messages", "content has a part of the type %q, want text", p.Type)
		}
		*c += content(p.Text)
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
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Finish  *string  `json:"finish_reason"`
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

func unavailable(status int, code, text string) *problem {
	return &problem{status: status, Message: text, Type: "server_error", Code: code}
}

var (
	errStopping = unavailable(http.StatusServiceUnavailable, "stopping", "the server stops: ask another one")
	errTime     = unavailable(http.StatusGatewayTimeout, "timeout", "the answer takes too long: ask for fewer tokens or a simpler format")
	errBusy     = unavailable(http.StatusTooManyRequests, "busy", "too many requests are being answered: try again")
)

// check fills in defaults and returns the first mistake.
func (r *request) check(most int) error {
	limit, name := min(256, most), "max_tokens"
	if r.MaxTokens != nil {
		limit = *r.MaxTokens
	}
	if r.MaxCompletionTokens != nil {
		limit, name = *r.MaxCompletionTokens, "max_completion_tokens"
	}
	r.MaxTokens = &limit
	if r.Temperature == nil {
		r.Temperature = new(0.8)
	}
	switch {
	case r.Model == "":
		return invalid("model", "it is missing: this server has %s", modelName)
	case r.Model != modelName:
		return &problem{http.StatusNotFound, fmt.Sprintf("the model %q does not exist: this server has %s", r.Model, modelName), "invalid_request_error", new("model"), "model_not_found"}
	case len(r.Messages) == 0:
		return invalid("messages", "there is none")
	case limit < 1 || limit > most:
		return invalid(name, "it is %d, want 1 to %d", limit, most)
	case !(*r.Temperature >= 0 && *r.Temperature <= 2):
		return invalid("temperature", "it is %v, want 0 to 2", *r.Temperature)
	case r.N != nil && *r.N != 1:
		return invalid("n", "it is %d: this server writes one answer", *r.N)
	case len(r.Stop) > 0 && string(r.Stop) != "null":
		return invalid("stop", "this server does not support it: use a format that ends")
	}
	return nil
}

// source is what the answer must follow, nil for any text.
func (r *request) source() (s xgrammar.Source, param string, err error) {
	format := r.ResponseFormat
	switch {
	case len(r.Tools) > 0 && format.Type != "" && format.Type != "text":
		return nil, "", invalid("response_format", "this server does not support it together with tools")
	case len(r.Tools) > 0 || len(r.ToolChoice.Names) > 0 || !slices.Contains([]string{"", "auto", "none"}, r.ToolChoice.Mode):
		f, err := xgrammar.Qwen.Format(r.Tools, r.ToolChoice, r.ParallelToolCalls == nil || *r.ParallelToolCalls)
		if e := (*xgrammar.Error)(nil); errors.As(err, &e) {
			return nil, e.Item, err // tool_choice, or tools[0]
		}
		s, err = f.Tag()
		return s, "tools", err
	case format.Type == "json_schema" && len(format.JSONSchema.Schema) == 0:
		return nil, "", invalid("response_format.json_schema.schema", "it is not there")
	case format.Type == "json_schema":
		strict := format.JSONSchema.Strict
		return xgrammar.JSONSchema{Text: string(format.JSONSchema.Schema), Compact: true, Loose: strict != nil && !*strict}, "response_format", nil
	case format.Type == "json_object":
		return xgrammar.JSONSchema{Text: `{"type": "object"}`, Compact: true, Loose: true}, "response_format", nil
	case format.Type != "" && format.Type != "text":
		return nil, "", invalid("response_format", "its type is %q, want text, json_object or json_schema", format.Type)
	}
	return nil, "", nil
}

// prompt is the chat as a text that the model continues.
func (r *request) prompt() string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Content != nil {
			fmt.Fprintf(&b, "%s: %s\n", m.Role, *m.Content)
		}
	}
	return b.String()
}
