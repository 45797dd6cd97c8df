//go:build tvm

package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// TestMain is the program itself if a test, or the program's server, starts it again.
func TestMain(m *testing.M) {
	if os.Getenv("TVM_RPC_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// want is what the program prints.
const want = `the tracker is at 127\.0\.0\.1:\d+
the server is at 127\.0\.0\.1:\d+
the tracker gave a session at 127\.0\.0\.1:\d+
uploaded \d+ kB
2 \* \[1 2 3 4\] \+ 10 = \[12 14 16 18\]
a million elements on the server: .*s
a call from here: .*s
an error of the server: saxpy of tensors with 4 and 5 elements
a crash on the server: rpc: call 127\.0\.0\.1:\d+: the connection is lost: RPCError: the process of the session crashed: exit status 2.*
`

func TestProgram(t *testing.T) {
	nativetest.StartsCompiler(t)
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	ctx, cancel := context.WithTimeout(t.Context(), nativetest.Patience(2*time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "TVM_RPC_MAIN=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile("^"+want+"$").Match(out) {
		t.Errorf("the program printed, %v:\n%s\nwant\n%s", err, out, want)
	}
}

// TestRoles starts the parts as programs of their own, as on several machines.
func TestRoles(t *testing.T) {
	nativetest.StartsCompiler(t)
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	tracker := part(t, "-role", "tracker")
	part(t, "-role", "server", "-tracker", tracker)
	ctx, cancel := context.WithTimeout(t.Context(), nativetest.Patience(2*time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-role", "client", "-tracker", tracker)
	cmd.Env = append(os.Environ(), "TVM_RPC_MAIN=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "= [12 14 16 18]\n") {
		t.Errorf("the client printed, %v:\n%s", err, out)
	}
}

// part starts the program and returns the address that it prints. The end of the test interrupts it.
func part(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "TVM_RPC_MAIN=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(nativetest.Patience(20*time.Second), func() { cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q ended with %v", args, err)
		}
	})
	line := make([]byte, 100)
	n, err := out.Read(line)
	words := strings.Fields(string(line[:n]))
	if err != nil || len(words) == 0 {
		t.Fatalf("%q printed %q, %v", args, line[:n], err)
	}
	return words[len(words)-1]
}
