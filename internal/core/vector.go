package core

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

const anySize = unsafe.Sizeof(abi.Any{})

// VectorCalls is the largest number of calls that are made in one crossing.
const VectorCalls = 64

// Vector is a number of calls of Function objects that are made in few crossings.
// The zero value is ready. What C sees lies in heap memory that does not move, so
// the addresses in the records are final.
type Vector struct {
	n      int
	blocks []*vectorBlock
	last   *ccall.Record

	chunks []*vectorChunk
	chunk  int // of chunks, the one that is filled
	used   int // of it
}

type vectorBlock struct {
	head    ccall.Vector
	records [VectorCalls]ccall.Record
	results [VectorCalls]abi.Any
}

// vectorChunk is room for arguments. Those of a call lie in one chunk.
type vectorChunk [4 * VectorCalls]abi.Any

// MaxVectorArguments is the largest number of arguments of a call in a Vector.
const MaxVectorArguments = len(vectorChunk{})

// Len returns the number of calls.
func (v *Vector) Len() int { return v.n }

// Begin starts a call of the Function object, which must be kept alive until Do
// has returned.
func (v *Vector) Begin(fn uintptr) {
	i := v.n % VectorCalls
	if i == 0 && len(v.blocks) == v.n/VectorCalls {
		v.blocks = append(v.blocks, new(vectorBlock))
	}
	block := v.blocks[v.n/VectorCalls]
	if len(v.chunks) == 0 || v.used == MaxVectorArguments {
		v.nextChunk()
	}
	v.n++
	block.results[i] = abi.Any{}
	v.last = &block.records[i]
	*v.last = ccall.Record{
		Fn: safeCall(fn), Handle: fn,
		Args: uintptr(unsafe.Pointer(&v.chunks[v.chunk][v.used])), Res: uintptr(unsafe.Pointer(&block.results[i])),
	}
}

func (v *Vector) nextChunk() {
	if len(v.chunks) > 0 {
		v.chunk++
	}
	v.used = 0
	if v.chunk == len(v.chunks) {
		v.chunks = append(v.chunks, new(vectorChunk))
	}
}

// Add adds an argument, borrowed, to the call that was begun last. It returns
// false if the call has too many.
func (v *Vector) Add(x abi.Any) bool {
	if v.used == MaxVectorArguments && !v.moveArguments() {
		return false
	}
	v.chunks[v.chunk][v.used] = x
	v.used++
	v.last.N++
	return true
}

// moveArguments moves the arguments of the last call to a fresh chunk.
func (v *Vector) moveArguments() bool {
	n := int(v.last.N)
	if n == MaxVectorArguments {
		return false
	}
	old := v.chunks[v.chunk]
	v.nextChunk()
	v.used = copy(v.chunks[v.chunk][:], old[MaxVectorArguments-n:])
	v.last.Args = uintptr(unsafe.Pointer(v.chunks[v.chunk]))
	return true
}

// Result is the result of call i, owned, which Do has made.
func (v *Vector) Result(i int) *abi.Any { return &v.blocks[i/VectorCalls].results[i%VectorCalls] }

// Do makes the calls, in order, and stops at the first that fails. It returns how
// many were made, and the error of the one that failed.
func (v *Vector) Do() (done int, err error) {
	for done < v.n {
		block := v.blocks[done/VectorCalls]
		n := min(v.n-done, VectorCalls)
		block.head.Records, block.head.N = uintptr(unsafe.Pointer(&block.records)), uintptr(n)
		ccall.CallAll(&block.head)
		done += n - int(block.head.Left)
		if block.head.Left > 0 {
			err = Hooks.ErrorOf(block.head.Err)
			break
		}
	}
	runtime.KeepAlive(v)
	return done, err
}

// Reset forgets the calls. The results must have been taken.
func (v *Vector) Reset() { v.n, v.chunk, v.used, v.last = 0, 0, 0, nil }

// tryDecRef drops a strong reference in Go, unless it is the last one.
func tryDecRef(handle uintptr) bool {
	counts := &At[abi.Object](handle).RefCounts
	for {
		v := atomic.LoadUint64(counts)
		if uint32(v) <= 1 {
			return false
		}
		if atomic.CompareAndSwapUint64(counts, v, v-1) {
			return true
		}
	}
}

