package define_test

import (
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
