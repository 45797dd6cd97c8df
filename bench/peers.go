package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// peerNames are the columns, in their order. floor and purego are the same
// program; so are cpp and capi, whose items end in ".c".
var peerNames = []string{"cpp", "ours", "cgo", "purego", "python", "rust"}

// peer is a running program that measures on demand: the name of an item goes in,
// nanoseconds and allocations per operation come out.
type peer struct {
	name  string
	items []string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

// team is the set of running peers.
type team struct {
	peers   []*peer
	missing []string
}

// start builds and starts peers. Only Rust may be missing.
func (t *tree) start(ctx context.Context, names ...string) (*team, error) {
	library, err := t.library(ctx)
	if err != nil {
		return nil, err
	}
	all := &team{}
	for _, name := range names {
		fmt.Fprintf(os.Stderr, "building %s\n", name)
		args, err := t.build(ctx, name)
		if err != nil {
			if name == "rust" {
				all.missing = append(all.missing, "Rust: "+strings.TrimSpace(firstLine(err.Error())))
				continue
			}
			all.stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p, err := startPeer(ctx, name, append(args, t.wheel.Library(), library))
		if err != nil {
			all.stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all.peers = append(all.peers, p)
	}
	return all, nil
}

// build returns the command of a peer.
func (t *tree) build(ctx context.Context, name string) ([]string, error) {
	one := func(program string, err error) ([]string, error) { return []string{program}, err }
	switch name {
	case "cpp":
		return one(t.compile(ctx, "peer.cc", "peer"))
	case "ours":
		return one(t.goBuild(ctx, filepath.Join(t.bench, "ours"), "ours", "CGO_ENABLED=0"))
	case "cgo":
		return one(t.cgo(ctx))
	case "purego", "floor":
		return one(t.goBuild(ctx, filepath.Join(t.bench, "testdata", "purego"), "purego", "CGO_ENABLED=0"))
	case "python":
		return []string{t.python, filepath.Join(t.bench, "python", "peer.py")}, t.venv(ctx)
	case "rust":
		if err := t.venv(ctx); err != nil {
			return nil, err
		}
		return one(t.rust(ctx))
	}
	return nil, fmt.Errorf("no such peer")
}

func startPeer(ctx context.Context, name string, args []string) (*peer, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// The crate's programs do not know where libtvm_ffi is.
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(args[len(args)-2]))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &peer{name: name, cmd: cmd, in: in, out: bufio.NewReader(out)}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("it ended before it was ready: %w", err)
	}
	p.items = strings.Fields(line)
	return p, nil
}

// ask measures an item once.
func (p *peer) ask(item string) (ns, allocs float64, err error) {
	if _, err := fmt.Fprintln(p.in, item); err != nil {
		return 0, 0, fmt.Errorf("%s: %s: %w", p.name, item, err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %s: it ended: %w", p.name, item, err)
	}
	first, second, _ := strings.Cut(strings.TrimSpace(line), " ")
	if ns, err = strconv.ParseFloat(first, 64); err == nil {
		allocs, err = strconv.ParseFloat(second, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %s: it answered %q", p.name, item, line)
	}
	return ns, allocs, nil
}

// sample asks for batches of 2 ms, five of them if they are not longer. It returns
// the typical one, and the best, in which no other program had the processor.
func (p *peer) sample(item string) (typical, best, allocs float64, err error) {
	var times []float64
	for start := time.Now(); len(times) < 5 && (len(times) == 0 || time.Since(start) < 10*time.Millisecond); {
		var t float64
		if t, allocs, err = p.ask(item); err != nil {
			return 0, 0, 0, err
		}
		times = append(times, t)
	}
	return median(times), slices.Min(times), allocs, nil
}

// stop ends the peers. A second call does nothing.
func (all *team) stop() {
	for _, p := range all.peers {
		p.in.Close()
		p.cmd.Wait()
	}
	all.peers = nil
}

// key is a figure: what a peer took for an item.
type key struct{ peer, item string }

type samples struct{ ns, best, allocs []float64 }

// measurements are all samples of a run.
type measurements map[key]*samples

// measure asks every peer for an item before it goes on to the next item, so that
// a noisy moment of the machine meets all of them. The first round only warms up.
func (all *team) measure(ctx context.Context, rows []row, runs int) (measurements, error) {
	m := measurements{}
	for round := range runs + 1 {
		fmt.Fprintf(os.Stderr, "\rround %d of %d ", round, runs)
		for _, r := range rows {
			for _, p := range all.peers {
				for _, item := range []string{r.name, r.name + ".c"} {
					if !slices.Contains(p.items, item) {
						continue
					}
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					ns, best, allocs, err := p.sample(item)
					if err != nil {
						return nil, err
					}
					if round == 0 {
						continue
					}
					k := key{p.name, item}
					if m[k] == nil {
						m[k] = &samples{}
					}
					m[k].ns = append(m[k].ns, ns)
					m[k].best = append(m[k].best, best)
					m[k].allocs = append(m[k].allocs, allocs)
				}
			}
		}
	}
	fmt.Fprint(os.Stderr, "\r")
	return m, nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// best returns the median of the best batches of a peer for an item.
func (m measurements) best(peer, item string) (float64, bool) {
	s := m[key{peer, item}]
	if s == nil && peer == "floor" {
		s = m[key{"purego", item}]
	}
	if s == nil {
		return 0, false
	}
	return median(s.best), true
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
