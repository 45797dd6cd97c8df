package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// program starts the server on a free port and returns its address.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	ctx, cancel := context.WithTimeout(t.Context(), nativetest.Patience(2*time.Minute))
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0], append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "XGRAMMAR_SERVER_TEST_PROGRAM=1")
	return cmd, nativetest.Listening(t, cmd)
}

// TestFlags: flags that make no sense, and words that are not flags, are errors.
func TestFlags(t *testing.T) {
	for want, change := range map[string]func(*settings){
		"":                                  func(*settings) {},
		"-requests must be greater than 0":  func(s *settings) { s.requests = -1 },
		"-tokens must be greater than 0":    func(s *settings) { s.tokens = 0 },
		"-time must be greater than 0":      func(s *settings) { s.time = -time.Second },
		"-compilers must be greater than 0": func(s *settings) { s.isolation.Processes = -1 },
	} {
		s := defaults
		change(&s)
		if err := s.check(nil); fmt.Sprint(err) != want && (want != "" || err != nil) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for range 20 { // the first of all is named, each time
		if err := (&settings{}).check(nil); err == nil || err.Error() != "-requests must be greater than 0" {
			t.Fatalf("%v, want one of -requests", err)
		}
	}
	s := defaults
	if err := s.check([]string{"smollm2", "-listen"}); err == nil || !strings.HasPrefix(err.Error(), `"smollm2" is not a flag`) {
		t.Error(err)
	}
}

// TestManifest starts the program with the flags of the image and of the deployment, and asks what their probes ask for.
func TestManifest(t *testing.T) {
	var args, paths []string
	for file, list := range map[string]string{"../Dockerfile": `ENTRYPOINT \["/app/xgrammar_server", (.*)\]`, "../kubernetes.yaml": `args: \[(.*)\]`} {
		text, err := os.ReadFile(file)
		found := regexp.MustCompile(list).FindSubmatch(text)
		if err != nil || found == nil {
			t.Fatalf("%s: %v %s", file, err, text)
		}
		for _, word := range regexp.MustCompile(`"([^"]*)"`).FindAllSubmatch(found[1], -1) {
			args = append(args, strings.Replace(string(word[1]), ":8080", "127.0.0.1:0", 1))
		}
		for _, path := range regexp.MustCompile(`path: (/\w+)`).FindAllSubmatch(text, -1) {
			paths = append(paths, string(path[1]))
		}
	}
	cmd, url := program(t, args...)
	for _, path := range paths {
		r, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	if len(args) < 6 || len(paths) != 2 {
		t.Errorf("the files have the flags %q and the probes %q", args, paths)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestRun releases everything that the server holds.
func TestRun(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	set := defaults
	set.listen = "127.0.0.1:0"
	if err := run(ctx, set, toyModel); err != nil {
		t.Error(err)
	}
	set.listen = "127.0.0.1:99999"
	if err := run(t.Context(), set, toyModel); err == nil || !strings.HasPrefix(err.Error(), "-listen 127.0.0.1:99999: ") {
		t.Errorf("got %v", err)
	}
	set.isolation.Processes, set.isolation.MaxMemory = 1, 1
	if err := run(t.Context(), set, toyModel); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("with a byte of memory: %v", err)
	}
}
