package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// uncounted are the rows of which one operation takes too many instructions to step through.
var uncounted = []string{"walk", "graph_write", "ints_build", "ints_read", "ints_range", "ints_slice"}

// figure is what one operation executes: instructions, how many of them are of the program itself and not of a library, and
// how many lines of 64 bytes they lie in.
type figure struct {
	all, own, lines int
	// at has the instructions by their addresses.
	at map[uint64]int
}

// refused begins the error of step where a system does not let a program do this.
const refused = "this system does not let a program step through another"

// many instructions of an operation are counted in few runs.
const many = 10000

// errWaits is the error of step for a thread that waited for another one, as it does where the scheduler of Go has just taken
// its place.
var errWaits = errors.New("it waits for another thread")

// count returns what an operation of an item executes: the median of the differences between runs of more and more
// operations, in which the loop and the way to it cancel. The medians do not contain what happens once in many operations,
// such as another span of the heap of Go.
func (p *peer) count(ctx context.Context, item string) (figure, error) {
	least, step, runs := 2, 2, 5
	one, err := p.between(ctx, item, 1)
	if err != nil {
		return figure{}, err
	}
	if sum(maps.Values(one)) > many {
		least, step, runs = 1, 1, 3
	}
	code, err := p.code()
	if err != nil {
		return figure{}, err
	}
	var all, own []int
	var before, last map[uint64]int
	for i := range runs {
		at, err := p.between(ctx, item, least+i*step)
		if err != nil {
			return figure{}, err
		}
		inside := 0
		for pc, n := range at {
			if code.own(pc) {
				inside += n
			}
		}
		all, own = append(all, sum(maps.Values(at))), append(own, inside)
		before, last = last, at
	}
	f := figure{all: slope(all, step), own: slope(own, step), at: map[uint64]int{}}
	lines := map[uint64]bool{}
	for pc, n := range last {
		if more := n - before[pc]; more > 0 {
			f.at[pc] = more / step
			lines[pc/64] = true
		}
	}
	f.lines = len(lines)
	return f, nil
}

// slope is the median of the differences between numbers, divided by step.
func slope(numbers []int, step int) int {
	var all []float64
	for i := range numbers[1:] {
		all = append(all, float64(numbers[i+1]-numbers[i])/float64(step))
	}
	return int(median(all) + 0.5)
}

func sum(all iter.Seq[int]) (total int) {
	for n := range all {
		total += n
	}
	return total
}

// between has a peer run n operations, and returns how often each instruction was executed.
func (p *peer) between(ctx context.Context, item string, n int) (at map[uint64]int, err error) {
	const tries = 20
	for range tries {
		switch at, err = p.once(item, n); err {
		case errWaits:
			continue
		case io.EOF: // a breakpoint of which the tracer did not know ends the program
			p.stop()
			if err := p.start(ctx); err != nil {
				return nil, err
			}
			continue
		}
		break
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.name, item, err)
	}
	return at, nil
}

func (p *peer) once(item string, n int) (map[uint64]int, error) {
	fmt.Fprintf(p.in, "%s count %d\n", item, n)
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	tid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return nil, err
	}
	at := map[uint64]int{}
	start := func() error {
		_, err := fmt.Fprintln(p.in)
		return err
	}
	err = step(p.cmd.Process.Pid, tid, strings.Contains(item, "thread"), start, func(pc uint64) { at[pc]++ })
	if err != nil && err != errWaits {
		return nil, err
	}
	if _, end := p.out.ReadString('\n'); end != nil {
		return nil, end
	}
	return at, err
}

// mapping is where a file lies in the memory of a process.
type mapping struct {
	low, high, offset uint64
	path              string
}

// mappings are those of code. The first path is the program.
type mappings []mapping

func (p *peer) code() (all mappings, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.cmd.Process.Pid))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		var mode, device string
		var inode uint64
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &m.low, &m.high, &mode, &m.offset, &device, &inode, &m.path); n >= 6 && strings.Contains(mode, "x") {
			all = append(all, m)
		}
	}
	return all, nil
}

