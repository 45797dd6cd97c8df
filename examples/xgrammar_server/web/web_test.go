package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/model"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/web"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// site is a server on a port of this machine.
type site struct {
	*httptest.Server
	server *web.Server
	engine *engine.Engine
	log    *bytes.Buffer
}

// settings can be changed before a server starts.
type settings struct {
	engine   engine.Options
	web      web.Limits
	grammars grammar.Limits
}

func start(t *testing.T, change ...func(*settings)) site {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	s := settings{engine.DefaultOptions(), web.DefaultLimits(), grammar.DefaultLimits()}
	// The machine of a test may be busy.
	s.engine.Step, s.grammars.Step, s.grammars.Compile = 5*time.Second, 5*time.Second, time.Minute
	for _, f := range change {
		f(&s)
	}
	m := model.New()
	c, err := grammar.NewCompiler(m.Vocabulary(), int64(m.Stop()), s.grammars)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(m, s.engine)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server := web.New(e, c, len(m.Vocabulary()), s.web, s.grammars, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	h := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		h.Client().CloseIdleConnections()
		h.Close()
		e.Close()
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if log.Len() > 0 {
			t.Errorf("the log has warnings:\n%s", log.String())
		}
	})
	return site{h, server, e, &log}
}

// send posts a body and returns the status and the answer.
func (s site) send(t *testing.T, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/generate", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return s.do(t, r)
}

func (s site) do(t *testing.T, r *http.Request) (int, []byte) {
	t.Helper()
	a, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, text
}

func (s site) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, text := s.do(t, r)
	return status, string(text)
}

type answer struct {
	Text     string
	Finish   string
	Complete bool
	Cached   bool `json:"grammar_cached"`
	Usage    struct {
		Output int `json:"output_tokens"`
		Forced int `json:"forced_tokens"`
	}
	Error struct{ Code, Item, Found, Expected, Message string }
}

func decode(t *testing.T, text []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return a
}

const person = `{"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["name","age"]}`

// TestGenerate writes text under each kind of constraint.
func TestGenerate(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct{ fields, want string }{
		"schema":         {`"json_schema":` + person, `^\{"name": ".{0,12}", "age": \d+\}$`},
		"schema as text": {`"json_schema":` + strconv.Quote(person), `^\{"name": ".{0,12}", "age": \d+\}$`},
		"white space":    {`"whitespace":true,"json_schema":` + person, `(?s)^\{.*"age".*\}$`},
		"regex":          {`"regex":"[a-f]{3}-[0-9]{2}"`, `^[a-f]{3}-[0-9]{2}$`},
		"grammar":        {`"grammar":"root ::= \"<\" [a-z]{2,5} \">\""`, `^<[a-z]{2,5}>$`},
		"tag":            {`"structural_tag":{"type":"structural_tag","format":{"type":"sequence","elements":[{"type":"const_string","value":"ab"},{"type":"json_schema","json_schema":{"type":"boolean"}}]}}`, `^ab(true|false)$`},
		"any JSON":       {`"json":true`, `^[\[{]`},
		"free":           {`"max_tokens":5`, ``},
	} {
		for _, cached := range []bool{false, true} {
			status, text := s.send(t, `{"prompt":"Write:","seed":4,"temperature":0.7,`+c.fields+`}`)
			a := decode(t, text)
			if status != http.StatusOK || !regexp.MustCompile(c.want).MatchString(a.Text) || a.Finish == "stop" && !a.Complete {
				t.Errorf("%s: %d %s", name, status, text)
			}
			if a.Cached != cached && name != "free" && name != "schema as text" && name != "schema" {
				t.Errorf("%s: the grammar was in the cache: %t, want %t", name, a.Cached, cached)
			}
		}
	}
}

// TestStream has the same text in its events as the whole answer, and marks what was forced.
func TestStream(t *testing.T) {
	s := start(t)
	body := `{"prompt":"A person:","seed":9,"json_schema":` + person
	_, text := s.send(t, body+`}`)
	whole := decode(t, text)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/generate", strings.NewReader(body+`,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if kind := a.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("the type is %s", kind)
	}
	got, forced, tokens, done := "", 0, 0, answer{}
	lines := bufio.NewScanner(a.Body)
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Text    string
			Forced  bool
			Allowed int
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch event {
		case "token":
			got += e.Text
			tokens++
			if e.Forced {
				forced++
			} else if e.Allowed < 1 || e.Allowed > model.Size {
				t.Errorf("%d tokens were allowed", e.Allowed)
			}
		case "done":
			done = decode(t, []byte(data))
		default:
			t.Errorf("event %s", event)
		}
	}
	if got != whole.Text || forced != whole.Usage.Forced || tokens != whole.Usage.Output || forced == 0 || !done.Complete {
		t.Errorf("the events have %q with %d forced of %d tokens, the answer is %+v", got, forced, tokens, whole)
	}
}

