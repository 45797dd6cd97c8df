package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// server answers HTTP requests with a model.
type server struct {
	model      Model
	vocabulary *xgrammar.Vocabulary
	compiler   *xgrammar.Compiler
	line       *line   // where sessions wait for a step, nil if the model has no steps of several
	plain      []int32 // the tokens that JSON may have: no control characters
	set        settings
	log        *slog.Logger
	busy       chan struct{} // one for each request that is answered
	stopping   atomic.Bool

	metrics *prometheus.Registry
	answers *prometheus.CounterVec   // by status
	tokens  prometheus.Counter       // of answers
	seconds *prometheus.HistogramVec // of stages
}

func newServer(m Model, set settings, log *slog.Logger) (*server, error) {
	v, err := m.Vocabulary()
	if err != nil {
		return nil, err
	}
	c, err := xgrammar.NewCompiler(v, xgrammar.CompilerOptions{Threads: 1, CacheBytes: 64 << 20, Isolation: &set.isolation})
	if err != nil {
		v.Release()
		return nil, err
	}
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := promauto.With(prometheus.WrapRegistererWithPrefix(set.name+"_", r))
	s := &server{
		model: m, vocabulary: v, compiler: c, set: set, log: log, busy: make(chan struct{}, set.requests), metrics: r,
		answers: f.NewCounterVec(prometheus.CounterOpts{Name: "answers_total", Help: "Answers by their HTTP status."}, []string{"status"}),
		tokens:  f.NewCounter(prometheus.CounterOpts{Name: "tokens_total", Help: "Tokens that the model has written."}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "seconds", Help: "Time of the stages of an answer: compile, write.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}, []string{"stage"}),
	}
	if b, ok := m.(Batcher); ok {
		sessions := f.NewHistogram(prometheus.HistogramOpts{Name: "sessions", Help: "Sessions of a step of the model.", Buckets: prometheus.ExponentialBuckets(1, 2, 7)})
		s.line = &line{model: b, log: log, seen: func(n int) { sessions.Observe(float64(n)) }}
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "busy", Help: "Requests that are being answered."}, func() float64 { return float64(len(s.busy)) })
	s.plain = make([]int32, (v.Size()+31)/32)
	for i := range v.Size() {
		if !bytes.ContainsFunc(v.Text(int32(i)), func(r rune) bool { return r < ' ' }) {
			s.plain[i/32] |= 1 << (i % 32)
		}
	}
	return s, nil
}

func (s *server) release() {
	s.compiler.Release()
	s.vocabulary.Release()
}

// handler returns the handler of all paths.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{s.about()}})
	})
	mux.HandleFunc("GET /v1/models/{name}", func(w http.ResponseWriter, r *http.Request) {
		if name := r.PathValue("name"); name != s.model.Name() {
			s.fail(w, noModel(name, s.model.Name()))
			return
		}
		reply(w, http.StatusOK, s.about())
	})
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", http.MethodPost)
		s.fail(w, &problem{http.StatusMethodNotAllowed, fmt.Sprintf("it takes POST, not %.20s", r.Method), "invalid_request_error", nil, "method_not_supported"})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, &problem{http.StatusNotFound, fmt.Sprintf("this server has no %s %.200s", r.Method, r.URL.Path), "invalid_request_error", nil, "unknown_url"})
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.stopping.Load() {
			reply(w, http.StatusServiceUnavailable, "stopping")
			return
		}
		reply(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
	// A page of another site must not make a browser write texts here.
	here := http.NewCrossOriginProtection()
	here.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.fail(w, &problem{http.StatusForbidden, "the request comes from a page of another site", "invalid_request_error", nil, "cross_origin"})
	}))
	return here.Handler(mux)
}

// about is what clients see of the model.
func (s *server) about() map[string]any {
	return map[string]any{"id": s.model.Name(), "object": "model", "created": 0, "owned_by": s.set.name}
}

func noModel(name, has string) error {
	return &problem{http.StatusNotFound, fmt.Sprintf("the model %q does not exist: this server has %s", name, has), "invalid_request_error", new("model"), "model_not_found"}
}

// open opens the session of the first choice.
func (s *server) open(ctx context.Context, q *request) (session Session, err error) {
	return session, apart(s.log, "the model", func() error {
		if session, err = s.model.Open(ctx, q.chat()); err != nil {
			return err
		}
		n, most := session.Len(), s.model.Context()
		if n < most {
			return nil
		}
		session.Close()
		return TooLong(n, most)
	})
}

// chat answers a chat completion.
func (s *server) chat(w http.ResponseWriter, r *http.Request) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		s.fail(w, errBusy)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.set.time, errTime)
	defer cancel()
	var q request
	err := s.read(w, r, &q)
	loosely := ""
	if err == nil {
		loosely, err = q.loosely()
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	if loosely != "" {
		w.Header().Set("Schema-Not-Followed", loosely)
	}
	matchers, err := s.matchers(ctx, &q)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer release(matchers)
	session, err := s.open(ctx, &q)
	if err != nil {
		s.fail(w, err)
		return
	}
	start := time.Now()
	defer func() { s.seconds.WithLabelValues("write").Observe(time.Since(start).Seconds()) }()
	a := answer{ID: "chatcmpl-" + rand.Text(), Created: start.Unix(), Model: s.model.Name()}
	if q.Stream {
		s.stream(ctx, w, &q, session, matchers, a)
	} else {
		s.whole(ctx, w, &q, session, matchers, a)
	}
}

