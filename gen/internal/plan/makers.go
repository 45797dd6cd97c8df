package plan

import (
	"cmp"
	"slices"
)

// The names of the constructor __ffi_init__ of a type that a function of the library makes
// too: that function is New and the type.
const (
	fromFields = "FromFields" // the arguments are the fields
	fromInit   = "Init"       // the library declares the arguments
)

// findMakers finds the functions that are constructors of the library: those registered under
// the key of a type, and those with the last part of the key as their name that return exactly
// the type. Such a function is named New and the type.
func (p *planner) findMakers() {
	for _, pkg := range p.sortedPackages() {
		taken := map[string]bool{}
		for _, f := range pkg.funcs {
			if o := p.objects[f.Name]; o != nil && !o.External && f.mayMake(o) {
				taken[f.want] = true
				f.setMaker(pkg, o)
			}
		}
		for _, f := range pkg.funcs {
			o := f.result()
			if o == nil || f.Makes != nil || o.External || taken[f.want] {
				continue
			}
			if _, local := p.cut(f.Name); local == lastPart(o.Key) {
				f.setMaker(pkg, o)
			}
		}
	}
	for _, t := range p.bound {
		slices.SortStableFunc(t.object.Makers, func(a, b *Func) int {
			return cmp.Or(order(b.Name == t.object.Key)-order(a.Name == t.object.Key), cmp.Compare(a.Name, b.Name))
		})
	}
}

// mayMake reports whether a function with the key of a type as its name makes the type. Its
// signature may be unknown, or say a parent of the type.
func (f *Func) mayMake(o *Object) bool {
	if f.Call == nil {
		return f.entry.Packed
	}
	if f.Call.Result == nil {
		return false
	}
	result := f.Call.Result.Object
	if result == nil {
		return f.Call.Result.Type.Same(pointer(runtimeType("Object")))
	}
	return result == o || slices.Contains(o.schema.Ancestors, result.Key)
}

// result returns the object type that the function returns, or nil.
func (f *Func) result() *Object {
	if f.Call == nil || f.Call.Result == nil {
		return nil
	}
	return f.Call.Result.Object
}

func (f *Func) setMaker(pkg *Package, o *Object) {
	f.pkg, f.Makes, o.Makers = pkg, o, append(o.Makers, f)
	f.want = "New" + f.want
}

// raw returns the part after New and the type in the second name of a constructor.
func (f *Func) raw() string {
	if f.Init == nil {
		return fromInit
	}
	return fromFields
}
