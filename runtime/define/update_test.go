package define_test

import (
	"math"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

type updated struct {
	Bad    any   `ffi:"bad,optional"`
	Fixed  int64 `ffi:"fixed,readonly"`
	Behind int64 `ffi:"behind"`
	Last   any   `ffi:"last,optional"`
}

// Change sets a field to what it cannot hold, and another one.
func (u *updated) Change(what string) {
	u.Behind = 7
	switch what {
	case "bad":
		u.Bad = make(chan int)
	case "fixed":
		u.Fixed = 3
	case "last":
		u.Last = make(chan int)
	}
}

// TestMethodChanges: where a method changes one field that cannot be set, none is set,
// whatever comes behind it.
func TestMethodChanges(t *testing.T) {
	runtimetest.LoadDefine(t)
	typ := define.Object[updated]("gotest.Updated", define.Method("change", (*updated).Change))
	x := runtimetest.Must[*define.Instance[updated]](t)(typ.New(updated{Fixed: 1, Behind: 2}))
	defer x.Release()
	for what, kind := range map[string]error{"bad": tvmffi.ErrType, "fixed": tvmffi.ErrAttribute, "last": tvmffi.ErrType} {
		_, err := runtimetest.Call("define.method", "gotest.Updated", "change", x, what)
		runtimetest.WantError(t, err, kind, what)
		if got := x.Value(); got != (updated{Fixed: 1, Behind: 2}) {
			t.Errorf("after the error of %s the fields are %+v", what, got)
		}
	}
	runtimetest.MustCall(t, "define.method", "gotest.Updated", "change", x, "nothing else")
	if got := x.Value(); got != (updated{Fixed: 1, Behind: 7}) {
		t.Errorf("the fields are %+v", got)
	}
}

type signed struct {
	Plain   float64    `ffi:"plain"`
	Numbers []float64  `ffi:"numbers"`
	Pair    [2]float32 `ffi:"pair"`
	Complex complex128 `ffi:"complex"`
	Nested  []part     `ffi:"nested"`
	Maybe   *float64   `ffi:"maybe"`
}

type part struct {
	X float64 `ffi:"x"`
}

// Negate changes nothing but signs of zeros.
func (s *signed) Negate() {
	minus := math.Copysign(0, -1)
	*s = signed{minus, []float64{minus, 1}, [2]float32{float32(minus), 0}, complex(0, minus), []part{{minus}}, &minus}
}

// signedType is made once, because a struct defines one type.
var signedType = sync.OnceValue(func() *define.Type[signed] {
	return define.Object[signed]("gotest.Signed", define.Method("negate", (*signed).Negate))
})

// TestMethodChanges_sign: -0.0 is another value than 0.0.
func TestMethodChanges_sign(t *testing.T) {
	runtimetest.LoadDefine(t)
	typ := signedType()
	x := runtimetest.Must[*define.Instance[signed]](t)(typ.New(signed{Numbers: []float64{0, 1}, Nested: []part{{0}}, Maybe: new(float64)}))
	defer x.Release()
	runtimetest.MustCall(t, "define.method", "gotest.Signed", "negate", x)
	got := x.Value()
	for name, v := range map[string]float64{
		"plain": got.Plain, "numbers": got.Numbers[0], "pair": float64(got.Pair[0]), "complex": imag(got.Complex), "nested": got.Nested[0].X, "maybe": *got.Maybe,
	} {
		if v != 0 || !math.Signbit(v) {
			t.Errorf("%s is %v, want -0.0", name, v)
		}
	}
}
