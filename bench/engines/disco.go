package main

import (
	"bytes"
	"context"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// workers has the items of Disco. Worker 0 is a thread of this process, the other two are
// processes. Python has no broadcast of tensors between CPUs: there the bytes are the
// argument of a call.
func workers() (stop func()) {
	ctx := context.Background()
	session := must(disco.Processes(ctx, 3, disco.Options{}))
	called := func(f disco.Callable, arg any) {
		must(session.Call(f, arg)).Release()
		check(session.Sync(ctx))
	}
	bytesOf, shapeOf := session.Function("ffi.Bytes"), session.Function("ffi.Shape")
	item("disco_int", func(n int) {
		for i := range n {
			called(shapeOf, i)
		}
	})
	text := bytes.Repeat([]byte("x"), megabyte)
	item("disco_bytes", func(n int) {
		for range n {
			called(bytesOf, text)
		}
	})
	tensor := must(tvmffi.FromSlice(make([]float32, megabyte/4)))
	item("disco_tensor", func(n int) {
		for range n {
			must(session.Broadcast(tensor)).Release()
			check(session.Sync(ctx))
		}
	})
	return func() { check(session.Close()) }
}
