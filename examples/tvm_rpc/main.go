// The command tvm_rpc runs a kernel on another machine by the RPC of TVM. Without flags it is
// all parts at once, on the loopback interface: a tracker, a server and a client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func main() {
	rpc.Main(nil) // the process of a session does not come back from here
	log.SetFlags(0)
	var p parts
	role := flag.String("role", "all", "all, tracker, server, client, or summary of a tracker")
	flag.StringVar(&p.addr, "addr", "", "address of the tracker or the server to start, host:port; the default is a free port of 127.0.0.1")
	flag.StringVar(&p.tracker, "tracker", "", "address of the tracker, for a server and a client")
	flag.StringVar(&p.key, "key", "cpu", "key under which the server registers")
	flag.BoolVar(&p.verbose, "v", false, "show the log of the server, and what its sessions print")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("%q is not a flag: -role takes the part to play", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := p.run(ctx, *role)
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// parts are the parts of the program, by what the flags say.
type parts struct {
	addr, tracker, key string
	verbose            bool
}

func (p parts) run(ctx context.Context, role string) error {
	switch role {
	case "all":
		return p.all(ctx)
	case "tracker":
		t, err := rpc.ListenTracker(rpc.TrackerConfig{Addr: p.addr})
		if err != nil {
			return err
		}
		fmt.Println("the tracker is at", t.Addr())
		return t.Serve(ctx)
	case "server":
		s, err := rpc.Listen(p.server())
		if err != nil {
			return err
		}
		fmt.Println("the server is at", s.Addr())
		return s.Serve(ctx)
	case "client":
		return client(ctx, p.tracker, p.key)
	case "summary":
		s, err := (&rpc.TrackerClient{Addr: p.tracker}).Summary(ctx)
		fmt.Print(s)
		return err
	}
	return fmt.Errorf("the role %q is not all, tracker, server, client or summary", role)
}

// server returns the configuration of the server.
func (p parts) server() rpc.Config {
	c := rpc.Config{Addr: p.addr, Key: p.key, Tracker: p.tracker, MaxSessions: 2}
	if c.Tracker == "" {
		c.Key = "" // clients come without a tracker
	}
	if !p.verbose {
		c.Logger = slog.New(slog.DiscardHandler)
		c.Output = io.Discard
	}
	return c
}

// all starts a tracker and a server, is a client, and ends both.
func (p parts) all(ctx context.Context) error {
	tracker, err := rpc.ListenTracker(rpc.TrackerConfig{Logger: p.server().Logger})
	if err != nil {
		return err
	}
	p.tracker, p.addr = tracker.Addr().String(), ""
	server, err := rpc.Listen(p.server())
	if err != nil {
		return errors.Join(err, tracker.Close())
	}
	fmt.Println("the tracker is at", tracker.Addr())
	fmt.Println("the server is at", server.Addr())
	ctx, stop := context.WithCancel(ctx)
	results := make(chan error)
	go func() { results <- ended(tracker.Serve(ctx)) }()
	go func() { results <- ended(server.Serve(ctx)) }()
	go func() { results <- client(ctx, p.tracker, p.key) }()
	err = <-results // the client is ready, or a part has failed: the others end
	stop()
	return errors.Join(err, <-results, <-results)
}

// ended is the error of a part that was to end.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
