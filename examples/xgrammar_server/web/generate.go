package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

// usage are the numbers of an answer.
type usage struct {
	Prompt  int `json:"prompt_tokens"`
	Output  int `json:"output_tokens"`
	Forced  int `json:"forced_tokens"`
	Drafted int `json:"drafted_tokens"`
	Guessed int `json:"draft_accepted_tokens"`
	Steps   int `json:"model_steps"`
}

// end is the last event of a stream, and with the text the whole answer without one.
type end struct {
	Text     *string       `json:"text,omitempty"`
	Finish   engine.Finish `json:"finish"`
	Complete bool          `json:"complete"`
	Usage    usage         `json:"usage"`
	Cached   bool          `json:"grammar_cached"`
	Compile  float64       `json:"grammar_ms"`
	Total    float64       `json:"total_ms"`
}

// token is an event of a stream.
type token struct {
	Token   int32  `json:"token"`
	Text    string `json:"text"`
	Forced  bool   `json:"forced,omitempty"`
	Drafted bool   `json:"drafted,omitempty"`
	Allowed int    `json:"allowed,omitempty"`
}

// generate answers POST /v1/generate.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		s.fail(w, r, refuse(http.StatusTooManyRequests, "too_many_requests", "server", fmt.Sprintf("%d requests are being answered", s.limits.Requests), "another try"))
		return
	}
	start := time.Now()
	defer s.seconds.Since(start)
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.limits.Time, errTime)
	defer cancel()
	q, spec, err := s.read(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	e := end{}
	var matcher *xgrammar.GrammarMatcher
	if spec.Kind != "" {
		if matcher, e.Cached, err = s.compiler.Matcher(ctx, spec); err != nil {
			s.fail(w, r, cause(ctx, err))
			return
		}
		e.Compile = milliseconds(start)
	}
	text, err := s.engine.Start(ctx, engine.Request{
		Prompt: q.Prompt, Matcher: matcher, JSON: spec.WritesJSON(),
		MaxTokens: *q.MaxTokens, Temperature: *q.Temperature, Seed: q.Seed,
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if q.Stream {
		s.stream(ctx, w, r, text, e, start)
		return
	}
	s.whole(ctx, w, r, text, e, start)
}

// cause says why a context ended: errTime if the time of the request is over.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// whole answers with one JSON object.
func (s *Server) whole(ctx context.Context, w http.ResponseWriter, r *http.Request, text *engine.Text, e end, start time.Time) {
	var out strings.Builder
	begun := false
	for p := range text.Parts {
		if !begun {
			begun = true
			s.first.Since(start)
		}
		out.WriteString(p.Text)
	}
	result, err := text.Wait()
	if err != nil {
		s.fail(w, r, cause(ctx, err))
		return
	}
	written := out.String()
	e.Text = &written
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.Write))
	answer(w, http.StatusOK, e.with(result, start))
}

func (e end) with(r engine.Result, start time.Time) end {
	e.Finish, e.Complete, e.Total = r.Finish, r.Complete, milliseconds(start)
	e.Usage = usage{r.Prompt, r.Output, r.Forced, r.Drafted, r.Guessed, r.Steps}
	return e
}

// stream answers with Server-Sent Events: token, many times, then done or error.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, text *engine.Text, e end, start time.Time) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not collect the events
	control := http.NewResponseController(w)
	send := func(events []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(s.limits.Write))
		if _, err := w.Write(events); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	var events bytes.Buffer
	begun, gone := false, false
	for p := range text.Parts {
		if !begun {
			begun = true
			s.first.Since(start)
		}
		event(&events, "token", token{p.Token, p.Text, p.Forced, p.Drafted, p.Allowed})
		// Those that are there already go into one write.
		if len(text.Parts) > 0 && events.Len() < 16<<10 {
			continue
		}
		if !gone && !send(events.Bytes()) {
			gone = true // net/http ends the context now, and the engine the text
		}
		events.Reset()
	}
	result, err := text.Wait()
	switch {
	case gone || r.Context().Err() != nil:
		s.canceled.Add(1)
		return
	case err != nil:
		p := problemOf(cause(ctx, err))
		if p.status == http.StatusInternalServerError {
			s.log.Error("stream failed", "error", err)
		}
		event(&events, "error", failure{*p})
	default:
		event(&events, "done", e.with(result, start))
	}
	send(events.Bytes())
}

// event appends an event. The JSON is on one line, so it needs no more than one data field.
func event(to *bytes.Buffer, name string, v any) {
	text, err := json.Marshal(v)
	if err != nil { // not for these types
		panic(err)
	}
	fmt.Fprintf(to, "event: %s\ndata: %s\n\n", name, text)
}
