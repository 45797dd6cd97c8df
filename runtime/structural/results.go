package structural

import (
	"math"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// The library puts what a rule returns into the fields of a copied object by their setters, and these cut a number to the width of
// the field. A rule does not know for which field its number is. So a number in a narrow field of the new objects that no rule has
// returned, and that one of its numbers becomes when it is cut, is an error.

// results are what the rules have returned.
type results struct {
	numbers map[number]bool
	wide    []abi.Any // those that some field may cut
	objects map[uintptr]bool
}

type number struct {
	of   abi.TypeIndex
	bits uint64
}

func (r *results) add(v abi.Any) {
	switch {
	case v.TypeIndex == abi.TypeInt, v.TypeIndex == abi.TypeFloat:
		if r.numbers == nil {
			r.numbers = map[number]bool{}
		}
		n := number{v.TypeIndex, v.Bits}
		if r.numbers[n] {
			return
		}
		r.numbers[n] = true
		x := math.Abs(math.Float64frombits(v.Bits))
		if v.TypeIndex == abi.TypeInt && v.Bits > math.MaxInt8 || v.TypeIndex == abi.TypeFloat && x > math.MaxFloat32 && !math.IsInf(x, 0) {
			r.wide = append(r.wide, v)
		}
	case codec.MayNest(v):
		if r.objects == nil {
			r.objects = map[uintptr]bool{}
		}
		r.objects[uintptr(v.Bits)] = true
	}
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
	each(root, seen, func(abi.Any, codec.Part) error { return nil })
	return each(out, seen, func(object abi.Any, p codec.Part) error {
		if p.Field == nil || !p.Field.Narrow() || r.objects[uintptr(object.Bits)] || r.numbers[number{p.Value.TypeIndex, p.Value.Bits}] ||
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
