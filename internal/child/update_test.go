//go:build linux

package child_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/child"
)

// loaded answers requests of several goroutines while the file of this program is removed and replaced. A request that
// crashes its process is lost, and no other one.
func loaded(dir string) error {
	p, err := child.NewPool("test", dir, child.Limits{Processes: 2})
	if err != nil {
		return err
	}
	defer p.Close()
	update, err := updates()
	if err != nil {
		return err
	}
	const clients, requests, between = 4, 24, 12
	var answered atomic.Int32
	client := func(c int) error {
		for i := range requests {
			request := fmt.Sprint(c, " ", i)
			if i%6 == 5 {
				request = "exit"
			}
			reply, err := p.Call(context.Background(), request)
			if request != "exit" && (err != nil || reply != request) {
				return fmt.Errorf("request %s: %q, %w", request, reply, err)
			}
			if request == "exit" && (err == nil || !strings.HasSuffix(err.Error(), "exit status 7: the reason")) {
				return fmt.Errorf("a crash: %w", err)
			}
			if n := int(answered.Add(1)); n%between == 0 {
				if err := update(n / between); err != nil {
					return err
				}
			}
		}
		return nil
	}
	ended := make(chan error, clients)
	for c := range clients {
		go func() { ended <- client(c) }()
	}
	for range clients {
		err = errors.Join(err, <-ended)
	}
	if n := answered.Load(); err == nil && n != clients*requests {
		return fmt.Errorf("%d of %d requests were answered", n, clients*requests)
	}
	return err
}

// updates returns a func that removes the file of this program, or gives its name to another program or another build.
func updates() (func(n int) error, error) {
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		return nil, err
	}
	put := func(n int, content string) error { // as a deploy does: another file gets the name
		file := fmt.Sprint(os.Args[0], n)
		if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
			return err
		}
		return os.Rename(file, os.Args[0])
	}
	return func(n int) error {
		switch n % 3 {
		case 0:
			if err := os.Remove(os.Args[0]); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		case 1:
			return put(n, "#!/bin/sh\nexit 9\n")
		default:
			return put(n, string(self)+"another build")
		}
	}, nil
}

// TestProgram_underLoad: a program that is updated while it works loses no request.
func TestProgram_underLoad(t *testing.T) {
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file)
	cmd.Env = append(os.Environ(), "CHILD_TEST_LOAD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %.1000s", err, out)
	}
}
