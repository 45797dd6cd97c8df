//go:build bindings

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// A server elsewhere runs the candidates, and a second run goes on from the database of the first one.
func TestRun_elsewhere(t *testing.T) {
	address, _ := serve(t)
	var out bytes.Buffer
	o := options{rows: 32, trials: 4, batch: 2, seed: 1, dir: t.TempDir(), device: address, limit: 20 * time.Second, out: &out}
	for before := range 2 {
		o.seed = int64(before)
		if err := run(t.Context(), o); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if !strings.Contains(out.String(), "results are right") {
			t.Errorf("no result:\n%s", &out)
		}
		database, err := openDatabase(o.dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := valid(t, database); n != 4*(before+1) {
			t.Errorf("after run %d the database has %d candidates that ran", before+1, n)
		}
	}
}

// A server that is gone ends the search. The candidates that it did not run are not recorded.
func TestRun_deviceGone(t *testing.T) {
	address, stop := serve(t)
	out := &watcher{text: "2/  40 ", found: stop}
	o := options{rows: 32, trials: 40, batch: 2, seed: 1, dir: t.TempDir(), device: address, limit: 20 * time.Second, out: out}
	err := run(t.Context(), o)
	var lost *rpc.ConnectionError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "the device cannot be reached: rpc: dial "+address) {
		t.Errorf("the error is %v", err)
	}
	database, err := openDatabase(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := ms.DatabaseSize(database); err != nil || n != 2 || valid(t, database) != 2 {
		t.Errorf("%d records, of which %d ran, %v; want 2", n, valid(t, database), err)
	}
	if err := run(t.Context(), o); !errors.As(err, &lost) {
		t.Errorf("another run: %v", err)
	}
}

// serve starts a server until the end of the test, or until stop.
func serve(t *testing.T) (address string, stop func()) {
	t.Helper()
	server, err := rpc.Listen(rpc.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(ctx)
	}()
	stop = func() {
		end()
		<-done
	}
	t.Cleanup(stop)
	return server.Addr().String(), stop
}
