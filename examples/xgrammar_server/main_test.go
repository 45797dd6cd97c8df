package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

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

// program starts the server on a free port and returns its address. The logs come later.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, url string, logs func() string) {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, self, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "XGRAMMAR_SERVER_TEST_PROGRAM=1")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	lines := bufio.NewScanner(errs)
	for url == "" && lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if m := regexp.MustCompile(`url=(http://\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	if url == "" {
		t.Fatalf("the server does not listen: %s", text.String())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			text.WriteString(lines.Text() + "\n")
		}
	}()
	return cmd, url, func() string { <-read; return text.String() }
}

// TestStop ends the process by SIGTERM while it answers: the answer comes to its end first.
func TestStop(t *testing.T) {
	cmd, url, logs := program(t, "-linger", "500ms")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/generate",
		strings.NewReader(`{"regex":"[a-z]{900}[a-z]*~","max_tokens":1000,"temperature":0,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	unready := false
	for end := time.Now().Add(10 * time.Second); !unready && time.Now().Before(end); time.Sleep(time.Millisecond) {
		unready = status(t, url+"/readyz") == http.StatusServiceUnavailable
	}
	if !unready {
		t.Error("/readyz does not fail while the server stops")
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), `event: done`) {
		t.Errorf("the answer ended with %v, %d bytes", err, len(text))
	}
	all := logs()
	if err := cmd.Wait(); err != nil || !strings.Contains(all, "msg=stopped") {
		t.Errorf("%v\n%s", err, all)
	}
}

// status returns the status of an answer, 0 if nobody listens.
func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestGrace ends an answer that takes longer than the grace time, with an error that its client sees.
func TestGrace(t *testing.T) {
	cmd, url, logs := program(t, "-grace", "100ms", "-tokens", "4000000")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/generate",
		strings.NewReader(`{"regex":"[a-z]+~","max_tokens":4000000,"temperature":0,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), `"code":"stopping"`) {
		t.Errorf("the answer ended with %v, %.200s", err, text[max(0, len(text)-200):])
	}
	all := logs()
	if err := cmd.Wait(); err != nil || !strings.Contains(all, "open requests are ended") || time.Since(start) > 20*time.Second {
		t.Errorf("%v after %v\n%s", err, time.Since(start), all)
	}
}

// TestRun releases everything that the server holds.
func TestRun(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	s, err := parse([]string{"-listen", "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := run(ctx, s); err != nil {
		t.Error(err)
	}
	s.listen = "127.0.0.1:99999"
	if err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "99999") {
		t.Errorf("got %v", err)
	}
}

func TestParse(t *testing.T) {
	s, err := parse([]string{"-draft", "0", "-nesting", "5"})
	if err != nil || s.engine.Draft != 0 || s.grammars.Nesting != 5 || s.listen != "127.0.0.1:8080" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := parse([]string{"serve"}); err == nil || !strings.Contains(err.Error(), `"serve"`) {
		t.Errorf("got %v", err)
	}
	if _, err := parse([]string{"-batch", "x"}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}
