// Package batch makes many calls of native functions in one crossing into C. Single
// calls belong to package tvmffi and to generated code.
package batch

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Batch collects calls of functions and makes them together, 64 in each crossing
// into C, which costs a fraction of single calls:
//
//	var b batch.Batch
//	sum := b.Add(add, 1, 2)             // arguments of any type, or
//	next := b.Call(add).Int(3).Int(4)   // typed, which is faster
//	if err := b.Do(); err != nil {
//		return err                      // call 1 of the batch: ValueError: ...
//	}
//	n, err := batch.Result[int64](sum)
//
// The calls are made in order; the first that fails is the last. No call gets the
// result of another. The zero value is ready, and ready again after Do: the next
// call that is added begins a new batch, and ends the results of the one before.
// A Batch must not be copied, nor used by two goroutines at once.
type Batch struct {
	_       objects.NoCopy
	vector  core.Batch
	keep    []any
	owned   []abi.Any
	text    []byte       // the room that is left for texts
	objects []tvmffi.Any // results that are objects or text, by call, if there are any
	failure *Error
}

// Error says which call of a Batch failed.
type Error struct {
	// Call is the index of the call, from 0.
	Call int
	// Err is the error of the call.
	Err error
}

// Error returns the index and the text of the error.
func (e *Error) Error() string { return fmt.Sprintf("call %d of the batch: %v", e.Call, e.Err) }

// Unwrap returns the error of the call.
func (e *Error) Unwrap() error { return e.Err }

// Pending is a call in a Batch. Its methods add arguments, as long as it is the
// last call, and return it; [Result] reads its result. The first error of adding
// is kept and returned by Do, which then makes no call at all.
type Pending struct {
	batch  *Batch
	serial uint64 // in the lower half one more than the index of the call
}

func (p Pending) call() int { return int(uint32(p.serial)) - 1 }

// Len returns the number of calls that were added.
func (b *Batch) Len() int { return b.vector.Len() }

// Call adds a call of f, whose arguments follow.
func (b *Batch) Call(f *tvmffi.Function) Pending { return Pending{b, b.vector.Begin(codec.Ref(f))} }

// Add adds a call of f with arguments of any type that [Function.Call] takes.
func (b *Batch) Add(f *tvmffi.Function, args ...any) Pending {
	p := b.Call(f)
	for i := range args {
		p.Value(args[i])
	}
	return p
}

// add adds an argument.
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

// Text adds a string argument, which is copied.
func (p Pending) Text(s string) Pending {
	switch {
	case len(s) <= abi.MaxSmall:
		return p.add(capi.SmallString(s))
	case strings.IndexByte(s, 0) >= 0:
		return p.temp(codec.Encode(s))
	}
	b := p.batch
	if cap(b.text)-len(b.text) <= len(s) {
		// What is full stays where it is: the arguments refer to it.
		b.keep = append(b.keep, b.text)
		b.text = make([]byte, 0, max(4096, len(s)+1))
	}
	at := len(b.text)
	b.text = append(append(b.text, s...), 0)
	return p.add(abi.Any{TypeIndex: abi.TypeRawStr, Bits: uint64(uintptr(unsafe.Pointer(&b.text[at])))})
}

// Object adds an object, or None for nil. It must not be released before Do.
func (p Pending) Object(x tvmffi.ObjectRef) Pending {
	t, err := codec.EncodeObject(objects.StateOf(x))
	return p.temp(t, err)
}

// Value adds an argument of any type that [Function.Call] takes.
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

// temp adds a packed argument.
func (p Pending) temp(t core.AnyView, err error) Pending {
	b := p.batch
	if err != nil {
		b.vector.Fail(p.call(), failure.Annotate("an argument", err))
		return p
	}
	if o, ok := t.Keep.(*objects.Object); ok {
		b.vector.Use(o)
	} else if t.Keep != nil {
		b.keep = append(b.keep, t.Keep)
	}
	if t.Owned && t.Value.TypeIndex.IsObject() {
		b.owned = append(b.owned, t.Value)
	}
	return p.add(t.Value)
}

// Do makes the calls, in order, up to the first that fails. Its error is a
// *Error around that of the call. If an argument could not be added, no call
// is made.
func (b *Batch) Do() error {
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

// finish takes the results that are objects, and lets go what the arguments
// needed.
func (b *Batch) finish(done int) {
	r := core.NewReleaser()
	b.vector.Objects(done, func(i int, v abi.Any) {
		if len(b.objects) == 0 {
			b.objects = append(b.objects, make([]tvmffi.Any, done)...)
		}
		if v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeBytes {
			b.objects[i] = codec.LendAny[tvmffi.Any](v, objects.ReadOwned())
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
	b.keep, b.owned, b.text = b.keep[:0], b.owned[:0], b.text[:0]
}

// Result returns the result of a call of a Batch as [As] does: an object is the
// same for each Result of a call, and has one Release. The error is that of the
// call if it failed or was not made.
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

// result is the result of a call that was made, or nil.
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
		return failure.Errorf(failure.KindRuntime, "the batch of this call has not made its calls, or has begun new ones: Do makes them, and the results are there until the next call is added")
	case b.failure.Call == p.call():
		return b.failure
	}
	return failure.Errorf(failure.KindRuntime, "call %d of the batch was not made: %w", p.call(), b.failure)
}
