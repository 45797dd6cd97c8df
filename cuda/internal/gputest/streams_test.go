package gputest

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// adder adds one to a number again and again, each time by a launch.
type adder struct {
	t *testing.T
	k *cuda.Kernel
	x *cuda.Memory
}

func newAdder(t *testing.T, k *cuda.Kernel) *adder {
	x, err := k.Device().Alloc(4)
	ok(t, err)
	t.Cleanup(func() { ok(t, x.Free()) })
	ok(t, cuda.Fill(x, float32(0), nil))
	ok(t, k.Device().Synchronize())
	return &adder{t, k, x}
}

func (a *adder) launch(c cuda.LaunchConfig) {
	a.t.Helper()
	c.Grid, c.Block = cuda.Dim(1), cuda.Dim(32)
	ok(a.t, a.k.Launch(c, a.x, a.x, int32(1)))
}

func (a *adder) want(v float32) {
	a.t.Helper()
	ok(a.t, a.k.Device().Synchronize())
	got := make([]float32, 1)
	ok(a.t, cuda.CopyOut(got, a.x))
	if got[0] != v {
		a.t.Errorf("the number is %v, want %v", got[0], v)
	}
}

func stream(t *testing.T, options ...cuda.StreamOption) *cuda.Stream {
	st, err := cuda.Device(0).NewStream(options...)
	ok(t, err)
	t.Cleanup(func() { ok(t, st.Close()) })
	return st
}
