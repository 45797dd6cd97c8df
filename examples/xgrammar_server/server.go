package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

// limits bound what one request may ask for.
type limits struct {
	body         int64         // bytes of a request
	source       int           // bytes of a constraint
	tokens       int           // of an answer
	requests     int           // that are answered at the same time
	compilations int           // that run at the same time
	time         time.Duration // from a request to the end of its answer
	write        time.Duration // a client that reads nothing for so long is gone
}

var defaults = limits{body: 64 << 10, source: 16 << 10, tokens: 1024, requests: 64, compilations: 2, time: time.Minute, write: 10 * time.Second}

// server answers HTTP requests with a model.
type server struct {
	model    Model
	masks    masks
	grammars *grammars
	limits   limits
	log      *slog.Logger
	busy     chan struct{} // one for each request that is answered
}

func newServer(m Model, l limits, log *slog.Logger) (*server, error) {
	g, err := newGrammars(m, l.compilations)
	if err != nil {
		return nil, err
	}
	return &server{model: m, masks: newMasks(m.Vocabulary()), grammars: g, limits: l, log: log, busy: make(chan struct{}, l.requests)}, nil
}

// handler returns the handler of all paths.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/generate", s.generate)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	// A page of another site must not make a browser write texts here.
	return http.NewCrossOriginProtection().Handler(mux)
}

// problem is an error that the client sees.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (p *problem) Error() string { return p.Message }

var statuses = map[string]int{
	"too_large": http.StatusRequestEntityTooLarge, "unmatchable": http.StatusUnprocessableEntity,
	"busy": http.StatusTooManyRequests, "stopping": http.StatusServiceUnavailable, "timeout": http.StatusGatewayTimeout,
	"internal": http.StatusInternalServerError,
}

var (
	errStopping = &problem{"stopping", "the server stops: ask another one"}
	errTime     = &problem{"timeout", "the answer takes too long: ask for fewer tokens or a simpler constraint"}
	errBusy     = &problem{"busy", "too many requests are being answered: try again"}
)

// question is the body of a request, with at most one constraint.
type question struct {
	Prompt        string          `json:"prompt"`
	JSON          bool            `json:"json"`
	JSONSchema    json.RawMessage `json:"json_schema"`
	Regex         *string         `json:"regex"`
	Grammar       *string         `json:"grammar"`
	StructuralTag json.RawMessage `json:"structural_tag"`
	Whitespace    bool            `json:"whitespace"`
	MaxTokens     int             `json:"max_tokens"`
	Temperature   float64         `json:"temperature"`
	Seed          uint64          `json:"seed"`
	Stream        bool            `json:"stream"`
}

func (s *server) read(w http.ResponseWriter, r *http.Request) (question, error) {
	q := question{MaxTokens: min(256, s.limits.tokens), Temperature: 0.8}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.limits.body))
	d.DisallowUnknownFields()
	err := d.Decode(&q)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return q, &problem{"too_large", fmt.Sprintf("the body has more than %d bytes", large.Limit)}
	}
	if err != nil {
		return q, &problem{"invalid", "the body: " + err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return q, &problem{"invalid", "the body has text after the JSON object"}
	}
	if q.MaxTokens < 1 || q.MaxTokens > s.limits.tokens {
		return q, &problem{"invalid", fmt.Sprintf("max_tokens is %d, want 1 to %d", q.MaxTokens, s.limits.tokens)}
	}
	if q.Temperature < 0 || q.Temperature > 2 {
		return q, &problem{"invalid", fmt.Sprintf("temperature is %v, want 0 to 2", q.Temperature)}
	}
	return q, nil
}

// constraint returns the constraint in the question, or nil if there is none.
func (q *question) constraint(most int) (*constraint, error) {
	var found []constraint
	add := func(kind string, there bool, source string) {
		if there {
			found = append(found, constraint{kind, source, q.Whitespace})
		}
	}
	add("json", q.JSON, "")
	for kind, raw := range map[string]json.RawMessage{"json_schema": q.JSONSchema, "structural_tag": q.StructuralTag} {
		source := string(raw) // JSON, or a string with JSON in it
		if bytes.HasPrefix(raw, []byte(`"`)) {
			if err := json.Unmarshal(raw, &source); err != nil {
				return nil, &problem{"invalid", kind + ": " + err.Error()}
			}
		}
		add(kind, len(raw) > 0 && source != "null", source)
	}
	if q.Regex != nil {
		add("regex", true, *q.Regex)
	}
	if q.Grammar != nil {
		add("grammar", true, *q.Grammar)
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, &problem{"invalid", fmt.Sprintf("the constraints %s and %s: want one at most", found[0].kind, found[1].kind)}
	case len(found[0].source) > most:
		return nil, &problem{"too_large", fmt.Sprintf("%s has %d bytes, want %d at most", found[0].kind, len(found[0].source), most)}
	}
	return &found[0], nil
}

// generate answers POST /v1/generate.
func (s *server) generate(w http.ResponseWriter, r *http.Request) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		s.fail(w, errBusy)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.limits.time, errTime)
	defer cancel()
	q, err := s.read(w, r)
	if err != nil {
		s.fail(w, err)
		return
	}
	c, err := q.constraint(s.limits.source)
	if err != nil {
		s.fail(w, err)
		return
	}
	text := &writing{model: s.model, masks: s.masks, most: q.MaxTokens, temperature: q.Temperature, chance: rand.New(rand.NewPCG(q.Seed, 0))}
	if c != nil {
		var m *xgrammar.GrammarMatcher
		if m, err = s.grammars.matcher(ctx, *c); err != nil {
			s.fail(w, err)
			return
		}
		defer m.Release()
		text.matcher, text.json = m, strings.HasPrefix(c.kind, "json")
	}
	if q.Stream {
		s.stream(ctx, w, text, q.Prompt)
		return
	}
	var out strings.Builder
	finish, used, err := text.run(ctx, q.Prompt, func(part string) error { out.WriteString(part); return nil })
	if err != nil {
		s.fail(w, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.write))
	answer(w, http.StatusOK, end{new(out.String()), finish, used})
}

// end is an answer, or the last event of a stream without the text.
type end struct {
	Text   *string `json:"text,omitempty"`
	Finish string  `json:"finish"`
	Usage  usage   `json:"usage"`
}

// stream answers with Server-Sent Events: token, many times, then done or error.
func (s *server) stream(ctx context.Context, w http.ResponseWriter, text *writing, prompt string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	send := func(name string, v any) error {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_ = control.SetWriteDeadline(time.Now().Add(s.limits.write))
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, line); err != nil {
			return err
		}
		return control.Flush()
	}
	finish, used, err := text.run(ctx, prompt, func(part string) error {
		if send("token", map[string]string{"text": part}) != nil {
			return context.Canceled // the client is gone
		}
		return nil
	})
	if err != nil {
		_ = send("error", map[string]*problem{"error": s.problem(err)}) // the client may be gone
		return
	}
	_ = send("done", end{nil, finish, used})
}

// problem is what the client sees of an error. The log has the others.
func (s *server) problem(err error) *problem {
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}
	if !errors.Is(err, context.Canceled) { // then the client is gone
		s.log.Error("request failed", "error", err)
	}
	return &problem{"internal", "an error that the log of the server has"}
}

func (s *server) fail(w http.ResponseWriter, err error) {
	p := s.problem(err)
	status := statuses[p.Code]
	if status == 0 {
		status = http.StatusBadRequest
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, status, map[string]*problem{"error": p})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error of the connection has nobody to read about it
}
