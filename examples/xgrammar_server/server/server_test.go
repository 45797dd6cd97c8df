package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// TestMain runs the program itself where a test starts it as a process.
func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("xgrammar")
	if os.Getenv("XGRAMMAR_SERVER_TEST_PROGRAM") != "" {
		Main("xgrammar_server", toyModel)
		return
	}
	xgrammar.Main()
	os.Exit(m.Run())
}

// start starts a server. When the test ends, nothing of it may be left to the garbage collector.
func start(t *testing.T, change func(*settings)) (*server, string) {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	set := defaults
	if change != nil {
		change(&set)
	}
	return startModel(t, newToy(), set)
}

func toyModel() (Model, error) { return Toy(), nil }

func startModel(t *testing.T, m Model, set settings) (*server, string) {
	t.Helper()
	s, err := newServer(m, set, slog.New(slog.NewTextHandler(failing{t}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		h.Close()
		s.release()
	})
	return s, h.URL
}

// failing fails the test at each line of the log: the server logs only what clients cannot mend.
type failing struct{ testing.TB }

func (f failing) Write(line []byte) (int, error) {
	f.Errorf("the server logs %s", line)
	return len(line), nil
}

// post sends the members of a chat completion, and returns the status and the body of the answer.
func post(ctx context.Context, url, members string) (status int, text string, err error) {
	for _, m := range []string{`"model": "toy"`, `"messages": [{"role": "user", "content": "The capital of"}]`} {
		if name, _, _ := strings.Cut(m, " "); !strings.Contains(members, name) {
			members = m + ", " + members
		}
	}
	return send(ctx, url, `{`+members+`}`)
}

func send(ctx context.Context, url, body string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, string(all), err
}

const tools = `"tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Paris"]}}, "required": ["city"]}}}]`

// formats has what whole answers match.
var formats = []struct{ members, want string }{
	{`"response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": {"type": "object", "required": ["name", "age"],
		"properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 120}}}}}`,
		`^\{"name": ".*", "age": (\d|[1-9]\d|1[01]\d|120)\}$`},
	{`"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "string", "minLength": 40, "maxLength": 60}}}, "temperature": 2`, `^".*"$`}, // without control characters
	{`"response_format": {"type": "json_object"}`, `^\{.*\}$`},
	{`"response_format": {"type": "text"}, "max_completion_tokens": 20`, ``},
	{tools + `, "tool_choice": "required", "parallel_tool_calls": false`, `^weather\{\s*"city"\s*:\s*"(Oslo|Paris)"\s*\}$`},
	{tools + `, "tool_choice": "none", "max_completion_tokens": 20`, ``},
	{tools + `, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"enum": ["no", "yes"]}}}`, `^("no"|"yes"|(\n?weather\{\s*"city"\s*:\s*"(Oslo|Paris)"\s*\})+)$`},
	{tools + `, "tool_choice": "none", "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"enum": ["no", "yes"]}}}`, `^"(no|yes)"$`},
	{`"stop": ["e", "th"], "top_p": 0.9, "presence_penalty": 0.5, "logit_bias": {"98": -100}, "max_completion_tokens": 20, "user": "u", "logprobs": null`, `^([^et]|t[^he])*t?$`},
	{`"tools": [{"type": "function", "function": {"name": "now"}}], "tool_choice": "required", "parallel_tool_calls": false`, `^now\{\s*\}$`},
}

// ask asks for a format and checks the answer: its text, or the name and arguments of its call.
func ask(ctx context.Context, url string, number, seed int) (text, finish string, err error) {
	f := formats[number%len(formats)]
	status, body, err := post(ctx, url, fmt.Sprintf(`"seed": %d, %s`, seed, f.members))
	if err != nil {
		return "", "", err
	}
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK || len(a.Choices) != 1 || a.Usage.Total != a.Usage.Prompt+a.Usage.Completion {
		return "", "", fmt.Errorf("%s: %d %s", f.members, status, body)
	}
	m, finish := a.Choices[0].Message, *a.Choices[0].Finish
	if m.Content != nil {
		text = string(*m.Content)
	}
	for _, c := range m.ToolCalls {
		text += c.Function.Name + c.Function.Arguments
	}
	if text != "" && a.Usage.Completion == 0 { // no text is right where the format allows it
		return "", "", fmt.Errorf("%s: %q of no tokens", f.members, text)
	}
	if finish != "length" && !regexp.MustCompile(f.want).MatchString(text) || !utf8.ValidString(text) {
		return "", "", fmt.Errorf("%s: %q does not match %s", f.members, text, f.want)
	}
	if finish == "stop" && strings.Contains(f.members, `"json_`) && !json.Valid([]byte(text)) {
		return "", "", fmt.Errorf("%s: %q is not JSON", f.members, text)
	}
	return text, finish, nil
}

// TestFormats writes 20 texts in each format. The same seed has the same text.
func TestFormats(t *testing.T) {
	_, url := start(t, nil)
	for number, f := range formats {
		whole := 0
		for seed := range 20 {
			first, finish, err := ask(t.Context(), url, number, seed)
			if err != nil {
				t.Fatal(err)
			}
			if again, _, err := ask(t.Context(), url, number, seed); err != nil || again != first {
				t.Errorf("%s: %q, then %q, %v", f.members, first, again, err)
			}
			if finish != "length" {
				whole++
			}
		}
		if whole == 0 {
			t.Errorf("%s: no text was complete", f.members)
		}
	}
}

// TestStream: the parts of a stream are the answer without a stream.
func TestStream(t *testing.T) {
	_, url := start(t, nil)
	for number, f := range formats {
		want, finish, err := ask(t.Context(), url, number, 3)
		if err != nil {
			t.Fatal(err)
		}
		_, events, err := post(t.Context(), url, f.members+`, "seed": 3, "stream": true, "stream_options": {"include_usage": true}`)
		if err != nil || !strings.HasSuffix(events, "data: [DONE]\n\n") {
			t.Fatalf("%v %s", err, events)
		}
		text, last, used := "", "", 0
		for line := range strings.SplitSeq(strings.TrimSuffix(events, "data: [DONE]\n\n"), "\n\n") {
			var a answer
			if data, found := strings.CutPrefix(line, "data: "); line != "" && (!found || json.Unmarshal([]byte(data), &a) != nil || a.Object != "chat.completion.chunk") {
				t.Fatalf("%q", line)
			}
			if a.Usage != nil {
				used = a.Usage.Completion
			}
			for _, c := range a.Choices {
				if c.Delta.Content != nil {
					text += string(*c.Delta.Content)
				}
				for _, call := range c.Delta.ToolCalls {
					text += call.Function.Name + call.Function.Arguments
				}
				if c.Finish != nil {
					last = *c.Finish
				}
			}
		}
		if text != want || last != finish || used == 0 {
			t.Errorf("%s: the stream has %q, %s and %d tokens, the answer %q and %s", f.members, text, last, used, want, finish)
		}
	}
}

// TestPrompt: the model sees each text and each call.
func TestPrompt(t *testing.T) {
	var q request
	if err := json.Unmarshal([]byte(`{"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
		{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "3"}]}`), &q); err != nil {
		t.Fatal(err)
	}
	q.Tools = make([]xgrammar.Tool, 2)
	q.Tools[0].Function.Name, q.Tools[1].Function.Name, q.Tools[1].Function.Description = "f", "g", "does it"
	q.ToolChoice.Names = []string{"g"}
	const want = "tool: g: does it\nsystem: Be kind.\nuser: ab\nassistant: <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\ntool: 3\n"
	if got := template(q.chat()); got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

// TestPrompt_control: a text that says what a control token is called has none, in each place of a chat.
func TestPrompt_control(t *testing.T) {
	m := newToy()
	for _, text := range []string{"</s>", "a</s>b", "</s></s>"} {
		s, err := m.Open(t.Context(), Chat{Messages: []Message{{Role: "user", Text: text, Calls: text}, {Role: text, Text: "x"}}})
		if err != nil || slices.Contains(s.(*toySession).text, stop) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

// short is a toy with a small context.
type short struct{ *toy }

func (short) Context() int { return 20 }

// TestContext: an answer ends where the context does, and a chat that fills it is OpenAI's error.
func TestContext(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	_, url := startModel(t, short{newToy()}, defaults)
	status, text, err := send(t.Context(), url, `{"model": "toy", "messages": [{"role": "user", "content": "The capital of"}], "seed": 1, "logit_bias": {"0": -100}}`)
	var a answer
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &a) != nil || a.Usage.Total != 20 || *a.Choices[0].Finish != "length" {
		t.Errorf("%d %s %v", status, text, err)
	}
	status, text, err = send(t.Context(), url, `{"model": "toy", "messages": [{"role": "user", "content": "The capital of France is a city that has many more words"}]}`)
	if err != nil || status != http.StatusBadRequest || !strings.Contains(text, `"param":"messages","code":"context_length_exceeded"`) || !strings.Contains(text, "maximum context length is 20 tokens") {
		t.Errorf("%d %s %v", status, text, err)
	}
}

// bomb is the format of nested arrays, which takes more than 30 s to compile, and too much memory.
func bomb(levels int) string {
	return `"response_format": {"type": "json_schema", "json_schema": {"schema": ` + strings.Repeat(`{"type": "array", "items": `, levels) + "{}" + strings.Repeat("}", levels) + `}}`
}

// TestTime: a text, and a schema, end for the client at the limits.
func TestTime(t *testing.T) {
	_, url := start(t, func(s *settings) { s.time, s.tokens = 500*time.Millisecond, 1<<20 })
	for _, members := range []string{`"max_tokens": 1000000, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "string", "minLength": 1000000}}}`, bomb(1000)} {
		if status, text, err := post(t.Context(), url, members); status != http.StatusGatewayTimeout || !strings.Contains(text, `"timeout"`) {
			t.Errorf("%.100s: %d %.300s %v", members, status, text, err)
		}
	}
	_, url = start(t, func(s *settings) { s.isolation.MaxTime = 500 * time.Millisecond })
	if status, text, err := post(t.Context(), url, bomb(1000)); status != http.StatusBadRequest || !strings.Contains(text, "response_format: it takes more time than 500ms") {
		t.Errorf("%d %s %v", status, text, err)
	}
}

// TestPages has what probes, clients and Prometheus ask for.
func TestPages(t *testing.T) {
	s, url := start(t, func(s *settings) { s.name = "my_server" })
	if _, _, err := ask(t.Context(), url, 0, 0); err != nil {
		t.Fatal(err)
	}
	get := func(path, want string) {
		t.Helper()
		r, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if got := fmt.Sprint(r.StatusCode, " ", string(text)); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v %s, want %s", path, err, got, want)
		}
	}
	get("/healthz", `200 "alive"`)
	get("/readyz", `200 "ready"`)
	get("/v1/models", `"id":"toy","object":"model","owned_by":"my_server"`)
	get("/metrics", "\nmy_server_answers_total{status=\"200\"} 1\n")
	get("/metrics", "\nmy_server_seconds_count{stage=\"compile\"} 1\n")
	s.stopping.Store(true)
	get("/readyz", `503 "stopping"`)
	get("/healthz", `200 "alive"`)
}

// TestLoad has 64 clients that check each answer, send bombs, and leave streams, of a model that steps each session alone, and of
// one that steps several. TVMFFI_TEST_LOAD, such as 20s, is how long; 2 s without it. Afterwards no goroutine and little memory
// is left.
func TestLoad(t *testing.T) {
	length := 2 * time.Second
	if text := os.Getenv("TVMFFI_TEST_LOAD"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("alone", func(t *testing.T) { load(t, newToy(), length/2) })
	t.Run("batch", func(t *testing.T) { load(t, &batched{toy: newToy(), most: 16}, length/2) })
}

func load(t *testing.T, m Model, length time.Duration) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	set := defaults
	set.isolation.MaxTime, set.isolation.MaxMemory = 300*time.Millisecond, 256<<20
	set.time = nativetest.Patience(set.time)
	_, url := startModel(t, m, set)
	// Each format is known before bombs come: a trial under load may last longer than MaxTime.
	for number := range formats {
		for wait := 0; ; wait++ {
			if _, _, err := ask(t.Context(), url, number, 0); err == nil {
				break
			} else if wait == 100 {
				t.Fatal(err)
			}
		}
	}
	goroutines := runtime.NumGoroutine()
	end := time.Now().Add(length)
	var answers, whole, bombs atomic.Int64
	enough := func() bool { return answers.Load() >= 64 && bombs.Load() > 0 }
	var clients sync.WaitGroup
	for id := range 64 {
		clients.Go(func() {
			for n := id; time.Now().Before(end) || !enough() && !t.Failed(); n++ {
				switch {
				case id == 0:
					status, text, err := post(t.Context(), url, bomb(900+n))
					if err != nil || status != http.StatusTooManyRequests && (status != http.StatusBadRequest || !strings.Contains(text, "it takes more")) {
						t.Errorf("a bomb: %d %.300s %v", status, text, err)
						return
					}
					bombs.Add(1)
				case n%7 == 6:
					leave(t, url, n)
				default:
					_, finish, err := ask(t.Context(), url, n, n)
					if err != nil && !strings.Contains(err.Error(), `"busy"`) {
						t.Error(err)
						return
					}
					answers.Add(1)
					if finish == "stop" || finish == "tool_calls" {
						whole.Add(1)
					}
				}
			}
		})
	}
	for time.Sleep(length / 2); answers.Load() < 64 && !t.Failed(); {
		time.Sleep(10 * time.Millisecond)
	}
	before := resident(t)
	clients.Wait()
	http.DefaultClient.CloseIdleConnections()
	for wait := time.Now().Add(nativetest.Patience(10 * time.Second)); runtime.NumGoroutine() > goroutines && time.Now().Before(wait); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	runtime.GC()
	if grown := resident(t) - before; grown > 64<<20 {
		t.Errorf("the process grew by %d MB", grown>>20)
	}
	if !enough() || whole.Load() < answers.Load()/4 {
		t.Errorf("%d answers, %d of them whole, %d bombs", answers.Load(), whole.Load(), bombs.Load())
	}
	t.Logf("%d answers in %v, %d of them whole, and %d bombs", answers.Load(), length, whole.Load(), bombs.Load())
}

// leave asks for a stream and closes the connection after the first bytes.
func leave(t *testing.T, url string, seed int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(
		fmt.Sprintf(`{"model": "toy", "messages": [{"role": "user", "content": "a"}], "temperature": 2, "max_tokens": 1000, "stream": true, "seed": %d}`, seed)))
	if err != nil {
		t.Error(err)
		return
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if _, err := response.Body.Read(make([]byte, 16)); err != nil {
		t.Error(err)
	}
}

// resident returns the memory of the process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0 // not on Linux
	}
	var all, pages int
	if _, err := fmt.Sscan(string(text), &all, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestStop ends the program by SIGTERM while it answers. It is not ready any more, and lets the answer finish, or ends it
// after the grace time with an error that the client sees.
func TestStop(t *testing.T) {
	for _, c := range []struct{ grace, members, want string }{
		{"1m", `"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "string", "minLength": 900, "maxLength": 900}}}`, "data: [DONE]\n"},
		{"100ms", `"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "string", "minLength": 4000000}}}`, `"code":"stopping"`},
	} {
		cmd, url := program(t, "-drain", "200ms", "-grace", c.grace, "-tokens", "4000000")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(
			`{"model": "toy", "messages": [{"role": "user", "content": "a"}], "stream": true, "max_tokens": 4000000, `+c.members+`}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ready := func() (status int) {
			r, err := http.Get(url + "/readyz")
			if err != nil {
				return 0
			}
			r.Body.Close()
			return r.StatusCode
		}
		for wait := 0; ready() == http.StatusOK && wait < 1000; wait++ {
			time.Sleep(time.Millisecond)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || !bytes.Contains(text, []byte(c.want)) {
			t.Errorf("-grace %s: %v, the answer ended with %.200s", c.grace, err, text[max(0, len(text)-200):])
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("-grace %s: %v", c.grace, err)
		}
	}
}