// Releaser drops references, the last ones of objects many in one crossing. The
// zero value is ready. It must lie on the heap.
type Releaser struct {
	head    ccall.Vector
	records [releases]ccall.Record
	n       int
}

const releases = 64

var releasers = sync.Pool{New: func() any { return new(Releaser) }}

// NewReleaser returns a Releaser, which Close gives back.
func NewReleaser() *Releaser { return releasers.Get().(*Releaser) }

// Release drops a strong reference, by Flush or Close at the latest.
func (r *Releaser) Release(handle uintptr) {
	if tryDecRef(handle) {
		return
	}
	if r.n == releases {
		r.Flush()
	}
	r.records[r.n] = ccall.Record{Fn: API.ObjectDecRef, Handle: handle}
	r.n++
}

// ReleaseValue drops the reference of an owned value, if it is an object.
func (r *Releaser) ReleaseValue(v abi.Any) {
	if v.TypeIndex.IsObject() {
		r.Release(uintptr(v.Bits))
	}
}

// Flush drops what waits.
func (r *Releaser) Flush() {
	if r.n == 0 {
		return
	}
	r.head.Records, r.head.N = uintptr(unsafe.Pointer(&r.records)), uintptr(r.n)
	r.n = 0
	ccall.CallAll(&r.head)
	if r.head.Err != 0 {
		DecRef(r.head.Err)
	}
	runtime.KeepAlive(r)
	if ccall.HasReleased() {
		drain()
	}
}

// Close drops what waits and gives r back.
func (r *Releaser) Close() {
	r.Flush()
	releasers.Put(r)
}

// ReleaseAll ends the wrappers, in order, as Release does each.
func ReleaseAll(objects []*Object) {
	r := NewReleaser()
	for _, o := range objects {
		if h := o.end(); h != 0 {
			r.Release(h)
		}
	}
	r.Close()
}

// EntriesAtOnce is the largest number of entries that a Cursor reads at once.
const EntriesAtOnce = 64

// Cursor reads the entries of a map through the iterator functor of the library,
// which answers 0 with the key, 1 with the value, and 2 by advancing.
type Cursor struct {
	head     ccall.Vector
	commands [3]abi.Any
	records  [3 * EntriesAtOnce]ccall.Record
	results  [3 * EntriesAtOnce]abi.Any
	functor  *Object
	left     int
}

var cursors = sync.Pool{New: func() any { return new(Cursor) }}

// NewCursor begins to read n entries through a functor. Close gives it back.
func NewCursor(functor *Object, n int) *Cursor {
	c := cursors.Get().(*Cursor)
	for i := range c.commands {
		c.commands[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(i)}
	}
	c.functor, c.left = functor, n
	return c
}

// Next reads the next entries: each is a key, a value, both owned, and a third
// value without meaning. None are left when there are none.
func (c *Cursor) Next() ([]abi.Any, error) {
	n := min(c.left, EntriesAtOnce)
	if n == 0 {
		return nil, nil
	}
	c.left -= n
	calls := 3 * n
	if c.left == 0 {
		calls-- // the last entry is not left behind
	}
	clear(c.results[:3*n])
	fn := safeCall(c.functor.handle)
	for i := range calls {
		c.records[i] = ccall.Record{
			Fn: fn, Handle: c.functor.handle, N: 1,
			Args: uintptr(unsafe.Pointer(&c.commands[i%3])), Res: uintptr(unsafe.Pointer(&c.results[i])),
		}
	}
	c.head.Records, c.head.N = uintptr(unsafe.Pointer(&c.records)), uintptr(calls)
	ccall.CallAll(&c.head)
	runtime.KeepAlive(c)
	if c.head.Left == 0 {
		return c.results[:3*n], nil
	}
	for _, v := range c.results[:calls-int(c.head.Left)] {
		if v.TypeIndex.IsObject() {
			DecRef(uintptr(v.Bits))
		}
	}
	return nil, Hooks.ErrorOf(c.head.Err)
}

// Close gives c back; what Next returned last must have been used.
func (c *Cursor) Close() {
	c.functor.Release()
	c.functor = nil
	cursors.Put(c)
}
