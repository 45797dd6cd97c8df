package reflection_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// node makes an odd.Node, which refers to anything.
func node(t testing.TB, left, right any) *tvmffi.Object {
	t.Helper()
	typ := oddType(t, "odd.Node")
	constructor(t, "odd.Node")
	x, err := typ.Construct(reflection.Kwargs{"left": left, "right": right})
	return must(t, x, err)
}

// steps are the paths of a walk with the values that are not objects.
func steps(t testing.TB, w *reflection.Walker) []string {
	t.Helper()
	var all []string
	for path, v := range w.All() {
		s := path.String()
		if _, isObject := v.Value().(tvmffi.ObjectRef); !isObject {
			s += " = " + v.String()
		}
		if !strings.Contains(s, ".computed") { // a field that another test adds
			all = append(all, s)
		}
	}
	if err := w.Err(); err != nil {
		t.Error(err)
	}
	return all
}

func wantSteps(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func release(objects ...interface{ Release() }) {
	for _, x := range objects {
		x.Release()
	}
}

func TestWalk(t *testing.T) {
	leaktest.Check(t)
	constructor(t, "testing.TestCxxAutoInit")
	shared := must2(t, func() (*tvmffi.Object, error) { return typeByKey(t, "testing.TestIntPair").Construct(1, 2) })
	key := must2(t, func() (*tvmffi.Object, error) { return typeByKey(t, "testing.TestIntPair").Construct(3, 4) })
	table := must2(t, func() (*tvmffi.Map[tvmffi.Any, any], error) {
		return tvmffi.NewMap(tvmffi.PairsOf(
			tvmffi.Pair[tvmffi.Any, any]{Key: anyOf(t, "a \"text\" of more than seven"), Value: 1},
			tvmffi.Pair[tvmffi.Any, any]{Key: anyOf(t, 7), Value: []any{"x", nil, shared}},
			tvmffi.Pair[tvmffi.Any, any]{Key: anyOf(t, key), Value: shared},
		))
	})
	root := node(t, shared, table)
	defer release(shared, key, table, root)
	key1 := `testing.TestIntPair(a=3, b=4)`
	all := []string{
		"<root>", "<root>.left", "<root>.left.a = 1", "<root>.left.b = 2",
		"<root>.right", `<root>.right["a \"text\" of more than seven"] = 1`,
		"<root>.right[7]", "<root>.right[7][0] = x", "<root>.right[7][1] = None",
		"<root>.right[<key:" + key1 + ">]", "<root>.right[<key:" + key1 + ">].a = 3", "<root>.right[<key:" + key1 + ">].b = 4",
		"<root>.list",
	}
	wantSteps(t, "all", steps(t, reflection.Walk(root)), all...)
	w := reflection.Walk(root)
	steps(t, w)
	wantSteps(t, "the second time", steps(t, w), all...)
	objects := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.Contains(s, " = ") })
	wantSteps(t, "objects", steps(t, reflection.Walk(root, reflection.ObjectsOnly())), objects...)
	wantSteps(t, "depth 1", steps(t, reflection.Walk(root, reflection.MaxDepth(1))), "<root>", "<root>.left", "<root>.right", "<root>.list")
	wantSteps(t, "depth 0", steps(t, reflection.Walk(root, reflection.MaxDepth(0))), "<root>")
	wantSteps(t, "every path", steps(t, reflection.Walk(root, reflection.EveryPath(), reflection.ObjectsOnly())),
		"<root>", "<root>.left", "<root>.right", "<root>.right[7]", "<root>.right[7][2]",
		"<root>.right[<key:"+key1+">]", "<root>.right["+key1+"]", "<root>.list")

	for key, want := range map[string][]string{"ffi.Map": {"<root>", "<root>.left", "<root>.right", "<root>.list"}, "testing.TestIntPair": objects} {
		var skipped []string
		w = reflection.Walk(root, reflection.ObjectsOnly())
		for path, v := range w.All() {
			if !strings.Contains(path.String(), ".computed") {
				skipped = append(skipped, path.String())
			}
			if v.TypeKey() == key {
				w.Skip()
			}
		}
		wantSteps(t, "skip "+key, skipped, want...)
	}

	// Each path leads to the value again, also when the walk is over.
	for path, v := range reflection.Walk(root, reflection.EveryPath()).All() {
		again, err := path.Of(root)
		if err != nil || again.TypeKey() != v.TypeKey() || again.String() != v.String() {
			t.Errorf("%v: %v, %v, want %v", path, again, err, v)
		}
		if x, ok := v.Value().(tvmffi.ObjectRef); ok && !strings.Contains(path.String(), ".computed") && !tvmffi.Same(x, again.Value().(tvmffi.ObjectRef)) {
			t.Errorf("%v is another object", path)
		}
		again.Release()
	}
	for i := range all { // a loop may end anywhere
		for path := range reflection.Walk(root).All() {
			if path.String() == strings.SplitN(all[i], " = ", 2)[0] {
				break
			}
		}
	}
}

// must2 calls f.
func must2[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	return must(t, v, err)
}

