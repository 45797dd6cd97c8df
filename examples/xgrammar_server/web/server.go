// Package web is the HTTP side of the server: the API, its errors, health, metrics, and a page
// to try it.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/metrics"
)

// Limits bound what one request may ask for.
type Limits struct {
	Body     int64         // bytes of a request
	Prompt   int           // bytes of a prompt
	Tokens   int           // tokens of an answer
	Requests int           // requests that are answered at the same time
	Time     time.Duration // from the request to the end of its answer
	Write    time.Duration // a client that reads nothing for so long is gone
	Stuck    time.Duration // a step or a compilation that takes longer makes the server unhealthy
}

// DefaultLimits returns limits for a server that strangers use.
func DefaultLimits() Limits {
	return Limits{
		Body: 64 << 10, Prompt: 16 << 10, Tokens: 1024, Requests: 300,
		Time: 60 * time.Second, Write: 10 * time.Second, Stuck: 30 * time.Second,
	}
}

// Server answers HTTP requests with an engine and a compiler, which the caller owns.
type Server struct {
	engine   *engine.Engine
	compiler *grammar.Compiler
	limits   Limits
	grammars grammar.Limits
	size     int // of the vocabulary
	log      *slog.Logger
	busy     chan struct{} // one for each request that is answered
	stopping atomic.Bool
	answers  [600]metrics.Counter // by status
	seconds  metrics.Histogram    // of whole requests
	first    metrics.Histogram    // until the first token
	canceled metrics.Counter
}

var errTime = errors.New("the answer took too long")

// New returns a server for a vocabulary of some size.
func New(e *engine.Engine, c *grammar.Compiler, size int, limits Limits, grammars grammar.Limits, log *slog.Logger) *Server {
	return &Server{engine: e, compiler: c, size: size, limits: limits, grammars: grammars, log: log, busy: make(chan struct{}, limits.Requests)}
}

// Stop makes GET /readyz fail, so that a load balancer sends no more requests.
func (s *Server) Stop() { s.stopping.Store(true) }

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/generate", s.generate)
	mux.HandleFunc("GET /v1/limits", s.showLimits)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /", page())
	// A page of another site must not make the browser of a visitor write texts here.
	return s.observe(http.NewCrossOriginProtection().Handler(mux))
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the first status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write sends the status 200 if none was sent.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// observe counts and logs requests, and adds the headers that all answers have.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		next.ServeHTTP(rec, r)
		status := rec.status
		if status == 0 { // nothing was written: the client is gone
			status = 499
		}
		if status < len(s.answers) {
			s.answers[status].Add(1)
		}
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", status), slog.Duration("took", time.Since(start)))
	})
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	err := s.engine.Check(s.limits.Stuck)
	if oldest := s.compiler.Stats().Oldest; err == nil && oldest > s.limits.Stuck+s.grammars.Compile {
		err = errors.New("a compilation does not end")
	}
	s.health(w, err)
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Load() {
		s.health(w, engine.ErrStopped)
		return
	}
	s.healthz(w, r)
}

func (s *Server) health(w http.ResponseWriter, err error) {
	if err != nil {
		answer(w, http.StatusServiceUnavailable, map[string]string{"status": err.Error()})
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// showLimits answers with the limits, for clients and for the page.
func (s *Server) showLimits(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"body_bytes": s.limits.Body, "prompt_bytes": s.limits.Prompt, "max_tokens": s.limits.Tokens,
		"seconds": s.limits.Time.Seconds(), "vocabulary": s.size,
		"source_bytes": s.grammars.Source, "nesting": s.grammars.Nesting, "schema_values": s.grammars.Values,
		"properties": s.grammars.Properties, "alternatives": s.grammars.Alternatives,
		"regex_bytes": s.grammars.Regex, "regex_groups": s.grammars.Groups, "repetitions": s.grammars.Repeat, "rules": s.grammars.Rules,
	})
}

// answer writes JSON. An error of the connection has nobody to read about it.
func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// fail writes an error, unless the client is gone.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && !errors.Is(err, errTime) {
		s.canceled.Add(1)
		return
	}
	p := problemOf(err)
	if p.status == http.StatusInternalServerError {
		s.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError, "request failed", slog.Any("error", err))
	}
	if p.status == http.StatusTooManyRequests || p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, p.status, failure{*p})
}