// whole writes an answer, and sends it when it has its end.
func (s *server) whole(ctx context.Context, w http.ResponseWriter, q *request, session Session, matchers []*xgrammar.Matcher, a answer) {
	a.Choices = make([]choice, *q.N)
	for i := range *q.N {
		a.Choices[i] = choice{Index: i, Message: &message{Role: "assistant"}}
	}
	used, err := s.writeAll(ctx, q, session, matchers, func(i int, parts []part, finish string) error {
		c := &a.Choices[i]
		for _, p := range parts {
			c.add(p, q)
		}
		if finish != "" {
			c.end(finish, q)
		}
		return nil
	})
	if err != nil {
		s.fail(w, err)
		return
	}
	a.Object, a.Usage = "chat.completion", &used
	s.answers.WithLabelValues("200").Inc()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.set.write))
	reply(w, http.StatusOK, a)
}

func (s *server) read(w http.ResponseWriter, r *http.Request, q *request) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.set.body))
	err := d.Decode(q)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return q.check(s.model.Name(), s.set.tokens, s.vocabulary.Size())
		}
		return invalid("body", "it has text after the JSON object")
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", large.Limit), "invalid_request_error", nil, "too_large"}
	}
	if errors.Is(err, io.EOF) {
		return invalid("body", "it is empty, want a JSON object")
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return invalid(cmp.Or(strings.TrimPrefix(wrong.Field, "sampling."), "body"), "its type is %s, want %s", wrong.Value, cmp.Or(jsonTypes[wrong.Type.Kind()], "another one"))
	}
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}
	if e := (*xgrammar.Error)(nil); errors.As(err, &e) { // of tool_choice
		return invalid(e.Item, "%s", e.Reason())
	}
	return invalid("body", "%v", err)
}

// jsonTypes are the JSON types of a request's fields.
var jsonTypes = map[reflect.Kind]string{
	reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean",
	reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number",
}

// matcher returns a matcher for what the answer must follow, nil for any text.
func (s *server) matcher(ctx context.Context, q *request) (*xgrammar.Matcher, error) {
	source, param, err := q.source()
	if source == nil && err == nil {
		return nil, nil
	}
	start := time.Now()
	var grammar *xgrammar.Grammar
	if err == nil {
		grammar, err = s.compiler.Compile(ctx, source)
	}
	s.seconds.WithLabelValues("compile").Observe(time.Since(start).Seconds())
	if e := (*xgrammar.Error)(nil); errors.As(err, &e) && ctx.Err() == nil {
		return nil, invalid(param, "%s", e.Reason())
	}
	if err != nil {
		return nil, err
	}
	defer grammar.Release()
	return grammar.NewMatcher(xgrammar.MatcherOptions{})
}

// stream answers with Server-Sent Events.
func (s *server) stream(ctx context.Context, w http.ResponseWriter, q *request, session Session, matchers []*xgrammar.Matcher, a answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	send := func(v any) error {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_ = control.SetWriteDeadline(time.Now().Add(s.set.write))
		if _, err := fmt.Fprintf(w, "data: %s\n\n", line); err != nil || control.Flush() != nil {
			return context.Canceled // the client is gone
		}
		return nil
	}
	a.Object = "chat.completion.chunk"
	delta := func(c choice) error {
		a.Choices = []choice{c}
		return send(a)
	}
	for i := range *q.N {
		_ = delta(choice{Index: i, Delta: &message{Role: "assistant", Content: new(content(""))}})
	}
	used, err := s.writeAll(ctx, q, session, matchers, func(i int, parts []part, finish string) (err error) {
		for _, p := range parts {
			c := choice{Index: i, Delta: &p.message}
			if p.Content != nil {
				c.LogProbs = q.logProbs(p.tokens)
			}
			err = errors.Join(err, delta(c))
		}
		if err == nil && finish != "" {
			err = delta(choice{Index: i, Delta: &message{}, Finish: &finish})
		}
		return err
	})
	if err == nil && q.StreamOptions != nil && q.StreamOptions.IncludeUsage {
		a.Choices, a.Usage = []choice{}, &used
		err = send(a)
	}
	if err != nil {
		p := s.problem(err)
		s.answers.WithLabelValues(strconv.Itoa(p.status)).Inc()
		_ = send(map[string]*problem{"error": p}) // the client may be gone
		return
	}
	s.answers.WithLabelValues("200").Inc()
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// problem is what the client sees of an error. The log has the others.
func (s *server) problem(err error) *problem {
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}
	if errors.Is(err, context.Canceled) { // for the metrics, as other servers count it
		return unavailable(499, "gone", "the client is gone")
	}
	s.log.Error("request failed", "error", err)
	return unavailable(http.StatusInternalServerError, "internal", "an error that the log of the server has")
}

func (s *server) fail(w http.ResponseWriter, err error) {
	p := s.problem(err)
	s.answers.WithLabelValues(strconv.Itoa(p.status)).Inc()
	if p.status == http.StatusTooManyRequests || p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	reply(w, p.status, map[string]*problem{"error": p})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error of the connection has nobody to read about it
}
