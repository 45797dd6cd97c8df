package reflection_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func names[T interface{ Name() string }](all []T) []string {
	var names []string
	for _, x := range all {
		names = append(names, x.Name())
	}
	return names
}

// notHooks are names without those that old libraries register as methods.
func notHooks(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "__ffi_") })
}

func TestType(t *testing.T) {
	leaktest.Check(t)
	rose, plant, root := typeByKey(t, "garden.Rose"), typeByKey(t, "garden.Plant"), typeByKey(t, "ffi.Object")
	if rose.Parent() != plant || plant.Parent() != root || root.Parent() != nil {
		t.Errorf("parents: %v, %v, %v", rose.Parent(), plant.Parent(), root.Parent())
	}
	if got := rose.Ancestors(); !slices.Equal(got, []*reflection.Type{root, plant}) || rose.Depth() != 2 {
		t.Errorf("ancestors %v, depth %d", got, rose.Depth())
	}
	if !rose.IsA(plant) || !rose.IsA(rose) || !rose.IsA(root) || plant.IsA(rose) || rose.IsA(typeByKey(t, "garden.Tulip")) || rose.IsA(nil) {
		t.Error("IsA")
	}
	if a, l := typeByKey(t, "ffi.Array"), typeByKey(t, "ffi.List"); a.IsA(l) || l.IsA(a) {
		t.Error("sibling containers are each other")
	}
	if rose.Doc() != "A rose.\n\nIt has a colour for life, and petals until they are plucked." || rose.Size() != 56 {
		t.Errorf("doc %q, size %d", rose.Doc(), rose.Size())
	}
	if got := names(rose.Fields()); !slices.Equal(got, []string{"height", "color", "petals"}) {
		t.Errorf("fields: %q", got)
	}
	if got := names(rose.OwnFields()); !slices.Equal(got, []string{"color", "petals"}) {
		t.Errorf("own fields: %q", got)
	}
	if got := notHooks(names(rose.Methods())); !slices.Equal(got, []string{"grow", "species", "pluck", "graft"}) {
		t.Errorf("methods: %q", got)
	}
	if got := notHooks(names(rose.OwnMethods())); !slices.Equal(got, []string{"pluck", "graft"}) {
		t.Errorf("own methods: %q", got)
	}
	if got := slices.Collect(plant.Subtypes()); !slices.Contains(got, rose) || slices.Contains(got, plant) || len(got) != 2 {
		t.Errorf("subtypes: %v", got)
	}
	if again, err := reflection.TypeByIndex(rose.Index()); again != rose || err != nil {
		t.Errorf("by index: %v, %v", again, err)
	}
	if i, err := reflection.TypeByIndex(1); err != nil || i.Key() != "int" || i.IsObject() {
		t.Errorf("index 1: %v, %v", i, err)
	}
	for _, index := range []int{-1, 13000, math.MaxInt, math.MinInt, rose.Index() + 1<<32} {
		_, err := reflection.TypeByIndex(index)
		wantError(t, "an index of nothing", err, tvmffi.ErrIndex, "there is no type with the index")
	}
	for _, key := range []string{"garden.Weed", "", "a\x00b"} {
		_, err := reflection.TypeByKey(key)
		wantError(t, "key "+key, err, tvmffi.ErrInternal, "load the library")
	}
	if reflection.TypeOf(nil) != nil || reflection.TypeOf((*tvmffi.Object)(nil)) != nil || reflection.TypeOf(nil).Key() != "None" {
		t.Error("the type of nil")
	}
}

// The table of the types is what the schema says that the generator reads.
func TestType_agreesWithSchema(t *testing.T) {
	load(t)
	for _, typ := range read(t).Types {
		r, err := reflection.TypeByKey(typ.Key)
		if err != nil {
			t.Fatal(err)
		}
		var fields, methods, ancestors []string
		for _, f := range typ.Fields {
			fields = append(fields, f.Name)
			g, err := r.FieldByName(f.Name)
			if err != nil || g.Flags() != f.Flags || g.Offset() != f.Offset || g.Size() != f.Size || g.Alignment() != f.Alignment || g.Doc() != f.Doc || g.Type().String() != f.Type.String() || len(g.Metadata()) != len(f.Metadata) {
				t.Errorf("%s.%s: %v, %v", typ.Key, f.Name, g, err)
			}
		}
		for _, m := range typ.Methods {
			methods = append(methods, m.Name)
			g, err := r.MethodByName(m.Name)
			if i := slices.Index(methods, m.Name); i+1 < len(methods) { // a look-up finds the first overload
				g = r.OwnMethods()[len(methods)-1]
			}
			if err != nil || g.Static() != (m.Flags&schema.FlagIsStaticMethod != 0) || g.Doc() != m.Doc || g.Signature().String() != m.Signature.String() {
				t.Errorf("%s.%s: %v, %v", typ.Key, m.Name, g, err)
			}
		}
		for _, a := range r.Ancestors() {
			ancestors = append(ancestors, a.Key())
		}
		got := names(r.OwnMethods())
		slices.Sort(got)
		slices.Sort(methods)
		if !slices.Equal(names(r.OwnFields()), fields) || !slices.Equal(got, methods) || !slices.Equal(ancestors, typ.Ancestors) || r.Doc() != typ.Doc || r.Size() != typ.TotalSize {
			t.Errorf("%s: fields %q, methods %q", typ.Key, names(r.OwnFields()), got)
		}
	}
}

