package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// TestMain runs the program itself where a test starts it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("XGRAMMAR_SERVER_TEST_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// site is a server in this process.
type site struct {
	*httptest.Server
	server *server
}

// start starts a server. When the test ends, nothing of it may be left to the garbage collector.
func start(t *testing.T, change func(*limits)) site {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	l := defaults
	if change != nil {
		change(&l)
	}
	s, err := newServer(newToy(), l, slog.New(slog.NewTextHandler(failing{t}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		h.Close()
		if err := s.grammars.close(30 * time.Second); err != nil {
			t.Error(err)
		}
	})
	return site{h, s}
}

// failing fails the test at each line of the log: the server logs only what clients cannot mend.
type failing struct{ testing.TB }

func (f failing) Write(line []byte) (int, error) {
	f.Errorf("the server logs %s", line)
	return len(line), nil
}

// post sends a question and returns the status and the body of the answer.
func post(ctx context.Context, url, body string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/generate", strings.NewReader(body))
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

// constraints has one or more of each kind, and what whole texts match.
var constraints = []struct{ field, want string }{
	{`"json_schema": {"type": "object", "required": ["name", "age"], "additionalProperties": false, "properties": {
		"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 120}}}`,
		`^\{"name": ".*", "age": (\d|[1-9]\d|1[01]\d|120)\}$`},
	{`"json_schema": "{\"enum\": [1, \"a\", null]}"`, `^(1|"a"|null)$`},
	{`"json_schema": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}, "whitespace": true`, `^\[(\s*(true|false)\s*,?){0,3}\s*\]$`},
	{`"json": true`, ``},
	{`"regex": "(yes|no), [a-z]{1,9}"`, `^(yes|no), [a-z]{1,9}$`},
	{`"regex": "[ä-ü猫]{1,6}!?"`, `^[ä-ü猫]{1,6}!?$`},
	{`"grammar": "root ::= \"(\" root \")\" | [a-c]"`, `^\(*[a-c]\)*$`},
	{`"structural_tag": {"type": "structural_tag", "format": {"type": "sequence", "elements": [
		{"type": "const_string", "value": "A: "}, {"type": "regex", "pattern": "[a-z]{2,4}"}]}}`, `^A: [a-z]{2,4}$`},
	{`"max_tokens": 20`, ``},
}

type reply struct {
	Text, Finish string
	Usage        usage
}

// ask writes a text under one of the constraints and checks it.
func ask(ctx context.Context, url string, number, seed int) (r reply, err error) {
	c := constraints[number%len(constraints)]
	status, text, err := post(ctx, url, fmt.Sprintf(`{"prompt": "The capital of", "seed": %d, %s}`, seed, c.field))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != http.StatusOK {
		return r, fmt.Errorf("%s: %d %s", c.field, status, text)
	}
	if r.Finish == "stop" && !regexp.MustCompile(c.want).MatchString(r.Text) {
		return r, fmt.Errorf("%s: %q does not match %s", c.field, r.Text, c.want)
	}
	if r.Finish == "stop" && strings.HasPrefix(c.field, `"json`) && !json.Valid([]byte(r.Text)) {
		return r, fmt.Errorf("%s: %q is not JSON", c.field, r.Text)
	}
	return r, nil
}

// TestGenerate writes 20 texts under each constraint. The same seed has the same text.
func TestGenerate(t *testing.T) {
	s := start(t, nil)
	for number, c := range constraints {
		whole := 0
		for seed := range 20 {
			first, err := ask(t.Context(), s.URL, number, seed)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ask(t.Context(), s.URL, number, seed); err != nil || again != first {
				t.Errorf("%s: %+v, then %+v, %v", c.field, first, again, err)
			}
			if !utf8.ValidString(first.Text) || first.Usage.Prompt == 0 || first.Usage.Output == 0 {
				t.Errorf("%s: %+v", c.field, first)
			}
			if first.Finish == "stop" {
				whole++
			}
		}
		if whole == 0 {
			t.Errorf("%s: no text was complete", c.field)
		}
	}
}

// TestControlCharacters writes strings with a length, in which XGrammar allows control characters.
func TestControlCharacters(t *testing.T) {
	s := start(t, nil)
	for seed := range 50 {
		status, text, err := post(t.Context(), s.URL, fmt.Sprintf(`{"json_schema": {"type": "string", "minLength": 40, "maxLength": 60}, "temperature": 2, "seed": %d}`, seed))
		var r reply
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &r) != nil || r.Finish == "stop" && !json.Valid([]byte(r.Text)) {
			t.Fatalf("%d %s %v", status, text, err)
		}
	}
}

// TestStream: the texts of the events are the text without a stream.
func TestStream(t *testing.T) {
	s := start(t, nil)
	const body = `{"prompt": "猫は", "regex": "[ä-ü猫]{20}", "seed": 3, "temperature": 2%s}`
	_, whole, err := post(t.Context(), s.URL, fmt.Sprintf(body, ""))
	if err != nil {
		t.Fatal(err)
	}
	_, events, err := post(t.Context(), s.URL, fmt.Sprintf(body, `, "stream": true`))
	if err != nil {
		t.Fatal(err)
	}
	var want reply
	if err := json.Unmarshal([]byte(whole), &want); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	last := ""
	for event := range strings.SplitSeq(strings.TrimSpace(events), "\n\n") {
		name, data, found := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var part reply
		if err := json.Unmarshal([]byte(data), &part); err != nil || !found || !utf8.ValidString(part.Text) {
			t.Fatalf("%q: %v", event, err)
		}
		text.WriteString(part.Text)
		last = name + " " + part.Finish
	}
	if text.String() != want.Text || utf8.RuneCountInString(want.Text) != 20 || last != "done stop" {
		t.Errorf("the stream has %q and ends with %q, the answer is %+v", text.String(), last, want)
	}
}

func TestErrors(t *testing.T) {
	s := start(t, func(l *limits) { l.tokens, l.source, l.body = 50, 100, 1000 })
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{`, 400, `"code":"invalid","message":"the body: unexpected EOF"`},
		{`{} {}`, 400, `text after the JSON object`},
		{`{"prompts": ""}`, 400, `unknown field \"prompts\"`},
		{`{"prompt": 3}`, 400, `question.prompt of type string`},
		{`{"max_tokens": 51}`, 400, `max_tokens is 51, want 1 to 50`},
		{`{"temperature": 3}`, 400, `temperature is 3, want 0 to 2`},
		{`{"prompt": "` + strings.Repeat("a", 1000) + `"}`, 413, `the body has more than 1000 bytes`},
		{`{"regex": "` + strings.Repeat("a", 101) + `"}`, 413, `regex has 101 bytes, want 100 at most`},
		{`{"json": true, "regex": "a"}`, 400, `the constraints json and regex: want one at most`},
		{`{"regex": "("}`, 400, `"code":"invalid","message":"regex: `},
		{`{"grammar": "rot ::= \"a\""}`, 400, `"code":"invalid","message":"grammar: `},
		{`{"json_schema": {"type": "wrong"}}`, 400, `"code":"invalid","message":"json_schema: `},
		{`{"structural_tag": {}}`, 400, `"code":"invalid","message":"structural_tag: `},
	} {
		status, text, err := post(t.Context(), s.URL, c.body)
		if err != nil || status != c.status || !strings.Contains(text, c.want) || strings.Contains(text, ".cc:") {
			t.Errorf("%.60s: %d %s %v, want %d and %s", c.body, status, text, err, c.status, c.want)
		}
	}
	if status, text, err := post(t.Context(), s.URL, `{"regex": "a"}`); status != http.StatusOK {
		t.Errorf("afterwards: %d %s %v", status, text, err)
	}
}

// TestTime: a text, and a compilation, end for the client after the time of a request.
func TestTime(t *testing.T) {
	s := start(t, func(l *limits) { l.time, l.tokens = 50*time.Millisecond, 1<<20 })
	for _, body := range []string{
		`{"regex": "[a-z]+~", "max_tokens": 1000000, "temperature": 0}`,
		`{"json_schema": {"type": "string", "pattern": "^([a-z]{0,100}){0,8}$"}}`,
	} {
		if status, text, err := post(t.Context(), s.URL, body); status != http.StatusGatewayTimeout || !strings.Contains(text, `"timeout"`) {
			t.Errorf("%s: %d %s %v", body, status, text, err)
		}
	}
}

// TestBusy has one request more than the limit.
func TestBusy(t *testing.T) {
	s := start(t, func(l *limits) { l.requests = 1 })
	s.server.busy <- struct{}{}
	if status, text, err := post(t.Context(), s.URL, `{}`); status != http.StatusTooManyRequests || !strings.Contains(text, `"busy"`) {
		t.Errorf("%d %s %v", status, text, err)
	}
	<-s.server.busy
	if status, text, err := post(t.Context(), s.URL, `{}`); status != http.StatusOK {
		t.Errorf("%d %s %v", status, text, err)
	}
}

// TestLoad has 64 clients that check each answer, and leave each seventh stream. TVMFFI_TEST_LOAD, such as
// 20s, is how long; 2 s without it. Afterwards no goroutine and little memory is left.
func TestLoad(t *testing.T) {
	length := 2 * time.Second
	if text := os.Getenv("TVMFFI_TEST_LOAD"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, nil)
	goroutines := runtime.NumGoroutine()
	end := time.Now().Add(length)
	var answers, whole atomic.Int64
	var clients sync.WaitGroup
	for id := range 64 {
		clients.Go(func() {
			for n := id; time.Now().Before(end); n++ {
				if n%7 == 6 {
					leave(t, s.URL, n)
					continue
				}
				r, err := ask(t.Context(), s.URL, n, n)
				if err != nil && !strings.Contains(err.Error(), `"busy"`) {
					t.Error(err)
					return
				}
				answers.Add(1)
				if r.Finish == "stop" {
					whole.Add(1)
				}
			}
		})
	}
	time.Sleep(length / 2)
	before := resident(t)
	clients.Wait()
	http.DefaultClient.CloseIdleConnections()
	for wait := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(wait); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	runtime.GC()
	if grown := resident(t) - before; grown > 64<<20 {
		t.Errorf("the process grew by %d MB", grown>>20)
	}
	if answers.Load() < 64 || whole.Load() < answers.Load()/2 {
		t.Errorf("%d answers, %d of them whole", answers.Load(), whole.Load())
	}
	t.Logf("%d answers in %v, %d of them whole", answers.Load(), length, whole.Load())
}

// leave asks for a stream and closes the connection after the first bytes.
func leave(t *testing.T, url string, seed int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/generate",
		strings.NewReader(fmt.Sprintf(`{"regex": "[a-z]+~", "temperature": 2, "max_tokens": 1000, "stream": true, "seed": %d}`, seed)))
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

// TestStop ends the program by SIGTERM while it answers. It lets the answer finish, or ends it
// after the grace time with an error that the client sees.
func TestStop(t *testing.T) {
	for _, c := range []struct{ grace, body, want string }{
		{"10s", `{"regex": "[a-z]{900}", "max_tokens": 1000, "temperature": 0, "stream": true}`, "event: done\n"},
		{"100ms", `{"regex": "[a-z]+~", "max_tokens": 4000000, "temperature": 0, "stream": true}`, `"code":"stopping"`},
	} {
		cmd, url := program(t, "-grace", c.grace, "-tokens", "4000000")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/generate", strings.NewReader(c.body))
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
		text, err := io.ReadAll(answer.Body)
		if err != nil || !bytes.Contains(text, []byte(c.want)) {
			t.Errorf("-grace %s: %v, the answer ended with %.200s", c.grace, err, text[max(0, len(text)-200):])
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("-grace %s: %v", c.grace, err)
		}
	}
}

// program starts the server on a free port and returns its address.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0], append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "XGRAMMAR_SERVER_TEST_PROGRAM=1")
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(logs).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "url=")
	if err != nil || !found {
		t.Fatalf("the server does not listen: %q %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, logs) }()
	return cmd, url
}

// TestRun releases everything that the server holds.
func TestRun(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := run(ctx, "127.0.0.1:0", time.Second, defaults); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), "127.0.0.1:99999", time.Second, defaults); err == nil || !strings.Contains(err.Error(), "99999") {
		t.Errorf("got %v", err)
	}
}
