//go:build tvm

package tvmffi_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// TestTVMDevice copies to and from tensors of RPC sessions: one in the process and one over
// a socket, whose other end is served by the same process.
func TestTVMDevice(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Wheel(t, wheel.TVMNeeds).Library())); err != nil {
		t.Fatal(err)
	}
	early := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromPointer(tvmffi.Pointer{Address: 4096}, tvmffi.Float32, tvmffi.Device{Type: 129}, nil, 2))
	defer early.Release()
	if _, err := tvmffi.Lookup("rpc.LocalSession"); err != nil { // TestTVM may have loaded it
		runtimetest.WantError(t, tvmffi.CopyFrom(early, []float32{1, 2}), tvmffi.ErrValue, "load the runtime of TVM")
	}
	if err := tvmffi.LoadLibrary(nativetest.Pinned(t, "apache-tvm").Path("tvm/lib/libtvm_runtime.so")); err != nil {
		t.Fatal(err)
	}
	t.Run("local", func(t *testing.T) {
		deviceCopies(t, callTVM[*tvmffi.Module](t, "rpc.LocalSession"))
	})
	t.Run("socket", func(t *testing.T) {
		port, done := serveRPC(t)
		deviceCopies(t, callTVM[*tvmffi.Module](t, "rpc.Connect", "127.0.0.1", port, "test", false))
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(nativetest.Patience(20 * time.Second)):
			t.Error("the server still runs long after the end of the session")
		}
	})
}

// callTVM calls a global function.
func callTVM[T any](t *testing.T, name string, args ...any) T {
	t.Helper()
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup(name))
	defer f.Release()
	v, err := f.Call(args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return runtimetest.Must[T](t)(tvmffi.As[T](v))
}

// serveRPC serves one client of TVM's RPC and returns the port.
func serveRPC(t *testing.T) (port int, done chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done = make(chan error, 1)
	go func() {
		done <- func() error {
			defer l.Close()
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			defer conn.Close()
			hello := make([]byte, 8) // a magic number and the length of the key
			if _, err := io.ReadFull(conn, hello); err != nil {
				return err
			}
			if _, err := io.CopyN(io.Discard, conn, int64(hello[4])); err != nil {
				return err
			}
			key := "server:test"
			if _, err := conn.Write(append(append(hello[:4:4], byte(len(key)), 0, 0, 0), key...)); err != nil {
				return err
			}
			file, err := conn.(*net.TCPConn).File()
			if err != nil {
				return err
			}
			fd, err := syscall.Dup(int(file.Fd()))
			if err := errors.Join(err, file.Close()); err != nil {
				return err
			}
			return serveLoop(fd)
		}()
	}()
	return l.Addr().(*net.TCPAddr).Port, done
}

// serveLoop serves a session on a descriptor of its own, which it closes. One of an os.File would be closed twice.
func serveLoop(fd int) error {
	f, err := tvmffi.Lookup("rpc.ServerLoop")
	if err != nil {
		return err
	}
	defer f.Release()
	_, err = f.Call(fd)
	return err
}

// deviceCopies copies to and from tensors on a device of session, which it ends.
func deviceCopies(t *testing.T, session *tvmffi.Module) {
	defer leaktest.Check(t)
	defer session.Release()
	must := runtimetest.Must[*tvmffi.Tensor](t)
	device := tvmffi.Device{Type: int32(callTVM[int](t, "rpc.SessTableIndex", session)+1)*128 + tvmffi.DeviceCPU}
	var tensors []*tvmffi.Tensor // each holds the session
	defer func() {
		for _, x := range tensors {
			x.Release()
		}
	}()
	alloc := func(dtype tvmffi.DataType, shape ...int64) *tvmffi.Tensor {
		x := callTVM[*tvmffi.Tensor](t, "runtime.TVMTensorAllocWithScope", shape, dtype, device, nil)
		tensors = append(tensors, x)
		return x
	}
	x, y := alloc(tvmffi.Float32, 2, 3), alloc(tvmffi.Float32, 2, 3)
	numbers := []float32{1, 2, 3, 4, 5, 6}
	check := func(what string, got []float32, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, numbers) {
			t.Errorf("%s: got %v, %v, expected %v", what, got, err, numbers)
		}
	}
	if err := tvmffi.CopyFrom(x, numbers); err != nil {
		t.Fatal(err)
	}
	got, err := tvmffi.ReadSlice[float32](x)
	check("ReadSlice", got, err)
	got = make([]float32, 6)
	err = tvmffi.CopyTo(x, got)
	check("CopyTo", got, err)
	got, err = tvmffi.ToFloat32(x)
	check("ToFloat32", got, err)
	err = tvmffi.Copy(y, x)
	got, _ = tvmffi.ReadSlice[float32](y)
	check("Copy on the device", got, err)
	clone := must(y.Clone())
	defer clone.Release()
	got, err = tvmffi.Slice[float32](clone)
	check("Clone", got, err)
	numbers = []float32{1, 3, 5, 2, 4, 6}
	columns := must(must(tvmffi.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)).Transpose())
	defer columns.Release()
	err = tvmffi.Copy(x, columns)
	got, _ = tvmffi.ReadSlice[float32](x)
	check("Copy from a strided tensor", got, err)
	err = tvmffi.Copy(columns, x)
	got, _ = tvmffi.ToFloat32(columns)
	check("Copy to a strided tensor", got, err)

	row := must(x.Slice(0, 1, 2))
	defer row.Release()
	first := must(y.Slice(0, 0, 1))
	defer first.Release()
	err = tvmffi.Copy(first, row)
	got, _ = tvmffi.ReadSlice[float32](first)
	numbers = []float32{2, 4, 6}
	check("Copy of a view on the device", got, err)
	got, err = tvmffi.ReadSlice[float32](row)
	check("ReadSlice of a view", got, err)
	err = tvmffi.CopyFrom(row, []float32{7, 8, 9})
	got, _ = tvmffi.ReadSlice[float32](x)
	numbers = []float32{1, 3, 5, 7, 8, 9}
	check("CopyFrom to a view", got, err)
	turned := must(x.Transpose())
	defer turned.Release()
	for text, err := range map[string]error{
		"is not contiguous":            tvmffi.CopyFrom(turned, make([]float32, 6)),
		"Clone or ReadSlice copies it": runtimetest.ErrorOf(tvmffi.Slice[float32](x)),
		"has 6 elements":               tvmffi.CopyFrom(x, make([]float32, 5)),
	} {
		runtimetest.WantError(t, err, tvmffi.ErrValue, text)
	}
	runtimetest.WantError(t, runtimetest.ErrorOf(tvmffi.ReadSlice[int32](x)), tvmffi.ErrType, "the element type is float32")
	if text := strings.Split(fmt.Sprintf("%+v", x), "\n")[0]; !strings.HasPrefix(text, "float32[2, 3]@remote[") {
		t.Error(text)
	}
	if empty := alloc(tvmffi.Int8, 0); tvmffi.CopyFrom(empty, []int8{}) != nil {
		t.Error("an empty tensor is not copied")
	}
}
