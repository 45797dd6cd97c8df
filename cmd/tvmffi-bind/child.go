package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Loading foreign code may kill the process, so it happens in a child: the tool
// itself with the hidden command read-child. The request goes to its standard
// input, the replies come through a pipe of their own, because libraries print.

// childRequest says what the child has to do.
type childRequest struct {
	// Libraries are loaded in this order; the first is libtvm_ffi.
	Libraries []library `json:"libraries"`
	// Call is a function to call instead of reading the registry.
	Call *callRequest `json:"call,omitempty"`
}

// callRequest names a function and gives its arguments as a JSON array.
type callRequest struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// childReply is one message of the child; exactly one field is set.
type childReply struct {
	Doing  string          `json:"doing,omitempty"` // what comes next, such as "loading libgarden.so"
	Schema json.RawMessage `json:"schema,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Thrown string          `json:"thrown,omitempty"` // the error of the called function
	Error  string          `json:"error,omitempty"`  // why the request could not be met
}

var errTimeout = errors.New("timeout")

// readLibraries reads what libs offer.
func (t *tool) readLibraries(ctx context.Context, libs []library) (schema.Schema, error) {
	var reply childReply
	_, err := t.Step("reading the libraries", func() (err error) {
		reply, err = t.inChild(ctx, childRequest{Libraries: libs})
		return err
	})
	var d *death
	if errors.As(err, &d) {
		return schema.Schema{}, t.blame(ctx, libs, d)
	}
	if err != nil {
		return schema.Schema{}, err
	}
	return schema.Decode(reply.Schema)
}

// blame finds the library that kills the process, by loading one more each time.
func (t *tool) blame(ctx context.Context, libs []library, d *death) error {
	for n := 1; n < len(libs); n++ {
		var earlier *death
		if _, err := t.inChild(ctx, childRequest{Libraries: libs[:n]}); errors.As(err, &earlier) {
			earlier.doing = "loading " + libs[n-1].Path
			return earlier
		}
	}
	d.doing = "loading " + libs[len(libs)-1].Path
	return d
}

// inChild runs one request in a child process and returns its last reply.
func (t *tool) inChild(ctx context.Context, request childRequest) (childReply, error) {
	for _, lib := range request.Libraries {
		if err := checkFile(lib.Path); err != nil {
			return childReply{}, err
		}
	}
	input, err := json.Marshal(request)
	if err != nil {
		return childReply{}, err
	}
	exe, err := os.Executable()
	if err != nil {
		return childReply{}, fmt.Errorf("cannot start a process to load libraries in: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.patience, errTimeout)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return childReply{}, err
	}
	defer r.Close()

	words := &lastWords{}
	cmd := exec.CommandContext(ctx, exe, childCommand)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stdout = words
	cmd.Stderr = words
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	if len(request.Libraries) > 0 {
		cmd.Env = append(cmd.Env, "TVMFFI_LIBRARY="+request.Libraries[0].Path)
	}
	cmd.Args = append(cmd.Args, passPipe(cmd, w))
	err = cmd.Start()
	w.Close()
	if err != nil {
		return childReply{}, fmt.Errorf("cannot start a process to load libraries in: %w", err)
	}
	reply, doing, readErr := readReplies(r)
	err = cmd.Wait()
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return childReply{}, fmt.Errorf("the process that loads libraries was still %s after %s: a library hangs while it is loaded; give it more time with --timeout, or load it alone to find the culprit", doing, t.patience)
	case ctx.Err() != nil:
		return childReply{}, context.Cause(ctx)
	case reply.Error != "":
		return childReply{}, errors.New(reply.Error)
	case err != nil:
		return childReply{}, newDeath(doing, err, words)
	case reply.Schema == nil && reply.Result == nil && reply.Thrown == "" && readErr == nil:
		return childReply{}, newDeath(doing, errors.New("it ended without an answer"), words)
	case readErr != nil:
		return childReply{}, fmt.Errorf("the process that loads libraries answered nonsense while %s: %w", doing, readErr)
	}
	return reply, nil
}

// checkFile refuses a file that the loader of this machine cannot load, in words
// that say more than the loader's.
func checkFile(path string) error {
	file, err := symbols.Read(path)
	if err != nil {
		return err
	}
	return file.CheckHost(runtime.GOOS, runtime.GOARCH)
}

// readReplies reads until the child closes its end. It returns the last answer
// and what the child was doing when it gave it or ended.
func readReplies(r io.Reader) (reply childReply, doing string, err error) {
	doing = "starting"
	d := json.NewDecoder(r)
	for {
		var next childReply
		if err := d.Decode(&next); errors.Is(err, io.EOF) {
			return reply, doing, nil
		} else if err != nil {
			return reply, doing, err
		}
		if next.Doing != "" {
			doing = next.Doing
			continue
		}
		reply = next
	}
}
