package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// megabyte is what goes to a server or to workers.
const megabyte = 1 << 20

// serveRemote is a server of RPC until its standard input ends.
func serveRemote() {
	server := must(rpc.Listen(rpc.Config{Logger: slog.New(slog.DiscardHandler)}))
	fmt.Println(server.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := server.Serve(context.Background()); !errors.Is(err, rpc.ErrClosed) {
		check(err)
	}
}

// startServer starts this program as a server, and returns its address and what ends it.
func startServer() (address string, stop func()) {
	cmd := exec.Command(must(os.Executable()), "serve")
	cmd.Stderr = os.Stderr
	in, out := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	check(cmd.Start())
	line := must(bufio.NewReader(out).ReadString('\n'))
	return strings.TrimSpace(line), func() {
		check(in.Close())
		check(cmd.Wait())
	}
}

// remote has the items of RPC; the function is the same C++ code as behind the server of
// Python, which the client uploads.
func remote(library string) (stop func()) {
	ctx := context.Background()
	address, stopServer := startServer()
	session := must(rpc.Dial(ctx, address, rpc.DialOptions{}))
	check(session.Upload(ctx, "remote.so", must(os.ReadFile(library))))
	echo := must(must(session.LoadModule(ctx, "remote.so")).Function(ctx, "echo"))
	item("rpc_int", func(n int) {
		for i := range n {
			_ = must(tvmffi.As[int64](must(echo.Call(ctx, i))))
		}
	})
	text := bytes.Repeat([]byte("x"), megabyte)
	item("rpc_bytes", func(n int) {
		for range n {
			if got := must(tvmffi.As[[]byte](must(echo.Call(ctx, text)))); len(got) != megabyte {
				panic("the echo has another length")
			}
		}
	})
	numbers := make([]float32, megabyte/4)
	x := must(session.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, int64(len(numbers))))
	item("rpc_tensor", func(n int) {
		for range n {
			check(rpc.CopyFrom(ctx, session, x, numbers))
			must(rpc.ReadSlice[float32](ctx, session, x))
		}
	})
	return func() {
		x.Release()
		echo.Release()
		check(session.Close())
		stopServer()
	}
}
