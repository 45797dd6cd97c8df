//go:build tvm && linux

package rpc_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/disktest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestUpload_anyMoment kills the server and the process of the session at changes of the disk, and fills the disk at them: a
// file that can be read is the old or the new one, and the next server removes what was left.
func TestUpload_anyMoment(t *testing.T) {
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	old, large := bytes.Repeat([]byte("old"), 1000), bytes.Repeat([]byte("new"), 1<<20)
	changes, whole := uploads(t, t.TempDir(), disktest.None, -1, old, large)
	if changes < 10 || !whole {
		t.Fatalf("%d changes, the upload is complete: %v", changes, whole)
	}
	for _, at := range disktest.Moments(t, changes, 5, 1) {
		for _, fault := range []disktest.Fault{disktest.Kill, disktest.Full} {
			dir := t.TempDir()
			uploads(t, dir, fault, at, old, large)
			if changes, _ := uploads(t, dir, disktest.None, -1); changes == 0 {
				t.Errorf("%v at %d: the next server did not look at its folder", fault, at)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v at %d: the next server leaves %v, %v", fault, at, left, err)
			}
		}
	}
}

// uploads starts a server whose changes of the folder are counted, and a client that uploads contents to one file. It returns
// whether all of it went well.
func uploads(t *testing.T, dir string, fault disktest.Fault, at int, contents ...[]byte) (changes int, whole bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=server", "DIR="+dir)
	messages := new(output)
	cmd.Stderr, cmd.WaitDelay = messages, 5*time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run := disktest.Start(t, cmd, dir, fault, at)
	line, _ := bufio.NewReader(out).ReadString('\n')
	failed := ""
	whole = true
	if addr := strings.TrimSpace(line); addr == "" {
		whole = false
	} else if len(contents) > 0 {
		failed, whole = client(t, fault, addr, contents)
	}
	_ = cmd.Process.Kill()
	changes, _ = run.Wait(t)
	where := fmt.Sprintf("%v at change %d, %q", fault, at, run.Hit())
	if failed != "" {
		t.Errorf("%s: %s", where, failed)
	}
	if text := messages.String(); fault == disktest.Full && line == "" && !strings.Contains(text, "no space left on device") {
		t.Errorf("%s: the server did not start: %s", where, text)
	}
	return changes, whole
}

// client returns what it finds wrong, and whether all went well.
func client(t *testing.T, fault disktest.Fault, addr string, contents [][]byte) (failed string, whole bool) {
	ctx := limited(t, 30*time.Second)
	s, err := rpc.Dial(ctx, addr, rpc.DialOptions{})
	if err != nil {
		if fault == disktest.Full && !strings.Contains(err.Error(), "no space left on device") {
			return fmt.Sprintf("the client cannot see why there is no session: %v", err), false
		}
		return "", false
	}
	defer s.Close()
	var last []byte
	for _, content := range contents {
		err := s.Upload(ctx, "below/file", content)
		if err == nil {
			last = content
			continue
		}
		whole = false
		got, lost := s.Download(ctx, "below/file")
		if fault == disktest.Full && last != nil && lost != nil {
			return fmt.Sprintf("after %v the older file cannot be read: %v", err, lost), false
		}
		if lost == nil && !bytes.Equal(got, last) {
			return fmt.Sprintf("after %v %d bytes are there, and %d were", err, len(got), len(last)), false
		}
		if want := fmt.Sprintf(`the server did not write the file "below/file" of %d bytes`, len(content)); lost == nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "no space left on device")) {
			return fmt.Sprintf("the error is %v", err), false
		}
	}
	got, err := s.Download(ctx, "below/file")
	if err == nil && last != nil && !bytes.Equal(got, last) {
		return fmt.Sprintf("%d bytes are there, not %d", len(got), len(last)), false
	}
	return "", err == nil && bytes.Equal(got, contents[len(contents)-1])
}