func anyOf(t testing.TB, x any) tvmffi.Any {
	t.Helper()
	v, err := tvmffi.AnyOf(x)
	if o, ok := v.Value().(tvmffi.ObjectRef); ok {
		t.Cleanup(func() { o.(interface{ Release() }).Release() })
	}
	return must(t, v, err)
}

func TestWalk_cycles(t *testing.T) {
	leaktest.Check(t)
	a := node(t, nil, nil)
	b := node(t, a, "b")
	list := must2(t, func() (*tvmffi.List[any], error) { return tvmffi.NewList[any](b) })
	if err := list.Append(list); err != nil {
		t.Fatal(err)
	}
	dict := must2(t, func() (*tvmffi.Dict[string, any], error) { return tvmffi.NewDict(tvmffi.MapOf(map[string]any{"a": a})) })
	if err := dict.Set("self", dict); err != nil {
		t.Fatal(err)
	}
	v := reflection.ValueOf(a)
	if err := v.Set("left", list); err != nil {
		t.Fatal(err)
	}
	if err := v.Set("right", dict); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = v.Set("left", nil)
		_ = v.Set("right", nil)
		_ = list.Clear()
		_ = dict.Clear()
		release(a, b, list, dict)
	}()
	once := []string{"<root>", "<root>.left", "<root>.left[0]", "<root>.left[0].list", "<root>.right", "<root>.list"}
	if !atLeast(14) {
		once = once[:5] // the list is one default for both nodes, where it is not a factory's
	}
	wantSteps(t, "once", steps(t, reflection.Walk(a, reflection.ObjectsOnly())), once...)
	wantSteps(t, "every path", steps(t, reflection.Walk(a, reflection.ObjectsOnly(), reflection.EveryPath())),
		"<root>", "<root>.left", "<root>.left[0]", "<root>.left[0].left", "<root>.left[0].list", "<root>.left[1]",
		"<root>.right", `<root>.right["a"]`, `<root>.right["self"]`, "<root>.list")
}

// The loop may change what it walks over.
func TestWalk_changes(t *testing.T) {
	leaktest.Check(t)
	inner := make([]any, 5)
	for i := range inner {
		inner[i] = node(t, nil, i)
	}
	list := must2(t, func() (*tvmffi.List[any], error) { return tvmffi.NewList(inner...) })
	for _, x := range inner {
		x.(*tvmffi.Object).Release()
	}
	root := node(t, list, "end")
	defer release(list, root)
	var kept *tvmffi.Object
	seen := 0
	for path, v := range reflection.Walk(root, reflection.ObjectsOnly()).All() {
		seen++
		if path.String() == "<root>.left[1]" {
			kept = tvmffi.Retain(v.Value().(*tvmffi.Object))
			if err := list.Clear(); err != nil { // the objects in it go, but for this one
				t.Fatal(err)
			}
		}
	}
	if seen < 4 || memstat.UseCount(kept) != 1 {
		t.Errorf("%d steps, count %d", seen, memstat.UseCount(kept))
	}
	kept.Release()
	var after *tvmffi.Object
	for _, v := range reflection.Walk(root).All() {
		if x, ok := v.Value().(*tvmffi.Object); ok {
			after = x
		}
	}
	wantError(t, "an object after its step", reflection.ValueOf(after).Set("left", nil), tvmffi.ErrRuntime, "borrowed")
	wantError(t, "a panic of the loop", panicOf(t, func() {
		for range reflection.Walk(root).All() {
			reflection.ValueOf(nil).Fields()(nil)
		}
	}), tvmffi.ErrType, "nil")
	if memstat.UseCount(root) != 1 || memstat.UseCount(list) != 2 {
		t.Errorf("counts: %d, %d", memstat.UseCount(root), memstat.UseCount(list))
	}
}

// Getters that make new objects each time: none is taken for another that had
// the same address.
func TestWalk_computed(t *testing.T) {
	nativetest.OneCompiler(t)
	leaktest.Check(t)
	root := nodeWithComputed(t)
	for range 50 {
		next := nodeWithComputed(t)
		if err := reflection.ValueOf(next).Set("left", root); err != nil {
			t.Fatal(err)
		}
		root.Release()
		root = next
	}
	defer root.Release()
	n := 0
	for path := range reflection.Walk(root).All() {
		if strings.HasSuffix(path.String(), ".computed[0][0]") {
			n++
		}
	}
	if n != 51 {
		t.Errorf("%d of 51 nodes have their parts", n)
	}
	var part *tvmffi.Object
	for path, v := range reflection.Walk(root).All() {
		if strings.HasSuffix(path.String(), ".computed[0]") {
			part = tvmffi.Retain(must2(t, func() (*tvmffi.Object, error) { return tvmffi.As[*tvmffi.Object](v) }))
			break // what the getter made is released here
		}
	}
	defer part.Release()
	if n := memstat.UseCount(part); n != 1 {
		t.Errorf("%d references are left of a part after the loop, want 1", n)
	}
}

