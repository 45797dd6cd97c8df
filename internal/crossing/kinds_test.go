package crossing

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// TestRows: a name, an index and a type of Go belong to one kind, and what a row says fits its class.
func TestRows(t *testing.T) {
	names, indices := map[string]Kind{}, map[abi.TypeIndex]Kind{}
	for k := range Kinds {
		r := &Rows[k]
		all := append([]string{"kind " + r.Name, "key " + r.Key, "c++ " + r.Cpp}, texts("key ", r.Same)...)
		all = slices.Concat(all, texts("word ", r.Words), texts("go ", r.Value), texts("go ", r.Pointer), texts("go ", r.Given))
		for _, v := range k.Values() {
			if other, ok := indices[v.Index]; ok {
				t.Errorf("%v and %v both have the index %d", other, k, v.Index)
			}
			indices[v.Index] = k
			if ClassOf(v.Index) != v.Class || v.Class == Form {
				t.Errorf("%s has the class %d, and %d in the table", v.Name, ClassOf(v.Index), v.Class)
			}
			if object := v.Class > Text; object && !v.Index.IsObject() || v.Class == Scalar && v.Index.IsObject() {
				t.Errorf("%s is of class %d, and has the index %d", v.Name, v.Class, v.Index)
			}
			if v.Name != r.Key {
				all = append(all, "key "+v.Name)
			}
		}
		for _, name := range all {
			if other, ok := names[name]; ok && name != "key " && name != "c++ " {
				t.Errorf("%v and %v both have the %s", other, k, name)
			}
			names[name] = k
		}
		container := r.Class == Sequence || r.Class == Mapping
		switch {
		case r.Name == "":
			t.Errorf("the kind %d has no row", k)
		case (r.Key == "") != (r.Wire != KindNone):
			t.Errorf("%v: a kind of Go crosses as another, and no other kind does", k)
		case r.Mutable && !container, container && r.Args != [2]int{0, map[Class]int{Sequence: 1, Mapping: 2}[r.Class]}:
			t.Errorf("%v: its class does not fit", k)
		}
	}
	for i := abi.TypeNone; i <= abi.TypeBigInt; i++ {
		_, known := indices[i]
		if static := i <= abi.TypeUnchanged || i >= abi.TypeStaticObjectBegin; known != static && i != abi.TypeVisitInterrupt {
			t.Errorf("the index %d is in the table: %t", i, known)
		}
	}
	for index, class := range map[abi.TypeIndex]Class{abi.TypeAny: Form, abi.TypeUnchanged + 1: Form, abi.TypeVisitInterrupt: Fields, abi.TypeBigInt + 1: Fields, abi.TypeDynObjectBegin: Fields, 1 << 30: Fields} {
		if ClassOf(index) != class {
			t.Errorf("the index %d has the class %d, want %d", index, ClassOf(index), class)
		}
	}
}

func texts(prefix string, names []string) (all []string) {
	for _, name := range names {
		all = append(all, prefix+name)
	}
	return all
}

// TestNames asks for names of each sort.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		find func(string) (Kind, bool)
		name string
		want Kind
		ok   bool
	}{
		{Named, "ffi.Dict", KindDict, true}, {Named, "ffi.SmallStr", KindString, true}, {Named, "std::array", KindArray, true},
		{Named, "None", KindNone, true}, {Named, "", KindNone, false}, {Named, "garden.Rose", KindNone, false}, {Named, "Dict", KindNone, false},
		{NamedInCpp, "Dict", KindDict, true}, {NamedInCpp, "void", KindNone, true}, {NamedInCpp, "", KindNone, false}, {NamedInCpp, "Shape", KindNone, false},
		{NamedInHints, "Dict", KindDict, true}, {NamedInHints, "void", KindNone, false},
	} {
		if got, ok := c.find(c.name); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %t", c.name, got, ok)
		}
	}
	for name, want := range map[string]string{"std::vector": "ffi.Array", "str": "ffi.String", "const char*": "const char*", "ffi.SmallStr": "ffi.SmallStr", "x.Y": "x.Y", "int": "int"} {
		if got := Canonical(name); got != want {
			t.Errorf("%s stands for %s", name, got)
		}
	}
	if !Container("std::vector") || !Container("ffi.Dict") || Container("Tuple") || Container("x.Y") {
		t.Error("containers")
	}
	if NameOf(abi.TypeSmallStr) != "ffi.SmallStr" || NameOf(abi.TypeArray) != "" || NameOf(20) != "" || NameOf(-1) != "" {
		t.Error("names of values")
	}
}