// TestErrors has what a client can do wrong: each answer has a code, the item and what was expected.
func TestErrors(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		text   string
	}{
		"empty":           {``, 400, "invalid", "body"},
		"not JSON":        {`{"prompt":`, 400, "invalid", "unexpected EOF"},
		"two objects":     {`{} {}`, 400, "invalid", "after the JSON object"},
		"unknown field":   {`{"promt":"a"}`, 400, "unknown_field", "promt"},
		"wrong type":      {`{"max_tokens":"many"}`, 400, "invalid", "max_tokens"},
		"negative seed":   {`{"seed":-1}`, 400, "invalid", "seed"},
		"no tokens":       {`{"max_tokens":0}`, 400, "invalid", "1 to 1024"},
		"many tokens":     {`{"max_tokens":100000}`, 400, "invalid", "1 to 1024"},
		"hot":             {`{"temperature":3}`, 400, "invalid", "0 to 2"},
		"two constraints": {`{"regex":"a","json":true}`, 400, "invalid", "one at most"},
		"schema":          {`{"json_schema":{"type":"txt"}}`, 400, "invalid", `\"txt\"`},
		"schema in text":  {`{"json_schema":"{"}`, 400, "invalid", "JSON"},
		"empty regex":     {`{"regex":""}`, 400, "invalid", "empty"},
		"unsupported":     {`{"json_schema":{"not":{}}}`, 400, "unsupported", "not"},
		"unmatchable":     {`{"json_schema":{"$ref":"#"}}`, 400, "unmatchable", "end"},
		"expensive":       {`{"regex":"(a*)*"}`, 400, "too_expensive", "empty"},
		"deep":            {`{"json_schema":` + strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100) + `}`, 400, "too_deep", "levels"},
		"long regex":      {`{"regex":"` + strings.Repeat("a", 600) + `"}`, 413, "too_large", "512"},
		"long prompt":     {`{"prompt":"` + strings.Repeat("a", 20_000) + `"}`, 413, "too_large", "prompt"},
		"long body":       {`{"prompt":"` + strings.Repeat("a", 100_000) + `"}`, 413, "too_large", "body"},
	} {
		status, text := s.send(t, c.body)
		a := decode(t, text)
		if status != c.status || a.Error.Code != c.code || !strings.Contains(string(text), c.text) || a.Error.Item == "" || a.Error.Message == "" {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/generate", strings.NewReader("prompt=a"))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := s.do(t, r); status != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %d %s", status, text)
	}
	r = r.Clone(t.Context())
	r.Body = io.NopCloser(strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if status, text := s.do(t, r); status != http.StatusForbidden {
		t.Errorf("another site: %d %s", status, text)
	}
}

// TestBusy refuses a request while as many are answered as may be, and the time of one is bounded.
func TestBusy(t *testing.T) {
	s := start(t, func(s *settings) { s.web.Requests, s.web.Time = 1, 300*time.Millisecond; s.web.Tokens = 1 << 20 })
	long := `{"regex":"[a-z]+~","max_tokens":200000,"temperature":0}`
	done := make(chan answer)
	go func() {
		_, text := s.send(t, long)
		var a answer
		_ = json.Unmarshal(text, &a)
		done <- a
	}()
	for active, _ := s.engine.Load(); active == 0; active, _ = s.engine.Load() {
		time.Sleep(time.Millisecond)
	}
	refused := false
	for !refused {
		status, text := s.send(t, `{"max_tokens":1}`)
		refused = status == http.StatusTooManyRequests && decode(t, text).Error.Code == "too_many_requests"
		select {
		case a := <-done:
			t.Fatalf("the long request ended first: %+v", a)
		default:
		}
	}
	if a := <-done; a.Error.Code != "timeout" {
		t.Errorf("the long request: %+v", a)
	}
}