func TestAttributes(t *testing.T) {
	leaktest.Check(t)
	rose, plant := typeByKey(t, "garden.Rose"), typeByKey(t, "garden.Plant")
	seen := map[string]bool{}
	for name, v := range typeByKey(t, "testing.TestCustomCompare").Attributes() {
		seen[name] = true
		v.Release()
	}
	if !seen[reflection.AttrEq] || !seen[reflection.AttrCompare] || seen[reflection.AttrEnum] {
		t.Errorf("attributes: %v", seen)
	}
	list, err := tvmffi.NewList[int64](1)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Release()
	if err := rose.RegisterAttribute("go.test.list", list); err != nil {
		t.Fatal(err)
	}
	if err := list.Append(2); err != nil {
		t.Fatal(err)
	}
	v, ok := rose.Attribute("go.test.list")
	if got, isList := tvmffi.Cast[*tvmffi.List[int64]](v.Value().(tvmffi.ObjectRef)); !ok || !isList || got.Len() != 2 {
		t.Errorf("attribute: %v, %v", v, ok)
	}
	v.Release()
	if _, ok := plant.Attribute("go.test.list"); ok {
		t.Error("the parent has the attribute")
	}
	if err := plant.RegisterAttribute("go.test.list", "a long text that is an object"); err != nil {
		t.Fatal(err)
	}
	if v, ok := plant.Attribute("go.test.list"); !ok || v.String() != "a long text that is an object" {
		t.Errorf("attribute: %v, %v", v, ok)
	}
	wantError(t, "twice", rose.RegisterAttribute("go.test.list", 1), tvmffi.ErrRuntime, "TypeAttr `go.test.list` is already registered for type index")
	wantError(t, "None", rose.RegisterAttribute("go.test.none", nil), tvmffi.ErrType, "None stands for no attribute")
	wantError(t, "a channel", rose.RegisterAttribute("go.test.chan", make(chan int)), tvmffi.ErrType, "attribute go.test.chan of garden.Rose")
	wantError(t, "no name", rose.RegisterAttribute("", 1), tvmffi.ErrValue, "empty")
	if _, ok := rose.Attribute("go.test.none"); ok {
		t.Error("a refused attribute is there")
	}
}

func TestFinal(t *testing.T) {
	if v, ok := typeByKey(t, "garden.Rose").Attribute(reflection.AttrTypeFinal); !ok {
		t.Skipf("the library does not tell final types: %v", v)
	}
	if !typeByKey(t, "garden.Rose").Final() || typeByKey(t, "garden.Plant").Final() {
		t.Error("final")
	}
}

func TestEnum(t *testing.T) {
	leaktest.Check(t)
	typ := typeByKey(t, "testing.TestEnumVariant")
	e, err := typ.Enum()
	if err != nil {
		t.Fatal(err)
	}
	if e.Len() != 2 || e.Type() != typ {
		t.Fatalf("%d entries", e.Len())
	}
	var all []string
	for x := range e.All() {
		all = append(all, x.Name)
		code, ok := x.Attr("code")
		if n, err := tvmffi.As[int64](code); !ok || err != nil || n != 10*(x.Index+1) {
			t.Errorf("%v: code %v, %v", x, code, ok)
		}
		if _, ok := x.Attr("none"); ok || x.Payload() != nil {
			t.Errorf("%v has an attribute or a payload of nothing", x)
		}
		if reflection.TypeOf(x.Object) != typ {
			t.Errorf("%v is %v", x, reflection.TypeOf(x.Object))
		}
	}
	if !slices.Equal(all, []string{"Alpha", "Beta"}) {
		t.Errorf("entries: %q", all)
	}
	beta, err := e.ByName("Beta")
	if err != nil || beta.Index != 1 || beta.String() != "testing.TestEnumVariant.Beta" {
		t.Errorf("Beta: %v, %v", beta, err)
	}
	if again, err := e.ByIndex(1); err != nil || again != beta {
		t.Errorf("index 1: %v, %v", again, err)
	}
	again, err := typ.Enum()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.ByName("Beta"); err != nil || !tvmffi.Same(second.Object, beta.Object) {
		t.Errorf("the second time: %v, %v", second, err)
	}
	beta.Object.Release()
	if tvmffi.TypeKey(beta.Object) == "None" {
		t.Error("Release ended an entry")
	}
	_, err = e.ByIndex(7)
	wantError(t, "index 7", err, tvmffi.ErrValue, "Enum `testing.TestEnumVariant` has no instance with index 7")
	_, err = e.ByName("Gamma")
	wantError(t, "Gamma", err, tvmffi.ErrValue, "Enum `testing.TestEnumVariant` has no instance with name Gamma")
	_, err = typeByKey(t, "garden.Rose").Enum()
	wantError(t, "a rose", err, tvmffi.ErrType, "garden.Rose is not an enum")
}
