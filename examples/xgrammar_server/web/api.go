package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
)

// question is the body of POST /v1/generate.
type question struct {
	Prompt        string          `json:"prompt"`
	JSON          bool            `json:"json"`
	JSONSchema    json.RawMessage `json:"json_schema"`
	Regex         *string         `json:"regex"`
	Grammar       *string         `json:"grammar"`
	StructuralTag json.RawMessage `json:"structural_tag"`
	Whitespace    bool            `json:"whitespace"`
	MaxTokens     *int            `json:"max_tokens"`
	Temperature   *float64        `json:"temperature"`
	Seed          uint64          `json:"seed"`
	Stream        bool            `json:"stream"`
}

// failure is the body of an error.
type failure struct {
	Error problem `json:"error"`
}

type problem struct {
	Code     string `json:"code"`
	Item     string `json:"item"`
	Found    string `json:"found"`
	Expected string `json:"expected,omitempty"`
	Message  string `json:"message"`
	status   int
}

// Error returns the message that the client gets.
func (p *problem) Error() string { return p.Message }

func refuse(status int, code, item, found, expected string) *problem {
	message := (&grammar.Error{Code: code, Item: item, Found: found, Expected: expected}).Error()
	return &problem{code, item, found, expected, message, status}
}

// statuses are the HTTP statuses of refused constraints; the others are 400.
var statuses = map[string]int{
	grammar.TooLarge: http.StatusRequestEntityTooLarge,
	grammar.Busy:     http.StatusServiceUnavailable,
	grammar.TimedOut: http.StatusGatewayTimeout,
}

// problemOf makes a problem of any error. What a client cannot mend has little detail: the log
// has the rest.
func problemOf(err error) *problem {
	var p *problem
	var g *grammar.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &g):
		status, ok := statuses[g.Code]
		if !ok {
			status = http.StatusBadRequest
		}
		return refuse(status, g.Code, g.Item, g.Found, g.Expected)
	case errors.Is(err, engine.ErrFull):
		return refuse(http.StatusTooManyRequests, "too_many_requests", "server", err.Error(), "another try")
	case errors.Is(err, engine.ErrStopped):
		return refuse(http.StatusServiceUnavailable, "stopping", "server", err.Error(), "another server")
	case errors.Is(err, engine.ErrSlow):
		return refuse(http.StatusUnprocessableEntity, grammar.TooExpensive, "constraint", err.Error(), "a simpler one")
	case errors.Is(err, engine.ErrDead):
		return refuse(http.StatusUnprocessableEntity, grammar.Unmatchable, "constraint", err.Error(), "one that a text can follow")
	case errors.Is(err, errTime):
		return refuse(http.StatusGatewayTimeout, "timeout", "request", err.Error(), "fewer tokens")
	}
	return refuse(http.StatusInternalServerError, "internal", "server", "an error that the log has", "")
}

// read reads and checks the body of a request.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (question, grammar.Spec, error) {
	var q question
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return q, grammar.Spec{}, refuse(http.StatusUnsupportedMediaType, "content_type", "Content-Type", fmt.Sprintf("%q", kind), "application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.limits.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, grammar.Spec{}, bodyProblem(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return q, grammar.Spec{}, refuse(http.StatusBadRequest, grammar.Invalid, "body", "text after the JSON object", "one object")
	}
	if len(q.Prompt) > s.limits.Prompt {
		return q, grammar.Spec{}, refuse(http.StatusRequestEntityTooLarge, grammar.TooLarge, "prompt", fmt.Sprintf("%d bytes", len(q.Prompt)), fmt.Sprintf("%d at most", s.limits.Prompt))
	}
	if q.MaxTokens == nil {
		q.MaxTokens = new(min(256, s.limits.Tokens))
	}
	if n := *q.MaxTokens; n < 1 || n > s.limits.Tokens {
		return q, grammar.Spec{}, refuse(http.StatusBadRequest, grammar.Invalid, "max_tokens", fmt.Sprint(n), fmt.Sprintf("1 to %d", s.limits.Tokens))
	}
	if q.Temperature == nil {
		q.Temperature = new(0.8)
	}
	if t := *q.Temperature; t < 0 || t > 2 {
		return q, grammar.Spec{}, refuse(http.StatusBadRequest, grammar.Invalid, "temperature", fmt.Sprint(t), "0 to 2")
	}
	spec, err := q.spec()
	return q, spec, err
}

func bodyProblem(err error) *problem {
	var large *http.MaxBytesError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &large):
		return refuse(http.StatusRequestEntityTooLarge, grammar.TooLarge, "body", "more bytes", fmt.Sprintf("%d at most", large.Limit))
	case errors.As(err, &kind):
		return refuse(http.StatusBadRequest, grammar.Invalid, kind.Field, "a JSON "+kind.Value, kind.Type.String())
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return refuse(http.StatusBadRequest, "unknown_field", "body", strings.TrimPrefix(err.Error(), "json: "), "prompt, json, json_schema, regex, grammar, structural_tag, whitespace, max_tokens, temperature, seed, stream")
	}
	return refuse(http.StatusBadRequest, grammar.Invalid, "body", err.Error(), "a JSON object")
}

// spec returns the constraint of a request. Its Kind is "" if there is none.
func (q *question) spec() (grammar.Spec, error) {
	var found []grammar.Spec
	add := func(there bool, kind grammar.Kind, source string) {
		if there {
			found = append(found, grammar.Spec{Kind: kind, Source: source})
		}
	}
	schema, err := source(q.JSONSchema)
	if err != nil {
		return grammar.Spec{}, err
	}
	tag, err := source(q.StructuralTag)
	if err != nil {
		return grammar.Spec{}, err
	}
	add(q.JSON, grammar.JSON, "")
	add(schema != "", grammar.JSONSchema, schema)
	add(q.Regex != nil, grammar.Regex, deref(q.Regex))
	add(q.Grammar != nil, grammar.EBNF, deref(q.Grammar))
	add(tag != "", grammar.StructuralTag, tag)
	switch len(found) {
	case 0:
		return grammar.Spec{}, nil
	case 1:
		found[0].Whitespace = q.Whitespace && found[0].Kind == grammar.JSONSchema
		return found[0], nil
	}
	return grammar.Spec{}, refuse(http.StatusBadRequest, grammar.Invalid, "constraint", fmt.Sprintf("%s and %s", found[0].Kind, found[1].Kind), "one at most")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// source returns the text of a schema, which may also be a string with the JSON in it.
func source(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		raw = []byte(text)
	}
	return grammar.Compact(raw)
}
