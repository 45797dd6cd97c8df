// Package batch makes many calls of native functions in one crossing into C. For single
// calls, use generated code or [tvmffi.Function.Call].
//
// # Start here
//
// A [Batch] collects calls. [Batch.Add] adds one with arguments of any types, [Batch.Call] one
// whose arguments follow by methods of its [Pending], which is faster. [Batch.Do] makes the
// calls in order, and [Result] reads the result of one. Do stops after the first call that
// fails, and its [Error] has the number of that call.
//
// Use a batch for many short calls that do not need the results of each other.
package batch

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Batch collects calls of functions and makes them together, 64 in each crossing into C. A
// call in a batch costs a fraction of a single call:
//
//	var b batch.Batch
//	sum := b.Add(add, 1, 2)             // arguments of any type, or
//	next := b.Call(add).Int(3).Int(4)   // typed, which is faster
//	if err := b.Do(); err != nil {
//		return err                      // call 1 of the batch: ValueError: ...
//	}
//	n, err := batch.Result[int64](sum)
//
// Do makes the calls in order and stops after the first call that fails. A call cannot use
// the result of another call of the same batch.
//
// The zero Batch is ready for use. After Do, the next call that is added begins a new batch
// and ends the results of the previous one. A Batch must not be copied, and two goroutines
// must not use it at once: like a map of Go, it panics where it finds that they do. It cannot
// be used any more then.
type Batch struct {
	_       objects.NoCopy
	vector  calls.Batch
	keep    []any
	owned   []abi.Any
	str     []byte       // memory for string arguments
	objects []tvmffi.Any // results that are objects or strings, by call, if there are any
	failure *Error
}

// Error is the error of one call of a Batch.
type Error struct {
	// Call is the index of the call in the batch, from 0.
	Call int
	// Err is the error of the call.
	Err error
}

// Error returns the index of the call and the text of its error.
func (e *Error) Error() string { return fmt.Sprintf("call %d of the batch: %v", e.Call, e.Err) }

// Unwrap returns the error of the call.
func (e *Error) Unwrap() error { return e.Err }

// Pending is a call in a Batch. Its methods add arguments and return the same Pending. They
// may be used until the next call is added. [Result] returns the result of the call after
// [Batch.Do]. If an argument cannot be added, Do returns the first such error and makes no
// call.
type Pending struct {
	batch  *Batch
	serial uint64 // the lower half is the index of the call plus one
}

func (p Pending) call() int { return int(uint32(p.serial)) - 1 }

// Len returns the number of calls that were added.
func (b *Batch) Len() int { return b.vector.Len() }

// Call adds a call of f. The methods of its result add the arguments.
func (b *Batch) Call(f *tvmffi.Function) Pending { return Pending{b, b.vector.Begin(codec.Ref(f))} }

// Add adds a call of f with args, which may be of any types that tvmffi.Function.Call takes.
func (b *Batch) Add(f *tvmffi.Function, args ...any) Pending {
	p := b.Call(f)
	for i := range args {
		p.Value(args[i])
	}
	return p
}

// add adds a packed argument.
func (p Pending) add(v abi.Any) Pending {
	if !p.batch.vector.Add(p.serial, v) {
		p.batch.vector.AddSlowly(p.serial, v)
	}
	return p
}

// Int adds an int argument.
func (p Pending) Int(x int64) Pending {
	return p.add(abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)})
}

// Float adds a float argument.
func (p Pending) Float(x float64) Pending {
	return p.add(abi.Any{TypeIndex: abi.TypeFloat, Bits: *(*uint64)(unsafe.Pointer(&x))})
}

// Bool adds a bool argument.
func (p Pending) Bool(x bool) Pending {
	return p.add(abi.Any{TypeIndex: abi.TypeBool, Bits: codec.BoolBits(x)})
}

// Text adds a string argument. It copies s.
func (p Pending) Text(s string) Pending {
	switch {
	case len(s) <= abi.MaxSmall:
		return p.add(capi.SmallString(s))
	case strings.IndexByte(s, 0) >= 0:
		return p.temp(codec.Encode(s))
	}
	b := p.batch
	b.vector.Enter()
	if cap(b.str)-len(b.str) <= len(s) {
		// The full memory must not move, because the arguments refer to it.
		b.keep = append(b.keep, b.str)
		b.str = make([]byte, 0, max(4096, len(s)+1))
	}
	at := len(b.str)
	b.str = append(append(b.str, s...), 0)
	text := &b.str[at]
	b.vector.Leave()
	return p.add(abi.Any{TypeIndex: abi.TypeRawStr, Bits: uint64(uintptr(unsafe.Pointer(text)))})
}

