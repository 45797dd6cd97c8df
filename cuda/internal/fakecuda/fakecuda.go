// Package fakecuda controls the driver of testdata/fakecuda, which tests load in place of that of NVIDIA. What it
// models, and which mistakes of a program it finds, is written there.
package fakecuda

import (
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
)

// Driver is the driver of this process. Its methods may be called from any goroutine.
type Driver struct {
	log, violations, clear, fail, live, queue, strict uintptr
}

// Open finds the functions for tests in the file of the driver.
func Open(path string) (*Driver, error) {
	h, err := dynlib.Open(path)
	if err != nil {
		return nil, err
	}
	d := &Driver{}
	for name, to := range map[string]*uintptr{"fakecuda_log": &d.log, "fakecuda_violations": &d.violations, "fakecuda_clear": &d.clear,
		"fakecuda_fail": &d.fail, "fakecuda_live": &d.live, "fakecuda_queue": &d.queue, "fakecuda_strict": &d.strict} {
		if *to, err = h.Symbol(name); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// text calls a function that fills a buffer with text.
func text(get uintptr) string {
	n, _, _ := purego.SyscallN(get, 0, 0)
	buf := make([]byte, n+1)
	purego.SyscallN(get, uintptr(unsafe.Pointer(&buf[0])), n+1)
	return string(buf[:n])
}

// Log returns the calls since Clear, one on each line: the thread, the name, the arguments.
func (d *Driver) Log() string { return text(d.log) }

// Violations returns what work did that a device does not forgive, one on each line, and forgets it. Work that is still
// queued runs first.
func (d *Driver) Violations() string { return text(d.violations) }

// Clear empties the log, lets every function work again, and resets devices with a sticky error.
func (d *Driver) Clear() { purego.SyscallN(d.clear) }

// Fail makes a function return code, after skip calls that work, once.
func (d *Driver) Fail(name string, code, skip int) {
	c := append([]byte(name), 0)
	purego.SyscallN(d.fail, uintptr(unsafe.Pointer(&c[0])), uintptr(code), uintptr(skip), 1)
}

// Queue says how much work fits into the queue of one stream from now on: a call that queues more blocks until there
// is room. 0 is any number, as at the start.
func (d *Driver) Queue(n int) { purego.SyscallN(d.queue, uintptr(n)) }

// Strict says whether two kernels whose effects the driver does not know are compared with each other from now on.
func (d *Driver) Strict(on bool) {
	n := uintptr(0)
	if on {
		n = 1
	}
	purego.SyscallN(d.strict, n)
}

// Thing is a kind of thing that the driver counts.
type Thing uintptr

// The kinds of things.
const (
	Memory Thing = iota
	Bytes
	Streams
	Events
	Modules
	Graphs
	Contexts
	Pools
)

// Live counts the things that nobody has freed. Work that is still queued runs first.
func (d *Driver) Live(what Thing) int {
	n, _, _ := purego.SyscallN(d.live, uintptr(what))
	return int(n)
}
