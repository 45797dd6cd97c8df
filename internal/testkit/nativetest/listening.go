package nativetest

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// Listening starts a server and returns the address that ends the first line of its log, behind url=. The rest of the log is
// read and dropped. The caller ends the server.
func Listening(t testing.TB, server *exec.Cmd) (url string) {
	t.Helper()
	log, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(log).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "url=")
	if err != nil || !found {
		t.Fatalf("the server does not listen: %q %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return url
}