// Object adds an object argument, or None for nil. x must not be released before Do.
func (p Pending) Object(x tvmffi.ObjectRef) Pending {
	t, err := codec.EncodeObject(objects.StateOf(x))
	return p.temp(t, err)
}

// Value adds an argument of any type that tvmffi.Function.Call takes.
func (p Pending) Value(x any) Pending {
	switch x := x.(type) {
	case nil:
		return p.add(abi.Any{})
	case int64:
		return p.Int(x)
	case int:
		return p.Int(int64(x))
	case float64:
		return p.Float(x)
	case bool:
		return p.Bool(x)
	case string:
		return p.Text(x)
	}
	return p.temp(codec.Encode(x))
}

// temp adds a packed argument and keeps alive what it refers to.
func (p Pending) temp(t values.AnyView, err error) Pending {
	b := p.batch
	if err != nil {
		b.vector.Fail(p.call(), failure.Annotate("an argument", err))
		return p
	}
	b.vector.Enter()
	if o, ok := t.Keep.(*objects.Object); ok {
		b.vector.Use(o)
	} else if t.Keep != nil {
		b.keep = append(b.keep, t.Keep)
	}
	if t.Owned && t.Value.TypeIndex.IsObject() {
		b.owned = append(b.owned, t.Value)
	}
	b.vector.Leave()
	return p.add(t.Value)
}

// Do makes the calls in order, and stops after the first call that fails. It then returns
// an *[Error], which wraps the error of the call. If an argument could not be added, Do
// makes no call and returns that error in an *[Error].
func (b *Batch) Do() error {
	b.vector.Enter()
	defer b.vector.Leave()
	clear(b.objects)
	b.objects, b.failure = b.objects[:0], nil
	done, failed, err := b.vector.Do()
	b.finish(done)
	if err != nil {
		b.failure = &Error{failed, err}
		return b.failure
	}
	return nil
}

// finish takes the results that are objects, and drops everything that the arguments
// needed.
func (b *Batch) finish(done int) {
	r := objects.NewReleaser()
	b.vector.Objects(done, func(i int, v abi.Any) {
		if len(b.objects) == 0 {
			b.objects = append(b.objects, make([]tvmffi.Any, done)...)
		}
		if v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeBytes {
			b.objects[i] = codec.ShowAny[tvmffi.Any](v, objects.ReadOwned())
			r.ReleaseValue(v)
		} else {
			b.objects[i] = codec.TakeAnyAs[tvmffi.Any](v)
		}
	})
	for _, v := range b.owned {
		r.ReleaseValue(v)
	}
	r.Close()
	clear(b.keep)
	b.keep, b.owned, b.str = b.keep[:0], b.owned[:0], b.str[:0]
}

// Result returns the result of a call of a Batch, like tvmffi.As. If the result is an
// object, every Result of that call returns the same object, which has one Release. If the
// call failed, Result returns its error. If the call was not made, the error says why.
func Result[T any](p Pending) (x T, err error) {
	if v := p.result(); v != nil && v.TypeIndex == abi.TypeInt {
		if n, ok := any(&x).(*int64); ok {
			*n = int64(v.Bits)
			return x, nil
		}
	}
	return result[T](p)
}

// result is Result for any type.
func result[T any](p Pending) (x T, err error) {
	v := p.result()
	switch {
	case v == nil:
		return x, p.noResult()
	case v.TypeIndex.IsObject():
		return tvmffi.As[T](p.batch.objects[p.call()])
	}
	return codec.Element[T](v, objects.ReadOwned())
}

// result returns the result of a call that was made, or nil.
func (p Pending) result() *abi.Any {
	if p.batch == nil {
		return nil
	}
	return p.batch.vector.Result(p.serial)
}

func (p Pending) noResult() error {
	b := p.batch
	switch {
	case b == nil || !b.vector.Done(p.serial):
		return failure.Errorf(failure.KindRuntime, "the result of this call is not available: call Do first, and read the results before the next call is added")
	case b.failure.Call == p.call():
		return b.failure
	}
	return failure.Errorf(failure.KindRuntime, "call %d of the batch was not made: %w", p.call(), b.failure)
}
