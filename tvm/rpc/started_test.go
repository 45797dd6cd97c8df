//go:build tvm && linux

package rpc_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestStarted ends a session whose kernel has started a process.
func TestStarted(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	r, err := function(t, module(t, s), "start").Call(limited(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := tvmffi.As[int64](r)
	if err != nil || !runs(pid) {
		t.Fatalf("the kernel started process %d, %v", pid, err)
	}
	s.Close()
	for end := time.Now().Add(nativetest.Patience(5 * time.Second)); runs(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d runs after the session", pid)
		}
	}
}

// runs reports whether a process exists and has not ended.
func runs(pid int64) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && pid > 0 && !strings.HasPrefix(state, "Z")
}
