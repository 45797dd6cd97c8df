package define_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

type Hashed struct {
	Hash  uint64   `ffi:"hash,default=14695981039346656037"`
	Size  uint     `ffi:"size,default=0"`
	First *uint64  `ffi:"first"`
	All   []uint64 `ffi:"all,optional"`
}

// A field of 8 bytes without a sign holds each of its numbers. Those beyond int64 come and go as a BigInt.
func TestUint64Fields(t *testing.T) {
	runtimetest.LoadDefine(t)
	const most = math.MaxUint64
	n := uint64(1 << 63)
	hashed := define.Object[Hashed]("gotest.Hashed")
	if capi.API.BigIntFromByteArray == 0 {
		runtimetest.WantError(t, hashed.Register(), tvmffi.ErrOverflow, "Hash", "0.1.14 is the first")
		return
	}
	h, err := hashed.New(Hashed{Hash: most, Size: 7, First: &n, All: []uint64{1, n}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	want := Hashed{Hash: most, Size: 7, First: &n, All: []uint64{1, n}}
	if diff := cmp.Diff(want, h.Value()); diff != "" {
		t.Error(diff)
	}
	o := reflection.ValueOf(h)
	for name, want := range map[string]string{"hash": "18446744073709551615", "size": "7", "first": "9223372036854775808"} {
		if v, err := o.Get(name); err != nil || v.String() != want {
			t.Errorf("%s is %v, %v, want %s", name, v, err, want)
		}
	}
	for _, x := range []any{n, uint64(5), uint64(most), true, big.NewInt(6)} {
		for _, name := range []string{"hash", "size", "first"} {
			runtimetest.MustCall(t, "define.set", h, name, x)
		}
		v := h.Value()
		if text := fmt.Sprint(v.Hash, v.Size, *v.First); text != fmt.Sprintf("%[1]v %[1]v %[1]v", x) && (x != true || text != "1 1 1") {
			t.Errorf("after define.set with %v the fields are %s", x, text)
		}
	}
	for _, x := range []any{-1, new(big.Int).Lsh(big.NewInt(1), 64), new(big.Int).Lsh(big.NewInt(-1), 63), new(big.Int).Lsh(big.NewInt(-1), 64), new(big.Int).Lsh(big.NewInt(1), 127)} {
		_, err := runtimetest.Call("define.set", h, "hash", x)
		runtimetest.WantError(t, err, tvmffi.ErrType, "expected an int from 0 to 18446744073709551615, got one outside this range")
	}
	// A graph of JSON takes the payload of a value for an int, if the static type of its field is one.
	for _, x := range []uint64{5, most} {
		runtimetest.MustCall(t, "define.set", h, "hash", x)
		text := runtimetest.MustCall(t, "ffi.ToJSONGraphString", h, nil)
		v := runtimetest.MustCall(t, "ffi.FromJSONGraphString", text)
		if back, err := tvmffi.As[Hashed](v); err != nil || back.Hash != x {
			t.Errorf("the graph of %d has %d, %v: %s", x, back.Hash, err, text)
		}
		v.Release()
		data, err := jsongraph.Marshal(h, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := jsongraph.Unmarshal[*define.Instance[Hashed]](data)
		if err != nil || back.Value().Hash != x {
			t.Fatalf("package jsongraph: %v of %s", err, data)
		}
		back.Release()
	}
	_, err = runtimetest.Call("define.set", h, "hash", "text")
	runtimetest.WantError(t, err, tvmffi.ErrType, "to `int`")
	made := runtimetest.MustCall(t, "define.init", "gotest.Hashed")
	defer made.Release()
	m, err := tvmffi.As[Hashed](made)
	if err != nil || m.Hash != 14695981039346656037 || m.First != nil {
		t.Errorf("define.init made %+v, %v, want the defaults", m, err)
	}
}

func TestDefineParents(t *testing.T) {
	nativetest.OneCompiler(t)
	runtimetest.LoadDefine(t)
	wide := 2.5
	p, err := Point3Type.New(Point3{Point: runtimetest.Point{X: 1, Name: "child"}, Z: -8, Wide: &wide, Data: []int64{7}, Keys: map[string]float64{"k": 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if v := p.Value(); v.X != 1 || v.Name != "child" || v.Z != -8 || *v.Wide != 2.5 || len(v.Data) != 1 || v.Data[0] != 7 || v.Keys["k"] != 1 {
		t.Errorf("the new object is %+v, want the fields of New", v)
	}
	base, ok := tvmffi.Cast[*define.Instance[runtimetest.Point]](p)
	if !ok || pointX.Get(base) != 1 || base.Value().Name != "child" {
		t.Errorf("the object is not a Point with its fields; Cast returned %v", ok)
	}
	if v := runtimetest.MustCall(t, "define.method", "gotest.Point", "norm", p).Value(); v != 1.0 {
		t.Errorf("norm of the base returned %v, want 1", v)
	}
	z := define.FieldOf(Point3Type, func(p *Point3) *int8 { return &p.Z })
	x := define.FieldOf(Point3Type, func(p *Point3) *int64 { return &p.X })
	if z.Get(p) != -8 || x.Get(p) != 1 || z.Set(p, 127) != nil || z.Get(p) != 127 {
		t.Errorf("fields z %d and x %d, want 127 and 1", z.Get(p), x.Get(p))
	}
	// Setters refuse values that do not fit, from C++ too.
	_, err = runtimetest.Call("define.set", p, "z", 128)
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected an int from -128 to 127, got one outside this range")
	_, err = runtimetest.Call("define.set", p, "z", -129)
	runtimetest.WantError(t, err, tvmffi.ErrType, "-128")
	runtimetest.MustCall(t, "define.set", p, "wide", 3)
	runtimetest.MustCall(t, "define.set", p, "z", true)
	if v := p.Value(); v.Z != 1 || *v.Wide != 3 {
		t.Errorf("after define.set the object is %+v, want Z 1 and Wide 3", v)
	}
	runtimetest.MustCall(t, "define.set", p, "wide", nil)
	if v := p.Value(); v.Wide != nil {
		t.Errorf("Wide is %v, want nil", *v.Wide)
	}
	_, err = runtimetest.Call("define.set", p, "wide", "text")
	runtimetest.WantError(t, err, tvmffi.ErrType, "Cannot convert from type `", "` to `Optional<float>`")
	_, err = runtimetest.Call("define.set", p, "data", nil)
	runtimetest.WantError(t, err, tvmffi.ErrType, "`None` to `ffi.Array<int>`")
	d, err := Point3Type.Default()
	if err != nil || d.Z != -3 || d.Name != "p" || len(d.Data) != 2 || d.Keys["a"] != 1 {
		t.Errorf("Default returned %+v, %v, want the defaults of all tags and options", d, err)
	}
	made := runtimetest.MustCall(t, "define.init", "gotest.Point3", 5)
	defer made.Release()
	m, err := tvmffi.As[Point3](made)
	if err != nil || m.X != 5 || m.Z != -3 || m.Keys["a"] != 1 || m.Data[1] != 2 {
		t.Errorf("define.init made %+v, %v, want X 5 and the defaults", m, err)
	}
	_, err = runtimetest.Call("define.init", "gotest.Point3")
	runtimetest.WantError(t, err, tvmffi.ErrType, "missing", "x")
}

// Derived has a parent in C++.
type Derived struct {
	More  string             `ffi:"more"`
	Other *tvmffi.Object     `ffi:"other,optional"`
	Items *tvmffi.Array[any] `ffi:"items,optional"`
}

var DerivedType = define.Object[Derived]("gotest.Derived", define.ParentKey("define.Base"))

func TestDefineParentInCpp(t *testing.T) {
	runtimetest.LoadDefine(t)
	if err := DerivedType.Register(); err != nil {
		t.Fatal(err)
	}
	before := runtimetest.SettledGoValues()
	d, err := DerivedType.New(Derived{More: "a text that is not small"})
	if err != nil {
		t.Fatal(err)
	}
	runtimetest.MustCall(t, "define.set", d, "label", "the label of the base")
	runtimetest.MustCall(t, "define.set", d, "id", 4)
	value, err := tvmffi.NewOpaque(&before)
	if err != nil {
		t.Fatal(err)
	}
	runtimetest.MustCall(t, "define.set", d, "link", value)
	runtimetest.MustCall(t, "define.set", d, "other", value)
	value.Release()
	if v := runtimetest.MustCall(t, "define.is_base", d).Value(); v != true {
		t.Error("the object is not a define.Base")
	}
	if v := runtimetest.MustCall(t, "define.base_label", d).Value(); v != "the label of the base" {
		t.Errorf("define.base_label returned %v, want the label that was set", v)
	}
	copied := runtimetest.MustCall(t, "define.copy", d)
	if objects.LiveCallbacks() != before+1 {
		t.Errorf("%d Go values are held, want 1 that both objects share", objects.LiveCallbacks()-before)
	}
	d.Release()
	if s := fmt.Sprint(copied); !strings.Contains(s, `label="the label of the base"`) || !strings.Contains(s, `more="a text`) {
		t.Errorf("the copy prints %s, want the fields of both types", s)
	}
	copied.Release()
	if n := objects.LiveCallbacks(); n != before {
		t.Errorf("%d Go values are left", n-before)
	}
}

func TestDefineMirror(t *testing.T) {
	runtimetest.LoadDefine(t)
	type Mirrored struct {
		X    int64          `ffi:"x"`
		Y    float64        `ffi:"y"`
		Name string         `ffi:"name"`
		Next *tvmffi.Object `ffi:"next,optional"`
	}
	mirrored := define.Object[Mirrored]("gotest.Mirrored")
	a, err := mirrored.New(Mirrored{X: 1, Y: 0.5, Name: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	b, err := mirrored.New(Mirrored{X: 2, Y: 0.25, Name: "a long name is here", Next: tvmffi.Upcast[*tvmffi.Object](a)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if v := runtimetest.MustCall(t, "define.mirror_sum", b).Value(); v != 3.75+3+19 {
		t.Errorf("define.mirror_sum returned %v, want %v", v, 3.75+3+19)
	}
}

// TestDefineOptionalValues: structs, and pointers to values, are copied into fields and out of them.
func TestDefineOptionalValues(t *testing.T) {
	runtimetest.LoadDefine(t)
	type Row struct {
		X    float64 `ffi:"x"`
		Text string  `ffi:"text"`
	}
	type Holder struct {
		Row   Row                `ffi:"row"`
		Other *Row               `ffi:"other"`
		Point *runtimetest.Point `ffi:"point"`
		Many  *[]float64         `ffi:"many"`
		Pair  *[2]int            `ffi:"pair"`
		Count *map[string]int    `ffi:"count"`
		Text  *string            `ffi:"text"`
		Fixed *int               `ffi:"fixed,readonly"`
		Next  *Holder            `ffi:"next"`
		Any   any                `ffi:"any,optional"`
	}
	holders := define.Object[Holder]("gotest.Holder")
	text, fixed := "a long text, not a small one", 3
	full := Holder{
		Row{1, "a"}, &Row{2, "b"}, &runtimetest.Point{X: 3}, &[]float64{1, 2.5}, &[2]int{1, 2}, &map[string]int{"k": 1},
		&text, &fixed, &Holder{Row: Row{4, "inner"}}, "x",
	}
	for _, want := range []Holder{{}, full} {
		o, err := holders.New(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Value(); !cmp.Equal(got, want) {
			t.Errorf("the object has\n%s", cmp.Diff(want, got))
		}
		o.Release()
	}
	o, err := holders.New(full)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	point := define.FieldOf(holders, func(h *Holder) **runtimetest.Point { return &h.Point })
	// Other languages store ints where floats are.
	runtimetest.MustCall(t, "define.set", o, "many", []int64{1, 2})
	runtimetest.MustCall(t, "define.set", o, "row", map[string]any{"x": 5, "text": "set"})
	change := func(h *Holder) error {
		h.Other.X, h.Point.X, (*h.Many)[0], (*h.Count)["k"], *h.Text, h.Next.Row.X = 7, 8, 9, 10, "changed", 11
		return nil
	}
	if err := o.Update(change); err != nil {
		t.Fatal(err)
	}
	full.Row, full.Many = Row{5, "set"}, &[]float64{1, 2}
	if err := change(&full); err != nil {
		t.Fatal(err)
	}
	if got := o.Value(); !cmp.Equal(got, full) || point.Get(o).X != 8 {
		t.Errorf("after a change behind the pointers the object has\n%s", cmp.Diff(full, got))
	}
	runtimetest.WantError(t, o.Update(func(h *Holder) error { *h.Fixed++; return nil }), tvmffi.ErrAttribute, "gotest.Holder.fixed is read-only")
	for _, tie := range []func(*Holder){func(h *Holder) { h.Next = h }, func(h *Holder) { h.Any = []any{h} }} {
		h := new(Holder)
		tie(h)
		_, err := holders.New(*h)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	}
	runtimetest.MustCall(t, "define.set", o, "next", o)
	runtimetest.WantError(t, o.Update(func(*Holder) error { return nil }), tvmffi.ErrValue, "the value contains itself, or is nested deeper than 1000 levels")
	runtimetest.MustCall(t, "define.set", o, "next", nil)
}

// TestDefineChanges: Update stores what was changed behind several pointers, and leaves alone what nobody changed.
func TestDefineChanges(t *testing.T) {
	runtimetest.LoadDefine(t)
	type Inner struct {
		P   *int64 `ffi:"p"`
		Any any    `ffi:"any"`
	}
	type Chain struct {
		V     int64    `ffi:"v"`
		Next  *Chain   `ffi:"next"`
		Kids  []Chain  `ffi:"kids,optional"`
		In    *Inner   `ffi:"in"`
		None  *float64 `ffi:"none,readonly"`
		Fixed *Inner   `ffi:"fixed,readonly"`
	}
	chains := define.Object[Chain]("gotest.Chain")
	seven, nan := int64(7), math.NaN()
	o, err := chains.New(Chain{
		Next: &Chain{Next: &Chain{V: 1}}, Kids: []Chain{{}}, In: &Inner{P: &seven}, None: &nan, Fixed: &Inner{Any: nan},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	if err := o.Update(func(c *Chain) error { c.Next.Next.V, *c.In.P, c.Kids[0].V = 2, 8, 3; return nil }); err != nil {
		t.Fatal(err)
	}
	if c := o.Value(); c.Next.Next.V != 2 || *c.In.P != 8 || c.Kids[0].V != 3 || !math.IsNaN(*c.None) {
		t.Errorf("the last is %d, the pointer in a struct is %d, the element of the slice is %d, want 2, 8 and 3", c.Next.Next.V, *c.In.P, c.Kids[0].V)
	}
	runtimetest.WantError(t, o.Update(func(c *Chain) error { c.Fixed = nil; return nil }), tvmffi.ErrAttribute, "gotest.Chain.fixed is read-only")
	runtimetest.WantError(t, o.Update(func(c *Chain) error { *c.None = 1; return nil }), tvmffi.ErrAttribute, "gotest.Chain.none is read-only")
	// A slice and the object in it are one level.
	deep := Chain{}
	for range 990 {
		deep = Chain{Kids: []Chain{deep}}
	}
	d, err := chains.New(deep)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if err := d.Update(func(*Chain) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Tree and Leaf refer to each other.
type Tree struct {
	Leaves *tvmffi.Array[*define.Instance[Leaf]] `ffi:"leaves"`
	First  *define.Instance[Leaf]                `ffi:"first,optional"`
}

type Leaf struct {
	Tree *define.Instance[Tree] `ffi:"tree,optional"`
	N    uint16                 `ffi:"n"`
}

var (
	TreeType = define.Object[Tree]("gotest.Tree")
	LeafType = define.Object[Leaf]("gotest.Leaf")
)

func TestDefineMutual(t *testing.T) {
	runtimetest.LoadDefine(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var err error
			if i%2 == 0 {
				err = TreeType.Register()
			} else {
				err = LeafType.Register()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	leaf, err := LeafType.New(Leaf{N: 65535})
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Release()
	if _, err := runtimetest.Call("define.set", leaf, "tree", leaf); err == nil {
		t.Error("define.set took a Leaf for a Tree")
	}
	text := runtimetest.MustCall(t, "define.describe", "gotest.Tree").Value().(string)
	for _, want := range []string{`{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"gotest.Leaf\"}]}`, `\"type\":\"Optional\"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

var errHook = errors.New("hook")

// A converter that sets its own field adds the name of the field at each level.
func TestDefineConverter_recursive(t *testing.T) {
	runtimetest.LoadDefine(t)
	type recursive struct {
		N int64 `ffi:"n"`
	}
	var set func() error
	left := 0
	typ := define.Object[recursive]("gotest.Recursive", define.Converter("n", func(tvmffi.Any) (int64, error) {
		if left--; left < 0 {
			return 0, errHook
		}
		return 0, set()
	}))
	x, err := typ.New(recursive{})
	if old := capi.Version(); err != nil && old.Minor == 1 && old.Patch < 11 {
		return
	}
	defer x.Release()
	info, err := reflection.TypeByKey("gotest.Recursive")
	if err != nil {
		t.Fatal(err)
	}
	n, err := info.FieldByName("n")
	if err != nil {
		t.Fatal(err)
	}
	set = func() error { return n.Set(x, "text") }
	left = 500
	if runtime.GOOS == "windows" { // the stack of C ends before, with a RecursionError
		left = 50
	}
	err = set()
	if text, all := err.Error(), fmt.Sprintf("%+v", err); !errors.Is(err, errHook) || !strings.HasSuffix(text, ": "+errHook.Error()) || len(text) > 8<<10 || len(all) > 40<<10 {
		t.Errorf("the error of 500 levels has %d bytes, with the backtrace %d: %.300s", len(text), len(all), text)
	}
}

func TestDefineConverter(t *testing.T) {
	runtimetest.LoadDefine(t)
	type converted struct {
		Length int64 `ffi:"length"`
	}
	lengthType := define.Object[converted]("gotest.Converted", define.Converter("length", func(v tvmffi.Any) (int64, error) {
		switch x := v.Value().(type) {
		case string:
			return int64(len(x)), nil
		case int64:
			return x, nil
		}
		return 0, errHook
	}))
	c, err := lengthType.New(converted{Length: 5})
	if old := capi.Version(); err != nil && old.Minor == 1 && old.Patch < 11 {
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "needs version 0.1.11")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	runtimetest.MustCall(t, "define.set", c, "length", "four")
	if c.Value().Length != 4 {
		t.Errorf("the field that converts \"four\" makes the object %+v, want length 4", c.Value())
	}
	if _, err := runtimetest.Call("define.set", c, "length", 1.5); !errors.Is(err, errHook) || c.Value().Length != 4 {
		t.Errorf("error %v, want the one of the converter; the object is %+v, want length 4", err, c.Value())
	}
}

// TestLateType: a struct that was used before its type was declared is an object from then on.
func TestLateType(t *testing.T) {
	type late struct {
		N int64 `ffi:"n"`
	}
	if name := codec.For[late]().Name; name == "test.Late" {
		t.Fatal(name)
	}
	define.Object[late]("test.Late")
	if name := codec.For[late]().Name; name != "test.Late" {
		t.Errorf("the codec is that of %s", name)
	}
}

// TestDefineWire has fields that are Arrays in other languages.
func TestDefineWire(t *testing.T) {
	runtimetest.LoadDefine(t)
	type wired struct {
		When  time.Time           `ffi:"when"`
		Until *time.Time          `ffi:"until"`
		Wait  time.Duration       `ffi:"wait,default=1.5s"`
		Phase complex64           `ffi:"phase"`
		Tags  map[string]struct{} `ffi:"tags"`
		Made  time.Time           `ffi:"made,noinit"`
	}
	want := wired{time.Unix(1, 2).UTC(), nil, time.Second, 1 + 2i, map[string]struct{}{"b": {}, "a": {}}, time.Unix(3, 0).UTC()}
	x, err := define.Object[wired]("gotest.Wired").New(want)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if diff := cmp.Diff(want, x.Value()); diff != "" {
		t.Errorf("the fields (-want +got):\n%s", diff)
	}
	runtimetest.MustCall(t, "define.set", x, "until", []int64{5, 0, 3600})
	runtimetest.MustCall(t, "define.set", x, "tags", []string{"c", "c"})
	if got := x.Value(); got.Until == nil || got.Until.Unix() != 5 || len(got.Tags) != 1 {
		t.Errorf("fields that were set: %+v", got)
	}
	_, err = runtimetest.Call("define.set", x, "when", "noon")
	runtimetest.WantError(t, err, tvmffi.ErrType, "`Tuple<int, int, int>`")
	y := runtimetest.MustCall(t, "define.init", "gotest.Wired", []int64{1, 2, 0}, []float64{0.5, 0}, []string{})
	defer y.Release()
	if made, err := tvmffi.As[time.Time](runtimetest.MustCall(t, "define.get", y, "made")); err != nil || !made.IsZero() {
		t.Errorf("a time that no constructor takes is %v, %v", made, err)
	}
}
