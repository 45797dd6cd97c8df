package calls

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

const anySize = unsafe.Sizeof(abi.Any{})

// VectorCalls is the largest number of calls that are made in one crossing.
const VectorCalls = 64

// Batch collects calls of Function objects and makes them in few crossings.
// The zero value is ready. The records and arguments lie in heap memory that does not move, so
// their addresses are final.
//
// Calls of one function with as many arguments each are a run, which is one record:
// to begin a call in a run is to count.
type Batch struct {
	serial uint64          // of the last call, 0 when none takes arguments
	limit  uint64          // while serial is below it, the next call may be of the same run
	used   uint            // how much of chunk
	start  uint            // where the arguments of the last call begin in it
	width  uint            // how many arguments the calls of the run have
	fn     *objects.Object // the function of the last call, nil when none takes arguments
	handle uintptr         // of fn
	chunk  *vectorChunk    // the one that is filled
	run    *ccall.Record   // of the last call
	head   uint64          // the serial of the first call of run
	block  *vectorBlock    // of the last call
	runs   int             // how many block has
	n      int             // the calls, when serial is 0
	round  uint64
	first  uint64       // the number of the first call that Do has made
	made   uint         // how many it has made
	front  *vectorBlock // of the first calls that were made
	state  vectorState
	busy   uint32 // not 0 between Enter and Leave
	uses   []vectorUse
	blocks []*vectorBlock
	chunks []*vectorChunk
	filled int // the number of chunks that are or were chunk
	failed int // the call that err is about
	err    error
}

type vectorState uint8

const (
	vectorOpen    vectorState = iota // takes calls
	vectorRunning                    // in Do
	vectorDone                       // has results
)

// vectorUse is an object that a call needs.
type vectorUse struct {
	object *objects.Object
	call   int
}

type vectorBlock struct {
	head    ccall.Vector
	records [VectorCalls]ccall.Record
	results [VectorCalls]abi.Any
}

// vectorChunk is room for arguments. All arguments of one call lie in one chunk.
type vectorChunk [MaxVectorArguments]abi.Any

// MaxVectorArguments is the largest number of arguments of a call in a Vector.
const MaxVectorArguments = 4 * VectorCalls

// Len returns the number of calls.
func (v *Batch) Len() int {
	if v.serial == 0 {
		return v.n
	}
	return int(uint32(v.serial))
}

// Begin starts a call of a Function object. It returns a number that identifies the
// call from all others of v: the round in the upper half, the index and one in
// the lower.
func (v *Batch) Begin(fn *objects.Object) uint64 {
	if fn != v.fn || v.serial >= v.limit || v.used-v.start != v.width || fn.Addr() != v.handle {
		return v.begin(fn)
	}
	v.start = v.used
	v.serial++
	return v.serial
}

// Enter begins a change of more than the numbers of the last call, and panics if another
// goroutine is in the middle of one. Begin and Add do not Enter where they only count: settle
// compares what they counted.
func (v *Batch) Enter() {
	if atomic.SwapUint32(&v.busy, 1) == 0 {
		return
	}
	if v.state == vectorRunning {
		panic(failure.Errorf(failure.KindRuntime, "the batch is making its calls: a callback or another goroutine needs a batch of its own"))
	}
	misused()
}

// Leave ends a change.
func (v *Batch) Leave() { v.busy = 0 }

func misused() {
	panic(failure.Errorf(failure.KindRuntime, "two goroutines use the batch at once: give each one a batch of its own"))
}

// begin is Begin where the call is not, or not yet, of the run of the one before.
func (v *Batch) begin(fn *objects.Object) uint64 {
	v.Enter()
	serial := v.beginRun(fn)
	v.Leave()
	return serial
}

func (v *Batch) beginRun(fn *objects.Object) uint64 {
	if v.serial == 0 {
		v.open()
	}
	if fn == nil || fn.Addr() == 0 {
		return v.refuse(fn)
	}
	v.settle()
	if fn == v.fn && v.serial == v.head {
		if v.extend(); v.serial < v.limit {
			return v.Begin(fn)
		}
	}
	n := v.Len()
	if n%VectorCalls == 0 {
		v.nextBlock(n / VectorCalls)
	}
	if v.chunk == nil || v.used == MaxVectorArguments {
		v.nextChunk()
	}
	if fn != v.fn {
		v.fn, v.handle = fn, fn.Addr()
		v.uses = append(v.uses, vectorUse{fn, n})
	}
	v.start = v.used
	v.serial = v.round | uint64(n+1)
	v.nextRun(capi.SafeCall(v.handle))
	return v.serial
}

// nextRun makes the last call the first of a run.
func (v *Batch) nextRun(code uintptr) {
	v.run = &v.block.records[v.runs]
	v.runs++
	*v.run = ccall.Record{Fn: code, Handle: v.handle, Args: uintptr(unsafe.Pointer(v.chunk)) + uintptr(v.start)*anySize}
	v.head, v.limit = v.serial, 0
}

// extend lets calls like the last one, which is the first of its run, follow in the
// run, as many as the block has left.
func (v *Batch) extend() {
	v.width = v.used - v.start
	v.limit = v.serial + VectorCalls - 1 - uint64(v.Len()-1)%VectorCalls
}

// split makes the last call a run of its own.
func (v *Batch) split() {
	if v.serial != v.head {
		v.run.Calls = uintptr(v.serial - v.head)
		v.nextRun(v.run.Fn)
	}
}