func (all mappings) of(pc uint64) (mapping, bool) {
	i := slices.IndexFunc(all, func(m mapping) bool { return m.low <= pc && pc < m.high })
	if i < 0 {
		return mapping{}, false
	}
	return all[i], true
}

// own reports whether an address is in the program, or in memory of no file.
func (all mappings) own(pc uint64) bool {
	m, ok := all.of(pc)
	return !ok || m.path == all[0].path || m.path == ""
}

// counts are the figures of a row.
type counts map[key]figure

// count counts what the operations of all peers execute.
func (t *tree) count(ctx context.Context, only, profile string) error {
	if !canStep {
		return step(0, 0, false, nil, nil)
	}
	rows, err := chosenItems(only)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return slices.Contains(uncounted, r.name) })
	all, err := t.start(ctx, peerNames...)
	if err != nil {
		return err
	}
	defer all.stop()
	for _, p := range all.peers {
		p.env = append(p.env, "GOGC=off") // the collector runs on other threads, which stand still
	}
	all.used = true
	if err := all.renew(ctx); err != nil {
		return err
	}
	fmt.Printf("%s, %s/%s. Instructions of one operation (of the program itself, lines of 64 bytes of code).\n\n%s", runtime.Version(), runtime.GOOS, runtime.GOARCH, all.header())
	for _, r := range rows {
		found := counts{}
		for _, k := range all.figures(r) {
			fmt.Fprintf(os.Stderr, "\r%-60s", k.peer+" "+k.item)
			f, err := all.peer(k.peer).count(ctx, k.item)
			if err != nil {
				return err
			}
			found[k] = f
			if profile == k.peer || profile == k.peer+"."+k.item {
				text, err := all.peer(k.peer).profile(f)
				if err != nil {
					return err
				}
				fmt.Printf("\r%s, %s: %d instructions\n%s\n", k.peer, k.item, f.all, text)
			}
		}
		fmt.Fprintf(os.Stderr, "\r%60s\r", "")
		fmt.Print(found.line(r, all))
	}
	return nil
}

// line is a row of the table.
func (c counts) line(r row, all *team) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", r.title)
	for _, p := range all.peers {
		for _, variant := range p.columns() {
			if f, ok := c[cellOf(r, p, variant)]; ok {
				fmt.Fprintf(&b, " %d (%d, %d)", f.all, f.own, f.lines)
			}
			b.WriteString(" |")
		}
	}
	return b.String() + "\n"
}

// profile lists the instructions of an operation by function.
func (p *peer) profile(f figure) (string, error) {
	code, err := p.code()
	if err != nil {
		return "", err
	}
	tables := map[string]symbols{}
	functions := map[string]int{}
	for pc, n := range f.at {
		m, ok := code.of(pc)
		name := "?"
		if ok && m.path != "" {
			if _, ok := tables[m.path]; !ok {
				tables[m.path] = symbolsOf(m.path)
			}
			name = tables[m.path].at(pc - m.low + m.offset)
		}
		functions[name] += n
	}
	names := slices.SortedFunc(maps.Keys(functions), func(a, b string) int { return functions[b] - functions[a] })
	var b bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&b, "%7d %s\n", functions[name], name)
	}
	return b.String(), nil
}

// symbols are the functions of a file, by their places in it.
type symbols []elf.Symbol

func symbolsOf(path string) (all symbols) {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	static, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(static, dynamic...) {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Vaddr <= s.Value && s.Value < p.Vaddr+p.Memsz {
				s.Value += p.Off - p.Vaddr
				all = append(all, s)
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b elf.Symbol) int { return int(int64(a.Value - b.Value)) })
	return all
}

func (all symbols) at(offset uint64) string {
	i, ok := slices.BinarySearchFunc(all, offset, func(s elf.Symbol, offset uint64) int { return int(int64(s.Value - offset)) })
	if !ok {
		i--
	}
	if i < 0 {
		return "?"
	}
	return all[i].Name
}
