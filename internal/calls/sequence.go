package calls

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
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
	packs.Put(p)
}
