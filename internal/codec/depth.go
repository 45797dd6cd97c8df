package codec

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// The library takes values apart by recursion on the C stack in structural
// comparison, walks and serialization. A value that contains itself, or is nested
// some thousand levels deep, would end the process there; it is refused here.

// Bounded returns an error for a value that the library must not take apart.
func Bounded(v abi.Any) error { return new(Bounder).bound(v) }

// Finite is Bounded for functions that also go through a shared value once for each reference
// to it. If objects is false they remember objects, and go through shared containers only.
func Finite(v abi.Any, objects bool) error {
	return (&Bounder{most: MaxVisits, objects: objects}).bound(v)
}

// Countable is Finite for functions of the library that need no stack: depth and cycles have
// no limit.
func Countable(v abi.Any) error {
	return (&Bounder{most: MaxVisits, objects: true, deep: true}).bound(v)
}

// MaxVisits limits how often a function goes through the parts of a value. That takes about
// half a minute.
const MaxVisits = 1 << 27

// Bounder measures how deep a value is nested, each shared object once.
type Bounder struct {
	// known holds the heights of objects with more than one reference, and the visits
	// that they take; on those that are being visited it is onPath. An object with one
	// reference has one parent, so it is not met again.
	known map[uintptr]int
	// Cycle is the type of an object that contains itself, once one was met.
	Cycle abi.TypeIndex

	visits, most  int
	objects, deep bool
}

// OnPath is the height of an object that is being visited.
const OnPath = -1

// heightBits are the bits of an entry of known that hold the height.
const heightBits = 12

func (b *Bounder) bound(v abi.Any) (err error) {
	defer Catch(&err)
	_, err = b.Visit(v, 0)
	return err
}

// Visit returns the height of v, which has depth levels around it.
func (b *Bounder) Visit(v abi.Any, depth int) (int, error) {
	if !MayNest(v) {
		return 0, nil
	}
	if depth >= MaxDepth {
		if b.deep {
			return 0, nil
		}
		return 0, failure.Errorf(failure.KindValue, "the value is nested deeper than %d levels", MaxDepth)
	}
	handle := uintptr(v.Bits)
	shared := objects.Strong(handle) > 1
	if shared {
		known, ok := b.known[handle]
		height := known & (1<<heightBits - 1)
		switch {
		case ok && b.deep && (known == OnPath || depth+height > MaxDepth):
			return 0, nil
		case ok && known == OnPath:
			b.Cycle = v.TypeIndex
			return 0, failure.Errorf(failure.KindValue, "the value contains itself, in %s", capi.KeyOf(v.TypeIndex))
		case ok && depth+height > MaxDepth:
			return 0, failure.Errorf(failure.KindValue, "the value is nested deeper than %d levels", MaxDepth)
		case ok:
			if b.most > 0 && (b.objects || crossing.ClassOf(v.TypeIndex).Container()) {
				if b.visits += known >> heightBits; b.visits > b.most {
					return 0, failure.Errorf(failure.KindValue, "the value shares parts with itself so often that to go through it takes more than %d visits: take parts of it", b.most)
				}
			}
			return height, nil
		}
		if b.known == nil {
			b.known = map[uintptr]int{}
		}
		b.known[handle] = OnPath
	}
	height, before := 0, b.visits
	b.visits++
	var err error
	visit := func(x abi.Any) bool {
		var h int
		h, err = b.Visit(x, depth+1)
		height = max(height, h)
		return err == nil
	}
	if all, ok := Elements(v); ok {
		b.visits += len(all)
		for _, x := range all {
			if MayNest(x) && !visit(x) {
				break
			}
		}
	} else {
		parts(v, true, func(p Part) bool {
			b.visits++
			return (p.Kind != PartEntry || visit(p.Key)) && visit(p.Value)
		})
	}
	if shared {
		b.known[handle] = min(b.visits-before, 1<<40)<<heightBits | (height + 1)
	}
	return height + 1, err
}

