package pynames

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed extract.py
var extract []byte

// bootstrap reads the script from the start of standard input: a command line has no room for it. The
// sources follow there. It refuses a Python before 3.9, the first with ast.unparse and the parser of today.
const bootstrap = "import sys; sys.version_info >= (3, 9) or sys.exit(9); exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), 'extract.py', 'exec'))"

// isolated are the options that keep Python from its environment: no PYTHONPATH, no site-packages, no files
// beside the script, no byte code.
var isolated = []string{"-I", "-S", "-B"}

// errTimeout is the cause of the end of a Python that takes too long.
var errTimeout = errors.New("timeout")

// maxCrashes is how many sources may kill Python before the rest is given up.
const maxCrashes = 5

// pythons returns the command lines of the Pythons on PATH, the most usual first.
func pythons() [][]string {
	commands := [][]string{{"python3"}, {"python"}}
	if runtime.GOOS == "windows" {
		commands = append([][]string{{"py", "-3"}}, commands...)
	}
	var found [][]string
	for _, c := range commands {
		path, err := exec.LookPath(c[0]) // refuses one in the working directory
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil {
			found = append(found, slices.Concat([]string{path}, c[1:], isolated))
		}
	}
	return found
}

// unusable reports whether a process ended because it is not a Python that can read sources: it is too old, does
// not know the options, or is a wrapper without a Python.
func unusable(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && slices.Contains([]int{9, 2, 126, 127, 9009}, exit.ExitCode())
}

// parse returns what each source says. A source that kills Python has an error, and the rest is read by
// another process. If the time is over after some were read, the rest have an error.
func parse(ctx context.Context, sources []source, timeout time.Duration) ([]facts, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	usable := pythons()
	if len(usable) == 0 {
		return nil, errors.New("there is no Python here: install Python 3.9 or newer and put it on PATH as python3; tvmffi-bind uses its parser to read the sources of the package, and runs nothing of them")
	}
	var all []facts
	var old []string
	read := 0
	for crashes := 0; len(all) < len(sources); {
		python := usable[0]
		some, err := run(ctx, python, sources[len(all):])
		all = append(all, some...)
		read += len(some)
		switch {
		case len(all) == len(sources):
			return all, nil
		case read > 0 && errors.Is(context.Cause(ctx), errTimeout): // what was read is worth having
			late := hung(fmt.Errorf("it was not read: %w", errTimeout), timeout).Error()
			for len(all) < len(sources) {
				all = append(all, facts{Error: late})
			}
			return all, nil
		case ctx.Err() != nil:
			return nil, hung(fmt.Errorf("the Python process was still reading %s: %w", sources[len(all)].path, context.Cause(ctx)), timeout)
		case len(all) == 0 && unusable(err):
			old = append(old, python[0])
			if usable = usable[1:]; len(usable) == 0 {
				return nil, fmt.Errorf("no Python of version 3.9 or newer works here, found %s: install one and put it on PATH as python3", strings.Join(old, " and "))
			}
			continue
		case err == nil:
			err = errors.New("it ended early")
		}
		if crashes++; crashes > maxCrashes || read == 0 && len(all)+1 == len(sources) {
			return nil, fmt.Errorf("%s cannot read the sources: %w", python[0], err)
		}
		all = append(all, facts{Error: fmt.Sprintf("Python fails on it: %v", err)})
	}
	return all, nil
}

// hung adds the remedy to a timeout error.
func hung(err error, timeout time.Duration) error {
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("%w of %s: allow more time with --timeout", err, timeout)
	}
	return err
}

// run lets one process read sources. It returns the facts of those that were read before it ended.
func run(ctx context.Context, python []string, sources []source) ([]facts, error) {
	readers := []io.Reader{bytes.NewReader(extract)}
	for _, s := range sources {
		head, err := json.Marshal(map[string]any{"module": s.module, "package": s.pkg, "size": len(s.data)})
		if err != nil {
			return nil, err
		}
		readers = append(readers, bytes.NewReader(append(head, '\n')), bytes.NewReader(s.data))
	}
	cmd := exec.CommandContext(ctx, python[0], append(python[1:len(python):len(python)], "-c", bootstrap, strconv.Itoa(len(extract)))...)
	cmd.Stdin = io.MultiReader(readers...)
	cmd.WaitDelay = 5 * time.Second
	words := &tail{}
	cmd.Stderr = words
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []facts
	lines := bufio.NewReaderSize(out, 1<<20)
	for len(all) < len(sources) {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var f facts
		if err := json.Unmarshal(line, &f); err != nil {
			break
		}
		all = append(all, f)
	}
	_, _ = io.Copy(io.Discard, lines)
	if err := cmd.Wait(); err != nil {
		return all, fmt.Errorf("%w%s", err, words)
	}
	return all, nil
}

// tail keeps the end of what a process prints.
type tail struct{ text []byte }

// Write keeps the last 2000 bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(p), nil
}

// String returns the last line, after a colon.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?"))
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}
