package schema

import (
	"cmp"
	"slices"
)

// AllFields returns the fields of t and of its ancestors, root first; types has the ancestors.
// A field that is declared again has the place of its first declaration and the content of its
// last one.
func (t *Type) AllFields(types map[string]*Type) []Field {
	var fields []Field
	at := map[string]int{}
	for _, key := range append(slices.Clone(t.Ancestors), t.Key) {
		if types[key] == nil {
			continue
		}
		for _, f := range types[key].Fields {
			if i, again := at[f.Name]; again {
				fields[i] = f
				continue
			}
			at[f.Name] = len(fields)
			fields = append(fields, f)
		}
	}
	return fields
}

// HasDefault reports whether the field is optional in a constructor that the library
// makes.
func (f *Field) HasDefault() bool { return f.Flags&(FlagHasDefault|FlagDefaultFromFactory) != 0 }

// InitParams returns the parameters of the constructor of t that the library makes of
// the fields, in the order in which it takes them: required ones, those with a default,
// and keyword-only ones, again the required ones first. ok is false if the library makes
// no constructor.
func (t *Type) InitParams(types map[string]*Type) (params []Field, ok bool) {
	const init = "__ffi_init__"
	if !slices.Contains(t.Attributes, init) || slices.ContainsFunc(t.Methods, func(m Method) bool { return m.Name == init }) {
		return nil, false
	}
	params = slices.DeleteFunc(t.AllFields(types), func(f Field) bool { return f.Flags&FlagInitOff != 0 })
	slices.SortStableFunc(params, func(a, b Field) int { return cmp.Compare(a.initOrder(), b.initOrder()) })
	return params, true
}

func (f *Field) initOrder() (order int) {
	if f.HasDefault() {
		order = 1
	}
	if f.Flags&FlagKwOnly != 0 {
		order += 2
	}
	return order
}
