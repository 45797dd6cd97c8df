package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// offer runs a program of this machine for those that know the address which it returns, until the step ends. They run under
// wine with that prefix, and start it as hostcommand does.
func offer(j *job, prefix, program string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	j.must(err)
	secret := "/" + rand.Text() // other users of this machine can connect too
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Dir  string
			Args []string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != secret {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		for i, arg := range request.Args {
			request.Args[i] = hostPath(prefix, arg)
		}
		c := exec.CommandContext(r.Context(), program, request.Args...)
		c.Dir = hostPath(prefix, request.Dir)
		out, err := c.CombinedOutput()
		var reply struct {
			Output string
			Status int
		}
		reply.Output = string(out)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			reply.Status = exit.ExitCode()
		} else if err != nil {
			reply.Output, reply.Status = err.Error(), 127
		}
		_ = json.NewEncoder(w).Encode(reply) // fails if nobody waits any more
	})}
	go func() { _ = server.Serve(listener) }() // it ends with the program
	return "http://" + listener.Addr().String() + secret
}

var windowsPath = regexp.MustCompile(`\b([A-Za-z]):[\\/].*$`)

// hostPath puts the paths of this machine in the place of those that a program under wine sees.
func hostPath(prefix, text string) string {
	return windowsPath.ReplaceAllStringFunc(text, func(path string) string {
		drive := ""
		if !strings.EqualFold(path[:1], "z") {
			drive = filepath.Join(prefix, "drive_"+strings.ToLower(path[:1]))
		}
		return drive + strings.ReplaceAll(path[2:], `\`, "/")
	})
}
