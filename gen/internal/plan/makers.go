package plan

import (
	"cmp"
	"slices"
)

// findMakers finds the functions that are constructors of the library: those registered under
// the key of a type, and those with the last part of the key as their name that return exactly
// the type. Such a function is named New and the type.
func (d *describer) findMakers() {
	for _, pkg := range d.Packages {
		taken := map[string]bool{}
		for _, f := range pkg.Funcs {
			if o := d.Objects[f.Name]; o != nil && !o.External && d.mayMake(f, o) {
				taken[f.Want] = true
				f.Makes, o.Makers = o, append(o.Makers, f)
			}
		}
		for _, f := range pkg.Funcs {
			o := f.Result()
			if o == nil || f.Makes != nil || o.External || taken[f.Want] {
				continue
			}
			if _, local := d.Cut(f.Name); local == lastPart(o.Key) {
				f.Makes, o.Makers = o, append(o.Makers, f)
			}
		}
	}
	for _, o := range d.Objects {
		slices.SortStableFunc(o.Makers, func(a, b *Func) int {
			return cmp.Or(order(b.Name == o.Key)-order(a.Name == o.Key), cmp.Compare(a.Name, b.Name))
		})
	}
}

// mayMake reports whether a function with the key of a type as its name makes the type. Its
// signature may be unknown, or say a parent of the type.
func (d *describer) mayMake(f *Func, o *Object) bool {
	if f.Call == nil {
		return f.Entry.Packed
	}
	if f.Call.Result == nil {
		return false
	}
	result := f.Call.Result.Object
	if result == nil {
		return f.Call.Result.Type.Same(Pointer(RuntimeType("Object")))
	}
	return result == o || slices.Contains(d.Keys[o.Key].Ancestors, result.Key)
}
