package source

import (
	"go/types"
	"slices"
	"strings"
)

// HasAny reports whether a value of any type may cross: in a parameter, a result or a field. Included packages and types of
// the runtime may have some.
func (p *Package) HasAny() bool {
	if len(p.Included) > 0 {
		return true
	}
	functions := p.Functions
	seen := map[types.Type]bool{}
	for _, t := range p.Types {
		functions = append(append(functions[:len(functions):len(functions)], t.Methods...), t.Properties...)
		if t.Constructor != nil {
			functions = append(functions[:len(functions):len(functions)], t.Constructor)
		}
		if !t.Opaque && holdsAny(t.Object.Type(), seen) {
			return true
		}
	}
	for _, e := range p.Errors {
		if holdsAny(e.Object.Type(), seen) {
			return true
		}
	}
	for _, f := range functions {
		for _, params := range [][]Param{f.Params, f.Results} {
			for _, x := range params {
				if holdsAny(x.Type, seen) {
					return true
				}
			}
		}
	}
	return false
}

func holdsAny(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		switch o := t.Obj(); {
		case o.Pkg() == nil: // error
			return false
		case strings.HasPrefix(o.Pkg().Path(), "github.com/tvmffi-go/tvmffi/runtime"):
			return !slices.Contains([]string{"DataType", "Device", "Pointer", "Tensor", "Shape", "Module", "Error"}, o.Name())
		case o.Pkg().Path() == "time" || o.Pkg().Path() == "math/big" || o.Pkg().Path() == "context":
			return false
		}
		for a := range t.TypeArgs().Types() {
			if holdsAny(a, seen) {
				return true
			}
		}
		return holdsAny(t.Underlying(), seen)
	case *types.Interface:
		return true
	case *types.Pointer:
		return holdsAny(t.Elem(), seen)
	case *types.Slice:
		return holdsAny(t.Elem(), seen)
	case *types.Array:
		return holdsAny(t.Elem(), seen)
	case *types.Map:
		return holdsAny(t.Key(), seen) || holdsAny(t.Elem(), seen)
	case *types.Signature:
		for _, all := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range all.Variables() {
				if holdsAny(v.Type(), seen) {
					return true
				}
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if holdsAny(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}
