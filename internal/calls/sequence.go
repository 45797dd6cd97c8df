package calls

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Pack collects the arguments of a call with any number of them. It is pooled:
// a call with a thousand strings allocates nothing.
type Pack struct {
	values []abi.Any
	text   []byte // of raw strings, whose values hold offsets until Apply
	keep   []any
	owned  []abi.Any
	moved  []*moved
	// flat says that the values are a result in flat form; see callbacks.Flat. Then they are
	// owned, raw strings have their sizes, and containers are among them.
	flat bool
	// argument is what a callee gets of an argument in flat form.
	argument callbacks.FlatArgument
	// flatAny says that containers in values of any type are in flat form, too.
	flatAny bool
}

// NewFlat returns an empty Pack for a result in flat form.
func NewFlat(flatAny bool) *Pack {
	p := NewPack(0)
	p.flat, p.flatAny = true, flatAny
	return p
}

// FlatAny reports whether containers in values of any type are in flat form, too.
func (p *Pack) FlatAny() bool { return p.flatAny }

// Flat reports whether p is a result in flat form.
func (p *Pack) Flat() bool { return p.flat }

// Own adds a value to a result in flat form, which it belongs to.
func (p *Pack) Own(v abi.Any) {
	p.values = append(p.values, v)
	if v.TypeIndex.IsObject() {
		p.owned = append(p.owned, v)
	}
}

// Return makes a flat form the result of a callback: a single value as it is.
func (p *Pack) Return(a *callbacks.Args) {
	p.owned = p.owned[:0]
	if v := p.values[0]; len(p.values) > 1 || v.TypeIndex < 0 || v.TypeIndex == abi.TypeRawStr || v.TypeIndex == abi.TypeByteArrayPtr {
		a.ReturnFlat(p.values, p.text)
	} else {
		a.Return(v)
	}
}

var packs = sync.Pool{New: func() any { return new(Pack) }}

// NewPack returns an empty Pack with room for n values.
func NewPack(n int) *Pack {
	p := packs.Get().(*Pack)
	if cap(p.values) < n {
		p.values = make([]abi.Any, 0, n)
	}
	return p
}

// Int adds an int.
func (p *Pack) Int(x int64) {
	p.values = append(p.values, abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)})
}

// Float adds a float.
func (p *Pack) Float(x float64) {
	p.values = append(p.values, abi.Any{TypeIndex: abi.TypeFloat, Bits: *(*uint64)(unsafe.Pointer(&x))})
}

// Bool adds a bool.
func (p *Pack) Bool(x bool) {
	v := abi.Any{TypeIndex: abi.TypeBool}
	if x {
		v.Bits = 1
	}
	p.values = append(p.values, v)
}

// Any adds a borrowed value, which the caller keeps alive until Apply has returned.
func (p *Pack) Any(v abi.Any) { p.values = append(p.values, v) }

// Put adds a value that was encoded before.
func (p *Pack) Put(t values.AnyView) {
	if t.Moved {
		m, v := newMoved(uintptr(t.Value.Bits))
		p.values, p.moved = append(p.values, v), append(p.moved, m)
		return
	}
	p.values = append(p.values, t.Value)
	if t.Keep != nil {
		p.keep = append(p.keep, t.Keep)
	}
	if t.Owned && t.Value.TypeIndex.IsObject() {
		p.owned = append(p.owned, t.Value)
	}
}

// String adds a string.
func (p *Pack) String(s string) error {
	if len(s) <= abi.MaxSmall {
		p.values = append(p.values, capi.SmallString(s))
		return nil
	}
	if p.flat {
		return p.raw(abi.TypeRawStr, s)
	}
	if strings.IndexByte(s, 0) >= 0 {
		// A raw string ends at its first NUL: such a text goes as a String object.
		v, err := values.NewString(s)
		if err == nil {
			p.Put(values.AnyView{Value: v, Owned: true})
		}
		return err
	}
	p.values = append(p.values, abi.Any{TypeIndex: abi.TypeRawStr, Bits: uint64(len(p.text))})
	p.text = append(append(p.text, s...), 0)
	return nil
}

// Bytes adds bytes to a result in flat form.
func (p *Pack) Bytes(b []byte) error {
	return p.raw(abi.TypeByteArrayPtr, unsafe.String(unsafe.SliceData(b), len(b)))
}

// Begin adds the head of a container of n parts to a result in flat form.
func (p *Pack) Begin(head abi.TypeIndex, n int) {
	p.values = append(p.values, abi.Any{TypeIndex: head, Bits: uint64(n)})
}

// Grow adds n values, which the caller sets to scalars.
func (p *Pack) Grow(n int) []abi.Any {
	p.values = slices.Grow(p.values, n)
	p.values = p.values[:len(p.values)+n]
	return p.values[len(p.values)-n:]
}

// raw adds a text or bytes to a result in flat form.
func (p *Pack) raw(index abi.TypeIndex, s string) error {
	if uint64(len(s)) > math.MaxUint32 {
		v, err := values.NewString(s)
		if index == abi.TypeByteArrayPtr {
			v, err = values.NewBytes(unsafe.Slice(unsafe.StringData(s), len(s)))
		}
		p.Own(v)
		return err
	}
	p.values = append(p.values, abi.Any{TypeIndex: index, Small: uint32(len(s)), Bits: uint64(len(p.text))})
	p.text = append(p.text, s...)
	return nil
}

// Len returns the number of values.
func (p *Pack) Len() int { return len(p.values) }

// Apply calls the Function object with the values and returns its result, owned.
func (p *Pack) Apply(fn uintptr) (abi.Any, error) {
	if len(p.text) > 0 {
		base := uint64(uintptr(unsafe.Pointer(&p.text[0])))
		for i := range p.values {
			if v := &p.values[i]; v.TypeIndex == abi.TypeRawStr {
				v.Bits += base
			}
		}
	}
	v, err := failure.Apply(fn, p.values)
	runtime.KeepAlive(p)
	return v, err
}

// Close releases what the values needed and gives p back.
func (p *Pack) Close() {
	if len(p.owned) > 0 {
		r := objects.NewReleaser()
		for _, v := range p.owned {
			r.ReleaseValue(v)
		}
		r.Close()
	}
	for _, m := range p.moved {
		m.end()
	}
	clear(p.keep)
	clear(p.moved)
	p.values, p.text, p.keep, p.owned, p.moved = p.values[:0], p.text[:0], p.keep[:0], p.owned[:0], p.moved[:0]
	p.flat, p.flatAny, p.argument = false, false, callbacks.FlatArgument{}
	packs.Put(p)
}