// A getter that makes an object which holds itself: it comes once.
func TestWalk_computedCycle(t *testing.T) {
	nativetest.OneCompiler(t)
	leaktest.Check(t)
	root := nodeWithComputed(t)
	defer root.Release()
	call(t, "odd.knot", true)
	defer call(t, "odd.knot", false)
	for _, options := range [][]reflection.WalkOption{{reflection.ObjectsOnly()}, {reflection.ObjectsOnly(), reflection.EveryPath()}} {
		var paths []string
		var knot *tvmffi.List[tvmffi.Any]
		for path, v := range reflection.Walk(root, options...).All() {
			if !strings.Contains(path.String(), ".computed") {
				continue
			}
			paths = append(paths, path.String())
			if knot == nil {
				knot = tvmffi.Retain(must2(t, func() (*tvmffi.List[tvmffi.Any], error) { return tvmffi.As[*tvmffi.List[tvmffi.Any]](v) }))
			}
		}
		want := []string{"<root>.computed"}
		if len(options) > 1 {
			want = append(want, "<root>.computed[1]") // the path ends where it meets the list again
		}
		wantSteps(t, "a knot", paths, want...)
		if err := knot.Clear(); err != nil {
			t.Error(err)
		}
		if n := memstat.UseCount(knot); n != 1 {
			t.Errorf("%d references are left", n)
		}
		knot.Release()
	}
}

// chain makes n nodes, each inside the next, and what takes them apart from the
// outermost on: C++ would do it by recursion.
func chain(t testing.TB, n int) (root *tvmffi.Object, takeApart func()) {
	t.Helper()
	all := make([]*tvmffi.Object, n)
	c := constructor(t, "testing.TestDeepCopyEdges")
	var inner any
	for i := range all {
		x, err := c.Call(inner, nil)
		all[i] = must(t, x, err)
		inner = all[i]
	}
	slices.Reverse(all)
	return all[0], func() {
		for _, x := range all {
			x.Release()
		}
	}
}

func TestWalk_deep(t *testing.T) {
	n := 100000
	if testing.Short() {
		n = 10000
	}
	root, takeApart := chain(t, n)
	defer takeApart()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	seen, deepest := 0, 0
	var last reflection.Path
	for path := range reflection.Walk(root, reflection.ObjectsOnly()).All() {
		seen++
		deepest, last = max(deepest, path.Depth()), path
	}
	runtime.ReadMemStats(&after)
	if seen != n || deepest != n-1 || last.Depth() != n-1 {
		t.Errorf("%d objects, depth %d", seen, deepest)
	}
	if grown := int64(after.StackInuse) - int64(before.StackInuse); grown > 1<<20 {
		t.Errorf("the stacks grew by %d bytes", grown)
	}
	if s := last.String(); len(s) != len("<root>")+(n-1)*len(".v_any") {
		t.Errorf("the path has %d bytes", len(s))
	}
	seen = 0
	for range reflection.Walk(root, reflection.ObjectsOnly(), reflection.EveryPath()).All() {
		if seen++; seen == n/2 {
			break // half of the stack is dropped
		}
	}
}

func TestPath(t *testing.T) {
	leaktest.Check(t)
	x := rose(t)
	array := must2(t, func() (*tvmffi.Array[any], error) { return tvmffi.NewArray[any](x, "text") })
	defer release(x, array)
	var root reflection.Path
	if _, ok := root.Last(); ok || root.String() != "<root>" || root.Depth() != 0 || root.Parent() != root {
		t.Errorf("the root: %v", root)
	}
	paths := map[string]reflection.Path{}
	for path := range reflection.Walk(array).All() {
		paths[path.String()] = path
	}
	p := paths["<root>[0].petals"]
	last, ok := p.Last()
	if !ok || last.Kind != reflection.StepField || last.Field.Name() != "petals" || p.Depth() != 2 || p.Parent().String() != "<root>[0]" || fmt.Sprint(p.Steps()) != "[[0] .petals]" || !last.Key().IsNone() {
		t.Errorf("%v: %v", p, p.Steps())
	}
	short := must2(t, func() (*tvmffi.Array[any], error) { return tvmffi.NewArray[any]() })
	released := rose(t)
	released.Release()
	defer short.Release()
	for what, c := range map[string]struct {
		path string
		root tvmffi.ObjectRef
		kind error
		text string
	}{
		"an index":  {"<root>[1]", short, tvmffi.ErrIndex, "<root>: Index 1 out of bounds 0"},
		"no array":  {"<root>[0].petals", x, tvmffi.ErrType, "<root>: garden.Rose has no [0]"},
		"nil":       {"<root>[1]", nil, tvmffi.ErrType, "<root>: the object is nil"},
		"released":  {"<root>[1]", released, tvmffi.ErrRuntime, "<root>: the object was released"},
		"no fields": {"<root>[0].petals", must2(t, func() (*tvmffi.Array[any], error) { return array, nil }), nil, ""},
	} {
		v, err := paths[c.path].Of(c.root)
		if c.kind == nil {
			if err != nil || v.Value() != int64(40) {
				t.Errorf("%s: %v, %v", what, v, err)
			}
			continue
		}
		wantError(t, what, err, c.kind, c.text)
	}
}