// TestClientLeaves ends the text of a client that closes its connection, and that of one that
// reads nothing; others are served meanwhile.
func TestClientLeaves(t *testing.T) {
	s := start(t, func(s *settings) { s.web.Tokens = 1 << 20; s.web.Write = time.Second })
	for range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"regex":"[a-z]+~","max_tokens":200000,"temperature":0,"stream":true}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/generate", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		a, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Body.Read(make([]byte, 10)); err != nil {
			t.Error(err)
		}
		if status, text := s.send(t, `{"regex":"[0-9]{3}"}`); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
		cancel()
		a.Body.Close()
	}
	s.idle(t)
}

// TestClientReadsNothing ends the text of a client that stays and does not read, long before the
// text is whole.
func TestClientReadsNothing(t *testing.T) {
	s := start(t, func(s *settings) { s.web.Tokens, s.web.Write = 1<<20, 200*time.Millisecond })
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const body = `{"regex":"[a-z]+~","max_tokens":1000000,"temperature":0,"stream":true}`
	_, err = fmt.Fprintf(c, "POST /v1/generate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	for active, _ := s.engine.Load(); active == 0; active, _ = s.engine.Load() {
		time.Sleep(time.Millisecond)
	}
	s.idle(t)
	if n := s.engine.Sampled.Value(); n >= 1_000_000 {
		t.Errorf("all %d tokens were written", n)
	}
}

// idle waits until no text is being written.
func (s site) idle(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for active, _ := s.engine.Load(); active > 0; active, _ = s.engine.Load() {
		if time.Now().After(deadline) {
			t.Fatalf("%d texts are still being written", active)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestMetrics reads every line as Prometheus does, and finds the numbers of what was done.
func TestMetrics(t *testing.T) {
	s := start(t)
	for range 2 {
		s.send(t, `{"json_schema":`+person+`}`)
	}
	s.send(t, `{"regex":"("}`)
	s.idle(t)
	status, text := s.get(t, "/metrics")
	line := regexp.MustCompile(`^(xgrammar_server_\w+(?:\{\w+="[^"]*"\})?) ([0-9.e+-]+)$`)
	values := map[string]float64{}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if strings.HasPrefix(l, "# HELP ") || strings.HasPrefix(l, "# TYPE ") {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Errorf("the line %q", l)
			continue
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Errorf("the line %q", l)
		}
		values[strings.TrimPrefix(m[1], "xgrammar_server_")] = v
	}
	for name, least := range map[string]float64{
		`http_answers_total{status="200"}`: 2, `http_answers_total{status="400"}`: 1, "cache_hits_total": 1, "cache_misses_total": 1,
		"cache_entries": 1, "cache_bytes": 100, "masks_total": 5, `tokens_total{from="model"}`: 4, `tokens_total{from="grammar"}`: 4,
		`request_seconds_bucket{le="+Inf"}`: 3, "request_seconds_count": 3, "compile_seconds_count": 1, "fill_seconds_sum": 1e-9, "native_cache_bytes": 1,
	} {
		if values[name] < least {
			t.Errorf("%s is %g, want %g at least", name, values[name], least)
		}
	}
	if status != http.StatusOK || values["texts_active"] != 0 {
		t.Errorf("%d, %g active", status, values["texts_active"])
	}
}

// TestHealth is about the paths for a load balancer and a supervisor.
func TestHealth(t *testing.T) {
	s := start(t)
	check := func(path string, want int) {
		t.Helper()
		if status, text := s.get(t, path); status != want || !strings.Contains(text, "status") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	check("/healthz", http.StatusOK)
	check("/readyz", http.StatusOK)
	s.server.Stop()
	check("/healthz", http.StatusOK)
	check("/readyz", http.StatusServiceUnavailable)
	s.engine.Close()
	check("/healthz", http.StatusServiceUnavailable)
	if status, text := s.send(t, `{"regex":"a"}`); status != http.StatusServiceUnavailable || decode(t, text).Error.Code != "stopping" {
		t.Errorf("%d %s", status, text)
	}
}

// TestPage has all files of the page, and none of them names another host.
func TestPage(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{"/": "<!doctype html>", "/app.js": "v1/generate", "/style.css": "prefers-color-scheme: dark", "/v1/limits": `"vocabulary":1024`} {
		status, text := s.get(t, path)
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d, without %q", path, status, want)
		}
		if u := regexp.MustCompile(`https?://[a-z.]+`).FindString(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")); u != "" {
			t.Errorf("%s names %s", path, u)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the policy is %q", policy)
	}
	if status, _ := s.get(t, "/nothing"); status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", status)
	}
}
