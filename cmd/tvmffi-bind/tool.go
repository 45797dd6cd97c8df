package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const modulePath = "github.com/tvmffi-go/tvmffi"

// tool is what every command shares: the standard streams and the flags of the
// root command.
type tool struct {
	in       io.Reader
	out, err io.Writer
	offline  bool
	patience time.Duration // for the process that loads libraries
}

func newTool(in io.Reader, out, err io.Writer) *tool {
	return &tool{in: in, out: out, err: err}
}

// printf writes to standard output. A failure to write there has no one left to
// be told to, so it is ignored.
func (t *tool) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(t.out, format, args...)
}

// notef tells the user on standard error what is going on.
func (t *tool) notef(format string, args ...any) {
	_, _ = fmt.Fprintf(t.err, format, args...)
}

// printJSON writes v for a program to read.
func (t *tool) printJSON(v any) error {
	e := json.NewEncoder(t.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// count is a number with its noun, such as "1 type" or "2 types".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// paint colours s if w is a terminal and NO_COLOR is not set.
func paint(w io.Writer, c text.Color, s string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return c.Sprint(s)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// build says which version of the module the tool was built from.
type build struct {
	Version string
	// Released is true if the tool was built from a version that was downloaded, so
	// that a go.mod may require it and generated files may name it. A tool built in
	// its own repository has a version that changes with every commit.
	Released bool
}

// toolVersion reads the version from the binary: the tool may be the main module,
// or a dependency of the module that runs it with go tool.
func toolVersion() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: "(devel)"}
	}
	m := &info.Main
	for _, d := range info.Deps {
		if m.Path != modulePath && d.Path == modulePath {
			m = d
		}
	}
	v := m.Version
	if v == "" || m.Path != modulePath {
		v = "(devel)"
	}
	return build{Version: v, Released: m.Replace == nil && m.Sum != ""}
}

// commandName is how the user most likely runs the tool: a binary in the build
// cache was started by go tool or go run.
func commandName() string {
	exe, err := os.Executable()
	if err != nil {
		return "tvmffi-bind"
	}
	if strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "go tool tvmffi-bind"
	}
	return "tvmffi-bind"
}

// shown is path relative to the working directory if it lies below it.
func shown(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.ToSlash(rel)
}