// settle completes the record of the last call, if there is one.
func (v *Batch) settle() {
	if v.serial == 0 {
		return
	}
	if v.used-v.start != v.width {
		v.split()
	}
	v.run.N, v.run.Calls = uintptr(v.used-v.start), uintptr(v.serial-v.head+1)
	if end := uintptr(unsafe.Pointer(v.chunk)) + uintptr(v.used)*anySize; v.run.Args+v.run.N*v.run.Calls*anySize != end || v.limit != 0 && v.serial > v.limit {
		misused() // C would read what is not there
	}
}

// open forgets the calls that were made.
func (v *Batch) open() {
	if v.state == vectorDone {
		*v = Batch{round: v.round + 1<<32, uses: v.uses, blocks: v.blocks, chunks: v.chunks, busy: v.busy}
	}
}

// refuse is Begin for a function that is nil or has ended.
func (v *Batch) refuse(fn *objects.Object) uint64 {
	v.n = v.Len()
	v.Fail(v.n, failure.Ended("the function", fn))
	v.serial, v.limit, v.fn = 0, 0, nil
	return v.round | uint64(v.n+1)
}

// Fail keeps the first error of adding calls.
func (v *Batch) Fail(call int, err error) {
	if v.err == nil {
		v.failed, v.err = call, err
	}
}

// Use says that the last call needs o. It must not end before Do. The caller has Entered.
func (v *Batch) Use(o *objects.Object) { v.uses = append(v.uses, vectorUse{o, v.Len() - 1}) }

func (v *Batch) nextBlock(i int) {
	if i == len(v.blocks) {
		v.blocks = append(v.blocks, new(vectorBlock))
	}
	v.block, v.runs = v.blocks[i], 0
}

func (v *Batch) nextChunk() {
	if v.filled == len(v.chunks) {
		v.chunks = append(v.chunks, new(vectorChunk))
	}
	v.chunk, v.used = v.chunks[v.filled], 0
	v.filled++
}

// Add adds an argument, borrowed, to a call. It returns false if that is for
// AddSlowly to do.
func (v *Batch) Add(serial uint64, x abi.Any) bool {
	if serial != v.serial || v.used >= MaxVectorArguments {
		return false
	}
	v.chunk[v.used] = x
	v.used++
	return true
}

// AddSlowly is Add where the room is at its end, or where serial is not the last
// call.
func (v *Batch) AddSlowly(serial uint64, x abi.Any) {
	n := v.used - v.start
	switch call := int(uint32(serial)) - 1; {
	case serial>>32 != v.round>>32 || v.state != vectorOpen:
		panic(failure.Errorf(failure.KindRuntime, "an argument was added to a batch that is done"))
	case serial != v.serial:
		// If its function was refused, that is the error.
		v.Fail(call, failure.Errorf(failure.KindRuntime, "an argument was added after another call"))
	case n == MaxVectorArguments:
		v.Fail(call, failure.Errorf(failure.KindType, "the call has more than %d arguments", MaxVectorArguments))
	default:
		v.Enter()
		v.split()
		old := v.chunk[v.start:]
		v.nextChunk()
		v.run.Args, v.start = uintptr(unsafe.Pointer(v.chunk)), 0
		v.used = uint(copy(v.chunk[:], old))
		v.Add(serial, x)
		v.Leave()
	}
}

// Done reports whether Do has made the calls of which serial was one.
func (v *Batch) Done(serial uint64) bool { return v.state == vectorDone && serial>>32 == v.round>>32 }

// Result is the result of a call that Do has made, owned by v; nil for others.
func (v *Batch) Result(serial uint64) *abi.Any {
	// The numbers of the calls that were made follow each other.
	switch i := uint(serial - v.first); {
	case i >= v.made:
		return nil
	case i < VectorCalls:
		return &v.front.results[i]
	default:
		return &v.blocks[i/VectorCalls].results[i%VectorCalls]
	}
}

// Objects calls f for each result of the first n that is an object.
func (v *Batch) Objects(n int, f func(i int, v abi.Any)) {
	for at, block := range v.blocks {
		first := at * VectorCalls
		if first >= n {
			return
		}
		results := block.results[:min(n-first, VectorCalls)]
		for i := range results {
			if results[i].TypeIndex.IsObject() {
				f(first+i, results[i])
			}
		}
	}
}

// Do makes the calls, in order, and stops at the first that fails. It returns how
// many were made, and the index and the error of the one that failed, or of the
// first that could not be added: then none was made. The caller has Entered.
func (v *Batch) Do() (done, failed int, err error) {
	if v.serial == 0 {
		v.open()
	}
	v.settle()
	n := v.Len()
	for _, use := range v.uses {
		if why, ended := use.object.Ended(); ended {
			v.Fail(use.call, failure.Errorf(failure.KindRuntime, "an object %s before the batch was done", why))
			break
		}
	}
	v.state, v.fn, v.serial, v.limit, v.n = vectorRunning, nil, 0, 0, n
	if v.err == nil {
		done, v.err = v.call()
		v.failed = done
	}
	v.state, v.first, v.made = vectorDone, v.round|1, uint(done)
	if done > 0 {
		v.front = v.blocks[0]
	}
	clear(v.uses)
	v.uses = v.uses[:0]
	return done, v.failed, v.err
}

func (v *Batch) call() (done int, err error) {
	defer runtime.KeepAlive(v)
	for left := v.n; left > 0; left -= VectorCalls {
		block := v.blocks[done/VectorCalls]
		n := min(left, VectorCalls)
		clear(block.results[:n])
		block.head.Records = uintptr(unsafe.Pointer(&block.records))
		block.head.SetResults(uintptr(unsafe.Pointer(&block.results)), n)
		ccall.CallAll(&block.head)
		done += n - int(block.head.Left)
		if block.head.Left > 0 {
			return done, failure.OfCall(block.head.RC, block.head.Err)
		}
	}
	return done, nil
}
