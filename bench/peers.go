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
	"strings"
	"time"
)

// peerNames are the columns, in their order. Some programs have a second column, and purego has
// the empty crossing.
var peerNames = []string{"cpp", "ours", "light", "cgo", "purego", "python", "rust"}

// variants are second columns of programs: the ends of the names of their items.
var variants = map[string]string{"cpp": ".c", "cgo": ".expert", "purego": ".register"}

// peer is a running program that measures on demand: the name of an item goes in,
// nanoseconds and allocations per operation come out.
type peer struct {
	name  string
	args  []string
	env   []string // in addition
	items []string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

// team is the set of running peers.
type team struct {
	peers   []*peer
	used    bool // the peers have measured
	missing []string
	goals   []goal
}

// start builds and starts peers. Only Rust may be missing.
func (t *tree) start(ctx context.Context, names ...string) (*team, error) {
	library, err := t.library(ctx)
	if err != nil {
		return nil, err
	}
	all := &team{goals: goals}
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
	case "ours", "light":
		program, err := t.goBuild(ctx, filepath.Join(t.bench, "ours"), "ours", "CGO_ENABLED=0")
		return []string{program, name}, err
	case "cgo":
		return one(t.cgo(ctx))
	case "purego":
		return one(t.goBuild(ctx, filepath.Join(t.bench, "testdata", "byhand"), "purego", "CGO_ENABLED=0"))
	case "python":
		library, err := t.goLibrary(ctx)
		if err != nil {
			return nil, err
		}
		return []string{t.python, filepath.Join(t.bench, "python", "peer.py"), library}, t.venv(ctx)
	case "rust":
		if err := t.venv(ctx); err != nil {
			return nil, err
		}
		return one(t.rust(ctx))
	}
	return nil, fmt.Errorf("no such peer")
}

func startPeer(ctx context.Context, name string, args []string) (*peer, error) {
	p := &peer{name: name, args: args}
	return p, p.start(ctx)
}

// pipes returns the input and the output of a program that has not started.
func pipes(cmd *exec.Cmd) (io.WriteCloser, *bufio.Reader, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return in, bufio.NewReader(out), nil
}

// start starts the program and reads which items it has.
func (p *peer) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	// The crate's programs do not know where libtvm_ffi is; containers set there where the CUDA driver is.
	path := filepath.Dir(p.args[len(p.args)-2])
	if given := os.Getenv("LD_LIBRARY_PATH"); given != "" {
		path += string(os.PathListSeparator) + given
	}
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+path, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, p.env...)
	cmd.Stderr = os.Stderr
	in, out, err := pipes(cmd)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.in, p.out = cmd, in, out
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.stop()
		return fmt.Errorf("it ended before it was ready: %w", err)
	}
	p.items = strings.Fields(line)
	return nil
}

// stop ends the program.
func (p *peer) stop() {
	p.in.Close()
	p.cmd.Wait()
}

// answer is what a peer measured: a batch.
type answer struct {
	ns, allocs float64
	quiet      bool // nothing disturbed the processor, or the peer does not know
}

