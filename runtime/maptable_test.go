package tvmffi_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/maptable"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Where the tables of the library are not the ones that we know, its functions do
// the same work.
func TestMapsThroughTheLibrary(t *testing.T) {
	runtimetest.Load(t)
	if !maptable.Readable() {
		t.Fatal("the maps of this library are not readable")
	}
	defer maptable.Forget()()
	if maptable.Readable() {
		t.Fatal("the maps are still readable")
	}
	t.Run("Map", TestMap)
	t.Run("MapOfObjects", TestMapOfObjects)
	t.Run("MapMethods", TestMapMethods)
	t.Run("Dict", TestDict)
	t.Run("DictChangesInLoop", TestDictChangesInLoop)
	t.Run("DictAgainstGo", TestDictAgainstGo)
	t.Run("Marshal", TestMarshal)
	t.Run("ParseJSONNumbers", TestParseJSONNumbers)
}

// TestDictAgainstGo changes a dict and a Go map in the same way, by random.
func TestDictAgainstGo(t *testing.T) {
	runtimetest.Balanced(t)
	random := rand.New(rand.NewPCG(3, 4))
	d := runtimetest.Must[*tvmffi.Dict[string, int64]](t)(tvmffi.NewDict(tvmffi.PairsOf[string, int64]()))
	want := map[string]int64{}
	for step := range 20000 {
		key := fmt.Sprint("key ", random.IntN(1+step%700))
		switch random.IntN(5) {
		case 0, 1:
			if err := d.Set(key, int64(step)); err != nil {
				t.Fatal(err)
			}
			want[key] = int64(step)
		case 2:
			_, there := want[key]
			if was, err := d.Delete(key); err != nil || was != there {
				t.Fatalf("step %d: delete %s: %v, %v, want %v", step, key, was, err, there)
			}
			delete(want, key)
		default:
			value, there := want[key]
			if v, ok := d.Get(key); ok != there || v != value || d.Has(key) != there || d.Len() != len(want) {
				t.Fatalf("step %d: %s is %d, %v, want %d, %v; %d entries, want %d", step, key, v, ok, value, there, d.Len(), len(want))
			}
		}
	}
	n := 0
	for k, v := range d.All() {
		if n++; v != want[k] {
			t.Errorf("%s is %d, want %d", k, v, want[k])
		}
	}
	if n != len(want) {
		t.Errorf("%d entries, want %d", n, len(want))
	}
	d.Release()
}

// A loop over a container that is released in it ends with a clear panic, unless
// the step was the last.
func TestReleaseInLoop(t *testing.T) {
	runtimetest.Balanced(t)
	for _, n := range []int{1, 3, 100} {
		texts, ints, pairs := make([]string, n), make([]int64, n), map[string]string{}
		for i := range n {
			texts[i], ints[i] = fmt.Sprintf("a text of some length %03d", i), int64(i)
			pairs[texts[i]] = texts[i]
		}
		releases := func(what string, loop func(step func(ok bool) bool), release func()) {
			for _, last := range []bool{false, true} {
				if last == (n > 1) {
					continue
				}
				steps := 0
				run := func() {
					loop(func(ok bool) bool {
						if steps++; !ok {
							t.Errorf("%s: step %d is wrong", what, steps)
						}
						release()
						return true
					})
				}
				if last {
					run()
				} else {
					runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", run)
				}
				if steps != 1 {
					t.Errorf("%s of %d: %d steps", what, n, steps)
				}
			}
		}
		m := runtimetest.Must[*tvmffi.Map[string, string]](t)(tvmffi.NewMap(tvmffi.MapOf(pairs)))
		releases("a map", func(step func(bool) bool) {
			for k, v := range m.All() {
				step(k == v && k == texts[0])
			}
		}, m.Release)
		d := runtimetest.Must[*tvmffi.Dict[string, string]](t)(tvmffi.NewDict(tvmffi.MapOf(pairs)))
		releases("a dict", func(step func(bool) bool) {
			for k := range d.Keys() {
				step(k == texts[0])
			}
		}, d.Release)
		a := runtimetest.Must[*tvmffi.Array[string]](t)(tvmffi.NewArray(texts...))
		releases("an array of texts", func(step func(bool) bool) {
			for i, s := range a.All() {
				step(s == texts[i])
			}
		}, a.Release)
		l := runtimetest.Must[*tvmffi.List[int64]](t)(tvmffi.NewList(ints...))
		releases("a list", func(step func(bool) bool) {
			for i, x := range l.All() {
				step(x == int64(i))
			}
		}, l.Release)
		numbers := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(ints...))
		releases("an array of ints", func(step func(bool) bool) {
			for i, x := range numbers.All() {
				step(x == int64(i))
			}
		}, numbers.Release)
		boxes := make([]*runtimetest.Box, n)
		b := runtimetest.MakeBox(t, 7)
		for i := range boxes {
			boxes[i] = b
		}
		objects := runtimetest.Must[*tvmffi.Array[*runtimetest.Box]](t)(tvmffi.NewArray(boxes...))
		releases("an array of objects", func(step func(bool) bool) {
			for _, x := range objects.All() {
				step(x.I64() == 7)
			}
		}, objects.Release)
		b.Release()
	}
}

// The loop over numbers of a type stops at the first element of another type.
func TestLoopOverMixedNumbers(t *testing.T) {
	runtimetest.Balanced(t)
	mixed := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1, 2, 3.5, true))
	ints := runtimetest.Unchecked[*tvmffi.Array[int64]](t, runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(mixed)))
	var got []int64
	runtimetest.WantPanic(t, tvmffi.ErrType, "Array[2]: expected int, got float", func() {
		for _, x := range ints.All() {
			got = append(got, x)
		}
	})
	if len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("the loop got %v, want [1 2]", got)
	}
	ints.Release()
	mixed.Release()
}

// Reading numbers, texts that are there and entries allocates nothing for each.
func TestReadsDoNotAllocate(t *testing.T) {
	nativetest.NeedOptimised(t)
	runtimetest.Load(t)
	ints := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(make([]int64, 1000)...))
	floats := runtimetest.Must[*tvmffi.Array[float64]](t)(tvmffi.NewArray(make([]float64, 1000)...))
	pairs := map[int64]int64{}
	for i := range int64(1000) {
		pairs[i] = i
	}
	m := runtimetest.Must[*tvmffi.Map[int64, int64]](t)(tvmffi.NewMap(tvmffi.MapOf(pairs)))
	dst, sum := make([]int64, 1000), int64(0)
	for what, test := range map[string]struct {
		run  func()
		most float64
	}{
		"All of ints": {func() {
			for _, x := range ints.All() {
				sum += x
			}
		}, 0},
		"All of floats": {func() {
			for _, x := range floats.All() {
				sum += int64(x)
			}
		}, 0},
		"CopyTo": {func() { runtimetest.Must[int](t)(ints.CopyTo(dst)) }, 0},
		"At":     {func() { sum += ints.At(7) }, 0},
		"Slice":  {func() { runtimetest.Must[[]int64](t)(ints.Slice()) }, 1},
		"Get":    {func() { v, _ := m.Get(7); sum += v }, 0},
		"Has":    {func() { m.Has(1007) }, 0},
		"All pairs": {func() {
			for k, v := range m.All() {
				sum += k + v
			}
		}, 4},
	} {
		if n := testing.AllocsPerRun(20, test.run); n > test.most {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	ints.Release()
	floats.Release()
	m.Release()
}
