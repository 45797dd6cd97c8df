package rpc_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// A server of sessions, each in a process of its own. Close it by ending the context.
func ExampleListen() {
	rpc.Main(nil) // first in main
	server, err := rpc.Listen(rpc.Config{Addr: "127.0.0.1:9090", MaxSessions: 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the server is at", server.Addr())
	log.Fatal(server.Serve(context.Background()))
}

// A client uploads a library, and calls a function of it with tensors of the server.
func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := rpc.Dial(ctx, "127.0.0.1:9090", rpc.DialOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	library, err := os.ReadFile("kernels.so")
	if err != nil {
		log.Fatal(err)
	}
	if err := session.Upload(ctx, "kernels.so", library); err != nil {
		log.Fatal(err)
	}
	module, err := session.LoadModule(ctx, "kernels.so")
	if err != nil {
		log.Fatal(err)
	}
	defer module.Release()
	scale, err := module.Function(ctx, "scale")
	if err != nil {
		log.Fatal(err)
	}
	defer scale.Release()
	x, err := session.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Release()
	if err := rpc.CopyFrom(ctx, session, x, []float32{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	if _, err := scale.Call(ctx, x, 2.0); err != nil {
		log.Fatal(err) // a *tvmffi.Error of kind "RPCError" is the server's; a *rpc.ConnectionError ends the session
	}
	fmt.Println(rpc.ReadSlice[float32](ctx, session, x))
}
