package maptable_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/maptable"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	_ "github.com/tvmffi-go/tvmffi/internal/testkit/machinetest" // has the type of the errors
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func load(t *testing.T) {
	t.Helper()
	if err := libraries.OpenCore(&find.Options{Core: nativetest.Library(t)}); err != nil {
		t.Fatal(err)
	}
}

// pairs makes a Map or Dict of keys, whose values are their indices.
func pairs(t testing.TB, f *calls.Func, add func(p *calls.Pack, i int), n int) uintptr {
	t.Helper()
	fn, err := f.Handle()
	if err != nil {
		t.Fatal(err)
	}
	p := calls.NewPack(2 * n)
	defer p.Close()
	for i := range n {
		add(p, i)
		p.Int(int64(i))
	}
	v, err := p.Apply(fn)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(v.Bits)
}

// TestMapTable reads tables of all sizes, small ones and ones that grew, as the
// library reads them. It runs against each supported wheel in CI.
func TestMapTable(t *testing.T) {
	load(t)
	if !maptable.Readable() {
		t.Fatal("the maps of this library are not readable: the library has another layout than internal/abi")
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func(i int) string {
		b := make([]byte, random.IntN(40))
		for j := range b {
			b[j] = byte(1 + random.IntN(255))
		}
		return fmt.Sprint(i, string(b))
	}
	for _, name := range []string{"ffi.Map", "ffi.Dict"} {
		create := &calls.Func{Name: name}
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 100, 1000, 20000} {
			texts := make([]string, n)
			for i := range texts {
				texts[i] = text(i)
			}
			byText := pairs(t, create, func(p *calls.Pack, i int) {
				if err := p.String(texts[i]); err != nil {
					t.Fatal(err)
				}
			}, n)
			ints := make([]int64, n)
			for i := range ints {
				ints[i] = int64(random.Uint64()) >> random.IntN(64) &^ 0xffff << 1
				ints[i] += int64(i)
			}
			byInt := pairs(t, create, func(p *calls.Pack, i int) { p.Int(ints[i]) }, n)
			for what, table := range map[string]struct {
				handle uintptr
				key    func(i int) maptable.Key
				other  maptable.Key
			}{
				"text": {byText, func(i int) maptable.Key { return maptable.StringKey(texts[i]) }, maptable.StringKey("not there")},
				"int":  {byInt, func(i int) maptable.Key { return maptable.ScalarKey(abi.TypeInt, uint64(ints[i])) }, maptable.ScalarKey(abi.TypeBool, 1)},
			} {
				walk := maptable.NewWalk(table.handle)
				if maptable.Size(table.handle) != n || walk.Left != n {
					t.Fatalf("%s of %d: size %d", name, n, maptable.Size(table.handle))
				}
				for i := range n {
					k := table.key(i)
					at := maptable.Find(table.handle, &k)
					if at == nil || at.Bits != uint64(i) {
						t.Fatalf("%s of %d, %s key %d: found %+v", name, n, what, i, at)
					}
					if e := walk.Next(); &e.Value != at {
						t.Fatalf("%s of %d, %s: entry %d of the walk is %+v", name, n, what, i, e)
					}
				}
				if maptable.Find(table.handle, &table.other) != nil {
					t.Errorf("%s of %d, %s: a key that is not there was found", name, n, what)
				}
				objects.DecRef(table.handle)
			}
		}
	}
}

// TestMapKeysThatLookAlike has keys that differ in type only.
func TestMapKeysThatLookAlike(t *testing.T) {
	load(t)
	keys := []maptable.Key{
		maptable.ScalarKey(abi.TypeInt, 1), maptable.ScalarKey(abi.TypeBool, 1), maptable.ScalarKey(abi.TypeInt, 0),
		maptable.ScalarKey(abi.TypeBool, 0), maptable.StringKey("1"), maptable.StringKey(""),
	}
	m := pairs(t, &calls.Func{Name: "ffi.Map"}, func(p *calls.Pack, i int) {
		switch i {
		case 0, 2:
			p.Int(int64(1 - i/2))
		case 1, 3:
			p.Bool(i == 1)
		case 4:
			_ = p.String("1")
		case 5:
			_ = p.String("")
		}
	}, len(keys))
	defer objects.DecRef(m)
	for i := range keys {
		if at := maptable.Find(m, &keys[i]); at == nil || at.Bits != uint64(i) {
			t.Errorf("key %d: found %+v", i, at)
		}
	}
}
