package define_test

import (
	"math"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// box has gaps in the object, gaps in the struct, and fields side by side in both.
type box struct {
	Full  bool    `ffi:"full"`
	Width float64 `ffi:"width"`
	_     [3]int64
	Depth float64 `ffi:"depth"`
	Size  uint16  `ffi:"size"`
	Shift int8    `ffi:"shift"`
	Count int32   `ffi:"count"`
}

type crate struct {
	box
	Weight float32 `ffi:"weight"`
}

var boxType, crateType = define.Object[box]("gotest.Box"), define.Object[crate]("gotest.Crate")

// TestPlainFields: an argument of a struct of plain fields has those of the object, also if that is of a
// derived type, and costs no allocation.
func TestPlainFields(t *testing.T) {
	runtimetest.LoadDefine(t)
	want := crate{box{Full: true, Width: 1.5, Depth: -2.5, Size: 65535, Shift: -3, Count: 1 << 30}, 0.25}
	b, err := boxType.New(want.box)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	c, err := crateType.New(want)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	var gotBox box
	var gotCrate crate
	for _, test := range []struct {
		name string
		arg  tvmffi.ObjectRef
		read func(a *bindrt.Args)
		same func() bool
		most float64
	}{
		{"a box", b, func(a *bindrt.Args) { gotBox = bindrt.Arg[box](a, 0) }, func() bool { return gotBox == want.box }, 0},
		{"a crate", c, func(a *bindrt.Args) { gotCrate = bindrt.Arg[crate](a, 0) }, func() bool { return gotCrate == want }, 0},
		{"a crate for a box", c, func(a *bindrt.Args) { gotBox = bindrt.Arg[box](a, 0) }, func() bool { return gotBox == want.box }, 1},
	} {
		fn := objects.Own(callbacks.New(func(a *bindrt.Args) error {
			test.read(a)
			return a.ReturnInt(1)
		}))
		call := func() {
			var c bindrt.Call1
			c.BeginFunction(fn, 1)
			bindrt.PutObject(&c.Call, 0, test.arg)
			if _, err := c.DoInt(); err != nil {
				t.Fatal(err)
			}
		}
		call()
		if !test.same() {
			t.Errorf("%s: %+v, %+v, want %+v", test.name, gotBox, gotCrate, want)
		}
		gotBox, gotCrate = box{}, crate{}
		if n := testing.AllocsPerRun(100, call); runtimetest.Assembly && n > test.most { // the portable path allocates
			t.Errorf("%s: %v allocations, want %v", test.name, n, test.most)
		}
		fn.Release()
	}
	type label struct {
		X    float64 `ffi:"x"`
		Text string  `ffi:"text"`
	}
	l, err := define.Object[label]("gotest.Label").New(label{1, "p"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	update := func() {
		if err := l.Update(func(l *label) error { l.X++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, update); n > 4 {
		t.Errorf("Update made %v allocations, want at most 4: the struct before and after, and with -race two slices", n)
	}
}

// TestFloat32Fields: C++ sets a field of type float32 to the nearest number, to an infinity and to NaN, and to nothing beyond.
func TestFloat32Fields(t *testing.T) {
	runtimetest.LoadDefine(t)
	c, err := crateType.New(crate{Weight: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	weight := func() float32 { return c.Value().Weight }
	for _, x := range []float64{1.5, -0.1, math.MaxFloat32, -math.MaxFloat32, math.Inf(1), math.Inf(-1), 1e-300, 0} {
		runtimetest.MustCall(t, "define.set", c, "weight", x)
		if weight() != float32(x) {
			t.Errorf("after %v the field is %v", x, weight())
		}
	}
	for x, want := range map[any]float32{7: 7, math.MinInt64: math.MinInt64, true: 1} {
		runtimetest.MustCall(t, "define.set", c, "weight", x)
		if weight() != want {
			t.Errorf("after %v the field is %v", x, weight())
		}
	}
	runtimetest.MustCall(t, "define.set", c, "weight", math.NaN())
	if w := weight(); w == w {
		t.Errorf("after NaN the field is %v", w)
	}
	runtimetest.MustCall(t, "define.set", c, "weight", 0.25)
	for _, x := range []float64{3.5e38, -3.5e38, 1e300, -math.MaxFloat64, 0x1p128 - 0x1p103} {
		_, err := runtimetest.Call("define.set", c, "weight", x)
		runtimetest.WantError(t, err, tvmffi.ErrType, "expected a number that fits float32, got one outside its range")
	}
	if weight() != 0.25 {
		t.Errorf("after errors the field is %v", weight())
	}
}

type named []byte

type parcel struct {
	Label named `ffi:"label"`
}

var parcelType = define.Object[parcel]("gotest.Parcel")

// TestBytesField: a field of a named slice of bytes holds bytes, as the same type does in calls.
func TestBytesField(t *testing.T) {
	runtimetest.LoadDefine(t)
	o, err := parcelType.New(parcel{named("for you")})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	if got := o.Value(); string(got.Label) != "for you" {
		t.Errorf("the label is %q", got.Label)
	}
}
