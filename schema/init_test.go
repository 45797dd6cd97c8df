package schema

import (
	"slices"
	"testing"
)

func TestInitParams(t *testing.T) {
	parent := &Type{Key: "a.Parent", Attributes: []string{"__ffi_init__"}, Fields: []Field{
		{Name: "named", Flags: FlagKwOnly},
		{Name: "must"},
		{Name: "hidden", Flags: FlagInitOff},
	}}
	child := &Type{Key: "a.Child", Ancestors: []string{"ffi.Object", "a.Parent"}, Attributes: []string{"__ffi_init__"}, Fields: []Field{
		{Name: "can", Flags: FlagHasDefault},
		{Name: "made", Flags: FlagDefaultFromFactory | FlagKwOnly},
		{Name: "too"},
		{Name: "must", Flags: FlagHasDefault}, // declared again
		{Name: "last"},
	}}
	types := map[string]*Type{parent.Key: parent, child.Key: child}
	for _, c := range []struct {
		t    *Type
		want []string
		ok   bool
	}{
		{parent, []string{"must", "named"}, true},
		{child, []string{"too", "last", "must", "can", "named", "made"}, true},
		{&Type{Key: "a.None", Ancestors: []string{"a.Parent"}}, nil, false},
		{&Type{Key: "a.Empty", Attributes: []string{"__ffi_init__"}}, nil, true},
		{&Type{Key: "a.Own", Attributes: []string{"__ffi_init__"}, Methods: []Method{{Name: "__ffi_init__"}}}, nil, false},
	} {
		params, ok := c.t.InitParams(types)
		var names []string
		for _, p := range params {
			names = append(names, p.Name)
		}
		if ok != c.ok || !slices.Equal(names, c.want) {
			t.Errorf("%s: %q, %v, want %q, %v", c.t.Key, names, ok, c.want, c.ok)
		}
	}
}
