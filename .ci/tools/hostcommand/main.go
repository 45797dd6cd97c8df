// Command hostcommand is a program of Windows that has a program of the host do its work: under wine none can start a
// program of Linux and wait for its end. TVMFFI_TEST_HOST is the address of the step that runs it. See ../ci/host.go.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

// Request is a command, with paths of Windows. Reply is what it printed, both outputs in one, and its exit status.
type (
	Request struct {
		Dir  string
		Args []string
	}
	Reply struct {
		Output string
		Status int
	}
)

func main() {
	reply, err := ask()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.WriteString(reply.Output)
	os.Exit(reply.Status)
}

func ask() (reply Reply, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return reply, err
	}
	text, err := json.Marshal(Request{dir, os.Args[1:]})
	if err != nil {
		return reply, err
	}
	answer, err := http.Post(os.Getenv("TVMFFI_TEST_HOST"), "application/json", bytes.NewReader(text))
	if err != nil {
		return reply, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return reply, fmt.Errorf("the host says %s", answer.Status)
	}
	return reply, json.NewDecoder(answer.Body).Decode(&reply)
}
