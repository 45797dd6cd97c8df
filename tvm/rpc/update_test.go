//go:build tvm && linux

package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestServer_updated: clients come and go while the file of the server's program is removed and replaced. None loses a session
// or a call.
func TestServer_updated(t *testing.T) {
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	put := func(content []byte) error { // as a deploy does: another file gets the name
		file := program + ".new"
		return errors.Join(os.WriteFile(file, content, 0o700), os.Rename(file, program))
	}
	if err := put(self); err != nil {
		t.Fatal(err)
	}
	_, addr := startRole(t, "server", func(cmd *exec.Cmd) { cmd.Path = program }, "DIR="+t.TempDir(), "SESSIONS=3")
	updates := []func() error{
		func() error { return os.Remove(program) },
		func() error { return put([]byte("#!/bin/sh\nexit 9\n")) },
		func() error { return put(append(self, "another build"...)) },
	}
	ctx := limited(t, time.Minute)
	work := func(s *rpc.Session, text string) error {
		err := s.Upload(ctx, "file", []byte(text))
		if err != nil {
			return err
		}
		got, err := s.Download(ctx, "file")
		if err == nil && !bytes.Equal(got, []byte(text)) {
			err = fmt.Errorf("%q came back", got)
		}
		return err
	}
	open := dial(t, addr, rpc.DialOptions{}) // its session lives through all updates
	const clients = 2
	begun, updated := make(chan struct{}, clients*len(updates)), make([]chan struct{}, len(updates))
	for i := range updated {
		updated[i] = make(chan struct{})
	}
	ended := make(chan error, clients)
	for c := range clients {
		go func() {
			ended <- func() error {
				for i := range updates {
					begun <- struct{}{}
					err := func() error {
						s, err := rpc.Dial(ctx, addr, rpc.DialOptions{})
						if err != nil {
							return err
						}
						defer s.Close()
						select { // the update comes between the first call and the last one
						case <-updated[i]:
						case <-ctx.Done():
							return context.Cause(ctx)
						}
						return work(s, fmt.Sprint("client ", c, " ", i))
					}()
					if err != nil {
						return fmt.Errorf("client %d, session %d: %w", c, i, err)
					}
				}
				return nil
			}()
		}()
	}
	for i, update := range updates {
		for range clients {
			select { // while they connect
			case <-begun:
			case err := <-ended: // they end after the last update
				t.Fatal(err)
			}
		}
		if err := update(); err != nil {
			t.Fatal(err)
		}
		close(updated[i])
		if err := work(open, fmt.Sprint("open ", i)); err != nil {
			t.Errorf("the session that was open, after update %d: %v", i, err)
		}
	}
	for range clients {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
