package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// consumers are small programs of users, each written four times, with the result that all of them print.
var consumers = []struct{ name, title, result string }{
	{"xgrammar", "a mask, by package xgrammar", "[0]"},
	{"tvm", "a call of the runtime of TVM", "true"},
	{"perf", "a call of a library of its own", "2"},
}

// user is a consumer, by one peer.
type user struct {
	peer, result string
	dir          string   // of the Go program; "" for Python
	env          []string // of its build and its run
	command      []string // without a dir: what runs it
	args         []string
}

// cost is what a consumer pays.
type cost struct {
	cold, change   float64 // seconds of CPU time of a build
	size, stripped int64
	first          []float64 // ms from the start to the first result
	rss, hwm       []float64 // MB, at rest
}

// consumerFiles returns the peers of each consumer.
func (t *tree) consumerFiles(ctx context.Context) (all [][]user, err error) {
	f, err := t.engineFiles(ctx)
	if err != nil {
		return nil, err
	}
	perf, err := t.library(ctx)
	if err != nil {
		return nil, err
	}
	include := "CGO_CFLAGS=-O2"
	for _, d := range t.wheel.Include() {
		include += " -I" + d
	}
	core := filepath.Dir(f.core)
	byhand := filepath.Join(t.bench, "testdata", "byhand", "first")
	for i, library := range []string{f.xgrammar, f.runtime, perf} {
		c := consumers[i]
		found := []string{"TVMFFI_LIBRARY=" + f.core, "TVMFFI_LIBRARY_PATH=" + filepath.Dir(library)}
		args := []string{c.name, f.core, library}
		all = append(all, []user{
			{"ours", c.result, filepath.Join(t.bench, "testdata", "consumer", c.name), append(found, "CGO_ENABLED=0"), nil, []string{library}},
			{"cgo", c.result, byhand, []string{"CGO_ENABLED=1", include, "CGO_LDFLAGS=-L" + core + " -Wl,-rpath," + core}, nil, args},
			{"purego", c.result, byhand, []string{"CGO_ENABLED=0"}, nil, args},
			{"Python", c.result, "", nil, []string{f.python, filepath.Join(t.bench, "python", "first.py")}, args},
		})
	}
	return all, nil
}

// build builds a consumer to out with this cache of the go command, and returns the seconds of CPU time.
func (c *user) build(ctx context.Context, cache, out string, flags ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", out}, flags...), ".")...)
	cmd.Dir, cmd.Env = c.dir, append(append(os.Environ(), c.env...), "GOFLAGS=-buildvcs=false", "GOCACHE="+cache)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", c.dir, err, text)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// built measures the builds of a consumer in Go: from an empty cache, and after a change of its own file.
func (c *user) built(ctx context.Context) (k *cost, err error) {
	k = new(cost)
	if c.dir == "" {
		return k, nil
	}
	cache, err := os.MkdirTemp("", "consumer-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	out := c.command[0]
	if k.cold, err = c.build(ctx, cache, out); err != nil {
		return nil, err
	}
	main := filepath.Join(c.dir, "main.go")
	text, err := os.ReadFile(main)
	if err != nil {
		return nil, err
	}
	changed, overlay := filepath.Join(cache, "changed.go"), filepath.Join(cache, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {main: changed}})
	if err != nil {
		return nil, err
	}
	for file, text := range map[string][]byte{changed: append(text, "\nvar Changed = 1\n"...), overlay: list} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
	}
	if k.change, err = c.build(ctx, cache, out, "-overlay", overlay); err != nil {
		return nil, err
	}
	for flags, size := range map[string]*int64{"-ldflags=-s -w": &k.stripped, "-ldflags=": &k.size} {
		if _, err := c.build(ctx, cache, out+".size", flags); err != nil {
			return nil, err
		}
		info, err := os.Stat(out + ".size")
		if err != nil {
			return nil, err
		}
		*size = info.Size()
	}
	return k, os.Remove(out + ".size")
}

// start runs a consumer up to its result, and adds what that takes.
func (c *user) start(ctx context.Context, k *cost) error {
	args := append(append([]string{}, c.command...), c.args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stderr = append(os.Environ(), c.env...), os.Stderr
	in, out, err := pipes(cmd)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	line, _ := out.ReadString('\n') // what is missing shows in the line
	first := time.Since(began)
	memory, err := memoryOf(strconv.Itoa(cmd.Process.Pid))
	in.Close()
	if ended := cmd.Wait(); err != nil || ended != nil || line != "result "+c.result+"\n" {
		return fmt.Errorf("%s prints %q instead of the result %s: %v, %v", strings.Join(args, " "), line, c.result, err, ended)
	}
	k.first = append(k.first, float64(first.Microseconds())/1000)
	k.rss, k.hwm = append(k.rss, float64(memory["VmRSS"])/1e6), append(k.hwm, float64(memory["VmHWM"])/1e6)
	return nil
}

// consumer measures all consumers, those of one kind in turn, and writes the table.
func (t *tree) consumer(ctx context.Context, o options) error {
	all, err := t.consumerFiles(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	var b strings.Builder
	fmt.Fprintf(&b, "# What a consumer pays, %s\n\n%s, %d CPUs, %s/%s; load %s; %s; commit %s.\nOne build of each kind; medians of %d starts, the peers in turn. CPU time, with child processes.\n",
		began.Format(time.DateOnly), cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load(), runtime.Version(), version(ctx, "git", "describe", "--always", "--dirty"), o.runs)
	for i, peers := range all {
		if o.only != "" && o.only != consumers[i].name {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| | build, empty caches | after a change | size | stripped | first result | at rest | peak |\n|---|---|---|---|---|---|---|---|\n", consumers[i].title)
		costs := make([]*cost, len(peers))
		for j := range peers {
			c := &peers[j]
			fmt.Fprintln(os.Stderr, "building", consumers[i].name, "by", c.peer)
			if c.dir != "" {
				c.command = []string{t.program("consumer-" + consumers[i].name + "-" + c.peer)}
			}
			if costs[j], err = c.built(ctx); err != nil {
				return err
			}
		}
		for range o.runs {
			for j := range peers {
				if err := peers[j].start(ctx, costs[j]); err != nil {
					return err
				}
			}
		}
		for j, k := range costs {
			builds := "| | | | |"
			if peers[j].dir != "" {
				builds = fmt.Sprintf("| %.1f s | %.2f s | %.2f MB | %.2f MB |", k.cold, k.change, float64(k.size)/1e6, float64(k.stripped)/1e6)
			}
			fmt.Fprintf(&b, "| %s %s %.1f ms | %.1f MB | %.1f MB |\n", peers[j].peer, builds, median(k.first), median(k.rss), median(k.hwm))
		}
	}
	fmt.Print(b.String())
	if o.only != "" || !o.results {
		return nil
	}
	return t.writeResults(map[string]string{"consumer-" + began.Format(time.DateOnly) + ".md": b.String()})
}