// ask measures an item once; an item that starts threads is measured as a whole, and so is
// what it is compared with.
func (p *peer) ask(item string, whole bool) (answer, error) {
	request := item
	if whole {
		request += " whole"
	}
	if _, err := fmt.Fprintln(p.in, request); err != nil {
		return answer{}, fmt.Errorf("%s: %s: %w", p.name, item, err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return answer{}, fmt.Errorf("%s: %s: it ended: %w", p.name, item, err)
	}
	a := answer{quiet: true}
	var pieces int
	switch n, err := fmt.Sscan(line, &a.ns, &a.allocs, &pieces); {
	case n == 3:
		a.quiet = pieces > 0 || whole
	case n < 2:
		return answer{}, fmt.Errorf("%s: %s: it answered %q: %w", p.name, item, line, err)
	}
	return a, nil
}

// stop ends the peers. A second call does nothing.
func (all *team) stop() {
	for _, p := range all.peers {
		p.stop()
	}
	all.peers = nil
}

// renew starts the peers anew, if they have measured.
func (all *team) renew(ctx context.Context) error {
	if all.used {
		for i, p := range all.peers {
			p.stop()
			if err := p.start(ctx); err != nil {
				all.peers = slices.Delete(all.peers, i, i+1) // the others are stop's
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	all.used = true
	return nil
}

// key is a figure: what a peer took for an item while the items of a row were
// measured in turn.
type key struct{ row, peer, item string }

// samples has one entry for each run: its median batch, and whether nothing disturbed the
// processor in it.
type samples struct {
	ns, allocs []float64
	quiet      []bool
}

// measurements are all samples.
type measurements map[key]*samples

// batches is how often a run asks for an item, unless that takes longer than
// runTime; each answer is of 2 ms, or of one operation if that is longer.
const (
	batches = 5
	runTime = 100 * time.Millisecond
)

// figures are what has to be measured for a row: the item of each peer, and what
// the targets compare it with.
func (all *team) figures(r row) []key {
	var keys []key
	add := func(peer, item string) {
		k := key{r.name, peer, item}
		p := all.peer(peer)
		if p != nil && slices.Contains(p.items, item) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, p := range all.peers {
		add(p.name, r.name)
		add(p.name, r.name+variants[p.name])
		add(p.name, r.name+".go")
	}
	for _, g := range all.goals {
		if g.item == r.name {
			add(g.peer, g.peerItem)
		}
	}
	return keys
}

func (all *team) peer(name string) *peer {
	i := slices.IndexFunc(all.peers, func(p *peer) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return all.peers[i]
}

// runsOfProcess is the number of runs after which the processes of the peers are
// restarted. The addresses of their code and memory change some ratios to 0.8 and others
// to 1.4 for as long as they run.
const runsOfProcess = 4

// measure adds runs of rows to m. The batches of all figures of a row alternate, so
// that a noisy moment of the machine meets all of them. The first round of each process
// warms up.
func (all *team) measure(ctx context.Context, m measurements, rows []row, runs int) error {
	for done := range runs {
		if done%runsOfProcess == 0 {
			if err := all.renew(ctx); err != nil {
				return err
			}
			if err := all.round(ctx, measurements{}, rows); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "\rrun %d of %d ", done+1, runs)
		if err := all.round(ctx, m, rows); err != nil {
			return err
		}
	}
	fmt.Fprint(os.Stderr, "\r")
	return nil
}

// round adds a run of each row to m.
func (all *team) round(ctx context.Context, m measurements, rows []row) error {
	for _, r := range rows {
		one, err := all.once(ctx, all.figures(r))
		if err != nil {
			return err
		}
		for k, s := range one {
			if m[k] == nil {
				m[k] = &samples{}
			}
			m[k].add(s)
		}
	}
	return nil
}

// once makes one run of figures, their batches in turn.
func (all *team) once(ctx context.Context, figures []key) (measurements, error) {
	m := measurements{}
	took := map[key]time.Duration{}
	for range batches {
		for _, k := range figures {
			if took[k] >= runTime {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			a, err := all.peer(k.peer).ask(k.item, strings.Contains(k.row, "thread"))
			if err != nil {
				return nil, err
			}
			took[k] += time.Since(start)
			if m[k] == nil {
				m[k] = &samples{}
			}
			m[k].ns, m[k].allocs, m[k].quiet = append(m[k].ns, a.ns), append(m[k].allocs, a.allocs), append(m[k].quiet, a.quiet)
		}
	}
	return m, nil
}

// add adds the run that has the batches of one: the median of the undisturbed ones,
// or of all if there are none.
func (s *samples) add(one *samples) {
	var undisturbed []float64
	for i, quiet := range one.quiet {
		if quiet {
			undisturbed = append(undisturbed, one.ns[i])
		}
	}
	s.quiet = append(s.quiet, undisturbed != nil)
	if undisturbed == nil {
		undisturbed = one.ns
	}
	s.ns, s.allocs = append(s.ns, median(undisturbed)), append(s.allocs, median(one.allocs))
}

// ours is the figure of ours in a row: that of another peer where it calls Go.
func ours(row string) key {
	if peer, ok := hosts[row]; ok {
		return key{row, peer, row + ".go"}
	}
	return key{row, "ours", row}
}

// ratio is how many times longer ours takes for the item of a row than another
// figure of that row: the median of the ratios of the runs in which nothing disturbed
// either, or of all runs if there are none.
func (m measurements) ratio(row, peer, item string) (float64, bool) {
	own, other := m[ours(row)], m[key{row, peer, item}]
	if own == nil || other == nil {
		return 0, false
	}
	var undisturbed, all []float64
	for run, ns := range own.ns {
		all = append(all, ns/other.ns[run])
		if own.quiet[run] && other.quiet[run] {
			undisturbed = append(undisturbed, ns/other.ns[run])
		}
	}
	if undisturbed != nil {
		return median(undisturbed), true
	}
	return median(all), true
}

// scaling is how many times as fast C++ is on two threads as on one: 2 where two cores
// are free.
func (m measurements) scaling() float64 {
	one, two := m[key{"int", "cpp", "int"}], m[key{"threads2", "cpp", "threads2"}]
	if one == nil || two == nil {
		return 2
	}
	return median(one.ns) / median(two.ns)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
