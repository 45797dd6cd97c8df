package structural

import (
	"math"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// The library puts what a rule returns into the fields of a copied object by their setters, and these cut a number to the width of
// the field. A rule does not know for which field its number is. So a number in a narrow field of the new objects is an error if
// one of the rules' numbers becomes it when it is cut. Not if a rule has returned this number, too, or if the field has it in an
// object of the given graph or of what the rules have made: the library copies such objects.

// results are what the rules have returned.
type results struct {
	numbers map[number]bool
	wide    []abi.Any // those that some field may cut
	given   map[held]bool
}

type number struct {
	of   abi.TypeIndex
	bits uint64
}

// held is a number in a narrow field.
type held struct {
	owner abi.TypeIndex
	field string
	number
}

func heldBy(object abi.Any, p codec.Part) held {
	return held{object.TypeIndex, p.Field.Name, number{p.Value.TypeIndex, p.Value.Bits}}
}

// add remembers v, which a rule has returned for x.
func (r *results) add(x, v abi.Any) {
	if v.TypeIndex != abi.TypeInt && v.TypeIndex != abi.TypeFloat {
		r.made(x, v)
		return
	}
	if r.numbers == nil {
		r.numbers = map[number]bool{}
	}
	n := number{v.TypeIndex, v.Bits}
	if r.numbers[n] {
		return
	}
	r.numbers[n] = true
	f := math.Abs(math.Float64frombits(v.Bits))
	if v.TypeIndex == abi.TypeInt && v.Bits > math.MaxInt8 || v.TypeIndex == abi.TypeFloat && f > math.MaxFloat32 && !math.IsInf(f, 0) {
		r.wide = append(r.wide, v)
	}
}

// made remembers the numbers in v, which a rule has made of x. It keeps no addresses from one call to the next, because the library
// frees what a later rule replaces. Everything in x is known: a new object that holds parts of x costs no walk through them.
func (r *results) made(x, v abi.Any) {
	if !codec.MayNest(v) || v == x {
		return
	}
	var err error
	defer codec.Catch(&err) // a getter that fails here fails in fit, too
	seen := map[uintptr]bool{}
	mark := func(part abi.Any) {
		if codec.MayNest(part) {
			seen[uintptr(part.Bits)] = true
		}
	}
	if mark(x); len(seen) > 0 {
		codec.Parts(x, func(p codec.Part) bool {
			mark(p.Value)
			if elements, ok := codec.Elements(p.Value); ok && p.Field != nil {
				for _, part := range elements {
					mark(part)
				}
			}
			return true
		})
	}
	err = each(v, seen, r.keep)
}

// keep remembers a part of an object that the library may copy.
func (r *results) keep(object abi.Any, p codec.Part) error {
	if p.Field != nil && p.Field.Narrow() {
		if r.given == nil {
			r.given = map[held]bool{}
		}
		r.given[heldBy(object, p)] = true
	}
	return nil
}

// fit returns an error, and releases out, if the library has cut a number in out, which it made of root.
func (r *results) fit(root, out abi.Any) (err error) {
	if len(r.wide) == 0 || !codec.MayNest(out) {
		return nil
	}
	defer func() {
		if err != nil {
			codec.Release(out)
		}
	}()
	defer codec.Catch(&err)
	seen := map[uintptr]bool{}
	if err := each(root, seen, r.keep); err != nil {
		return err
	}
	return each(out, seen, func(object abi.Any, p codec.Part) error {
		if p.Field == nil || !p.Field.Narrow() || r.numbers[number{p.Value.TypeIndex, p.Value.Bits}] || r.given[heldBy(object, p)] ||
			p.Field.Info.Flags&abi.FieldSEqHashIgnore != 0 {
			return nil
		}
		for _, v := range r.wide {
			if cutTo(v, p.Value) {
				if err := p.Field.Check(v); err != nil {
					return failure.Annotate("the result of the Go function for "+capi.KeyOf(object.TypeIndex), err)
				}
			}
		}
		return nil
	})
}

// cutTo reports whether v may become w when it is cut.
func cutTo(v, w abi.Any) bool {
	switch {
	case v.TypeIndex != w.TypeIndex:
		return false
	case v.TypeIndex == abi.TypeInt:
		return uint8(v.Bits) == uint8(w.Bits)
	}
	return math.IsInf(math.Float64frombits(w.Bits), 0)
}

// each calls f with the parts of v and of all objects in it that are not in seen, to which it adds them.
func each(v abi.Any, seen map[uintptr]bool, f func(object abi.Any, p codec.Part) error) (err error) {
	if !codec.MayNest(v) || seen[uintptr(v.Bits)] {
		return nil
	}
	seen[uintptr(v.Bits)] = true
	codec.Parts(v, func(p codec.Part) bool {
		if err = f(v, p); err == nil && p.Kind == codec.PartEntry {
			err = each(p.Key, seen, f)
		}
		if err == nil {
			err = each(p.Value, seen, f)
		}
		return err == nil
	})
	return err
}
