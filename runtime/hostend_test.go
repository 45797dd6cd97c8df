//go:build !windows

package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func init() { runtimetest.Children["host end"] = hostEndChild }

// A library whose host ends: calls in flight return, the thread that ends the host may make
// calls, and other goroutines neither call nor release.
func TestHostEnd(t *testing.T) {
	out, err := runtimetest.Child(t, "host end", "CORE="+nativetest.Library(t), "CALLS="+nativetest.Build(t, "calls"))
	if err != nil {
		t.Errorf("the child ended with %v: %s", err, out)
	}
}

func hostEndChild() error {
	environment.EndWith(0)
	environment.SetStandStill(100 * time.Millisecond)
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	if err := tvmffi.LoadLibrary(os.Getenv("CALLS")); err != nil {
		return err
	}
	runtime.LockOSThread()
	echo, err := tvmffi.Lookup("calls.echo_any")
	if err != nil {
		return err
	}
	call := func() error {
		v, err := echo.Call(1)
		v.Release()
		return err
	}
	elsewhere := func(f func() error) error {
		done := make(chan error)
		go func() { done <- f() }()
		return <-done
	}
	for _, in := range []func() error{call, func() error { return elsewhere(call) }} {
		if err := in(); err != nil {
			return fmt.Errorf("before the end: %w", err)
		}
	}

	// A call that is under way when the host ends.
	started := make(chan bool)
	var ran atomic.Bool
	slow, err := tvmffi.FuncOf(func() { close(started); time.Sleep(20 * time.Millisecond); ran.Store(true) })
	if err != nil {
		return err
	}
	returned := make(chan error)
	go func() { _, err := slow.Call(); returned <- err }()
	<-started
	environment.End()
	if !ran.Load() {
		return errors.New("End did not wait for the call in flight")
	}
	if err := <-returned; err != nil {
		return fmt.Errorf("the call in flight: %w", err)
	}

	refused := func(what string, err error) error {
		if !errors.Is(err, tvmffi.ErrRuntime) || !strings.Contains(err.Error(), "the host process is ending") {
			return fmt.Errorf("%s: %v, want an error", what, err)
		}
		return nil
	}
	if err := call(); err != nil {
		return fmt.Errorf("on the last thread: %w", err)
	}
	if err := refused("elsewhere", elsewhere(call)); err != nil {
		return err
	}
	boxes := make([]*tvmffi.Object, 3)
	for i := range boxes {
		made, err := tvmffi.Lookup("calls.box")
		if err != nil {
			return err
		}
		v, err := made.Call(1)
		if err != nil {
			return fmt.Errorf("on the last thread: %w", err)
		}
		if boxes[i], err = tvmffi.As[*tvmffi.Object](v); err != nil {
			return err
		}
	}
	err = elsewhere(func() error { // one call, and many at once
		boxes[0].Release()
		var s tvmffi.Scope
		s.Add(boxes[1])
		s.Add(boxes[2])
		s.Release()
		return nil
	})
	if n, failed := liveBoxes(); err != nil || failed != nil || n != 3 {
		return fmt.Errorf("%d boxes (%v, %v), want the 3 that nobody may release", n, err, failed)
	}
	environment.End()
	return refused("after the second end", call())
}

func liveBoxes() (int64, error) {
	f, err := tvmffi.Lookup("calls.live")
	if err != nil {
		return 0, err
	}
	v, err := f.Call()
	if err != nil {
		return 0, err
	}
	return tvmffi.As[int64](v)
}