// Nest is the chain of Go slices, maps and pointers around a value that is
// packed. It finds a value that contains itself; nil is the outermost.
type Nest struct {
	outer *Nest
	kind  reflect.Type
	at    unsafe.Pointer
	size  int
	depth int
	// flat gets the parts of a result in flat form; nil otherwise.
	flat *calls.Pack
	// typing says whether values of any type have the names of their types.
	typing typing
}

// parts returns what gets the parts of a result in flat form, nil for all other values.
func (n *Nest) parts() *calls.Pack {
	if n == nil {
		return nil
	}
	return n.flat
}

// Apart returns n for the fields of an object, which are never in flat form, and which others than the caller read.
func (n *Nest) Apart() *Nest {
	if n == nil {
		return keptNest
	}
	if n.flat == nil && n.typing == kept {
		return n
	}
	whole := *n
	whole.flat, whole.typing = nil, kept
	return &whole
}

// Whole returns n for a value of any type, which becomes an object with all its parts, unless the
// caller takes it in flat form.
func (n *Nest) Whole() *Nest {
	if p := n.parts(); p == nil || p.FlatAny() {
		return n
	}
	n = n.Apart()
	n.typing = untyped
	return n
}

// MaxDepth limits how deep values may be nested: C++ takes them apart by
// recursion.
const MaxDepth = 1000

// Enter descends into a container, identified by the address of its data and its
// size.
func (n *Nest) Enter(kind reflect.Type, at unsafe.Pointer, size int) (*Nest, error) {
	depth := 1
	if n != nil {
		depth = n.depth + 1
	}
	if depth > MaxDepth {
		return nil, failure.Errorf(failure.KindValue, "the value is nested deeper than %d levels", MaxDepth)
	}
	if size > 0 {
		for o := n; o != nil; o = o.outer {
			if o.at == at && o.size == size && o.kind == kind {
				return nil, failure.Errorf(failure.KindValue, "the %s contains itself", kind)
			}
		}
	}
	inner := &Nest{outer: n, kind: kind, at: at, size: size, depth: depth, flat: n.parts()}
	if n != nil {
		inner.typing = n.typing
	}
	return inner, nil
}

// EncodeIn packs the value at p inside outer.
func EncodeIn(c *Codec, p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
	if c.Typed != "" && outer.Typed() {
		return encodeTyped(c, p, outer)
	}
	if c.within != nil {
		return c.within(p, outer)
	}
	return c.Encode(p)
}

// Nested makes the codec pack by within, which knows what is around the value.
func (c *Codec) Nested(within func(p unsafe.Pointer, outer *Nest) (values.AnyView, error)) *Codec {
	c.within = within
	c.Encode = func(p unsafe.Pointer) (values.AnyView, error) { return within(p, nil) }
	return c
}

// Descend returns the Reading of the elements of a value that is read into a type that
// may hold itself.
func Descend(from objects.Reading) (objects.Reading, error) {
	if from.Depth++; from.Depth > MaxDepth {
		return from, failure.Errorf(failure.KindValue, "the value contains itself, or is nested deeper than %d levels", MaxDepth)
	}
	return from, nil
}

// Recursive reports whether a value of type t may hold another of that type
// without an interface between them, or a func of type t takes or returns such.
func Recursive(t reflect.Type) bool {
	seen := map[reflect.Type]bool{}
	var reaches func(u reflect.Type) bool
	reaches = func(u reflect.Type) bool {
		if u == t && len(seen) > 0 {
			return true
		}
		if seen[u] {
			return false
		}
		seen[u] = true
		switch u.Kind() {
		case reflect.Slice, reflect.Array, reflect.Pointer:
			return reaches(u.Elem())
		case reflect.Map:
			return reaches(u.Key()) || reaches(u.Elem())
		case reflect.Func:
			for i := range u.NumIn() {
				if t.Kind() == reflect.Func && reaches(u.In(i)) {
					return true
				}
			}
			for i := range u.NumOut() {
				if t.Kind() == reflect.Func && reaches(u.Out(i)) {
					return true
				}
			}
		case reflect.Struct:
			for i := range u.NumField() {
				if reaches(u.Field(i).Type) {
					return true
				}
			}
		}
		return false
	}
	return reaches(t)
}
