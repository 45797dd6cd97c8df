//go:build tvm && linux

package rpc_test

import (
	"bytes"
	"errors"
	"log"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func init() {
	roles["small server"] = func() { // writing beyond a megabyte of a file fails, as on a full disk
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
			log.Fatal(err)
		}
		serverRole()
	}
}

// TestUpload_full: a file that the disk does not take is an error, the old one stays, and nothing is left of the new one.
func TestUpload_full(t *testing.T) {
	dir := t.TempDir()
	_, addr := startRole(t, "small server", nil, "DIR="+dir)
	s := dial(t, addr, rpc.DialOptions{})
	ctx := limited(t, 30*time.Second)
	old, large := bytes.Repeat([]byte("old"), 1000), make([]byte, 3<<20)
	if err := s.Upload(ctx, "below/file", old); err != nil {
		t.Fatal(err)
	}
	const want = `the server did not write the file "below/file" of 3145728 bytes, and an older one stays as it was: `
	if err := s.Upload(ctx, "below/file", large); !errors.Is(err, tvmffi.KindError("RPCError")) || !strings.Contains(err.Error(), want) {
		t.Errorf("Upload: %v", err)
	}
	if _, err := s.Call(ctx, "tvm.rpc.server.upload", "below/file", large); !errors.Is(err, tvmffi.KindError("RPCError")) || !strings.Contains(err.Error(), want) {
		t.Errorf("as other clients: %v", err)
	}
	if _, err := s.Call(ctx, "tvmffi.rpc.upload", "below/file", []byte("new"), make([]byte, 32)); err == nil || !strings.Contains(err.Error(), "not those that the client has sent") {
		t.Errorf("with another hash: %v", err)
	}
	if got, err := s.Download(ctx, "below/file"); err != nil || !bytes.Equal(got, old) {
		t.Errorf("%d bytes are there, %v", len(got), err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*", "below", "*")); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	if err := s.Upload(ctx, "below/file", []byte("new")); err != nil {
		t.Error(err)
	}
}

// TestUpload_mapped: an upload over a library that is loaded leaves the loaded one as it is.
func TestUpload_mapped(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	echo := function(t, module(t, s), "echo")
	ctx := limited(t, 30*time.Second)
	if err := s.Upload(ctx, "kernels.so", []byte("short")); err != nil {
		t.Fatal(err)
	}
	if r, err := echo.Call(ctx, 7); err != nil || r.String() != "7" {
		t.Errorf("%v, %v", r, err)
	}
}

// TestUpload_foreign: the server of TVM's Python package cuts a file and says nothing, so the client compares.
func TestUpload_foreign(t *testing.T) {
	s := dial(t, python(t, "small server", "cpu"), rpc.DialOptions{Key: "cpu"})
	ctx := limited(t, 30*time.Second)
	for range 2 {
		if err := s.Upload(ctx, "file", make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := s.Upload(ctx, "file", make([]byte, 3<<20)); err == nil || !strings.Contains(err.Error(), `does not have the 3145728 bytes of the uploaded file "file": it has 1048576 bytes`) {
			t.Errorf("a large file: %v", err)
		}
		if b, err := s.Download(ctx, "file"); err == nil {
			t.Errorf("%d bytes are there", len(b))
		}
	}
}
