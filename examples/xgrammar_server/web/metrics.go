package web

import (
	"net/http"
	"strconv"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/metrics"
)

// metrics answers GET /metrics in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out := metrics.NewWriter(w)
	var answers []metrics.Sample
	for status := range s.answers {
		if n := s.answers[status].Value(); n > 0 {
			answers = append(answers, metrics.Sample{Label: strconv.Itoa(status), Value: n})
		}
	}
	const p = "xgrammar_server_"
	out.Labelled(p+"http_answers_total", "Answers by HTTP status; 499 is a client that left.", "status", answers)
	out.Histogram(p+"request_seconds", "Time of requests to /v1/generate.", &s.seconds)
	out.Histogram(p+"first_token_seconds", "Time from a request to its first token.", &s.first)
	out.Counter(p+"requests_canceled_total", "Requests whose client left.", s.canceled.Value())
	s.engineMetrics(out, p)
	s.grammarMetrics(out, p)
	if err := out.Err(); err != nil {
		s.log.Debug("metrics", "error", err)
	}
}

func (s *Server) engineMetrics(out *metrics.Writer, p string) {
	e := s.engine
	active, waiting := e.Load()
	out.Gauge(p+"texts_active", "Texts that are being written.", int64(active))
	out.Gauge(p+"texts_waiting", "Texts that wait for a place in the batch.", int64(waiting))
	out.Labelled(p+"tokens_total", "Tokens that were written, by where they came from.", "from", []metrics.Sample{
		{Label: "model", Value: e.Sampled.Value()}, {Label: "grammar", Value: e.Forced.Value()},
	})
	out.Counter(p+"draft_tokens_total", "Tokens that the model proposed.", e.Drafted.Value())
	out.Counter(p+"draft_tokens_accepted_total", "Proposed tokens that were right.", e.Accepted.Value())
	out.Counter(p+"tokens_rolled_back_total", "Proposed tokens that a matcher took back.", e.RolledBack.Value())
	out.Counter(p+"masks_total", "Masks that were filled.", e.Masks.Value())
	out.Counter(p+"steps_total", "Steps of the engine.", e.Steps.Value())
	out.Histogram(p+"step_seconds", "Time of a step for all texts.", &e.StepTime)
	out.Histogram(p+"fill_seconds", "Time of one call that fills masks.", &e.FillTime)
	out.Histogram(p+"model_seconds", "Time of one call of the model.", &e.ModelTime)
}

func (s *Server) grammarMetrics(out *metrics.Writer, p string) {
	c := s.compiler
	stats := c.Stats()
	out.Histogram(p+"compile_seconds", "Time of compilations, with the trial.", &c.Seconds)
	out.Counter(p+"grammars_refused_total", "Constraints that were refused.", c.Refused.Value())
	out.Counter(p+"cache_hits_total", "Constraints that were in the cache.", int64(stats.Hits))
	out.Counter(p+"cache_misses_total", "Constraints that were not in the cache.", c.Missed.Value())
	out.Counter(p+"cache_evictions_total", "Compiled grammars that the cache dropped.", int64(stats.Evicted))
	out.Gauge(p+"cache_entries", "Compiled grammars in the cache.", int64(stats.Entries))
	out.Gauge(p+"cache_bytes", "Bytes of the compiled grammars in the cache.", stats.Bytes)
	out.Gauge(p+"native_cache_bytes", "Bytes of the cache of XGrammar itself.", stats.NativeBytes)
	out.Gauge(p+"compilations", "Compilations that run or wait.", int64(stats.Compiling))
}
