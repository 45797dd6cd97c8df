// Package server is an HTTP server with the chat completions of OpenAI. A language model writes, and XGrammar makes its
// answers follow JSON schemas and calls of tools.
package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// settings bound what the server does.
type settings struct {
	name      string // of the program: metrics begin with it, and it owns the model
	listen    string
	body      int64         // bytes of a request
	tokens    int           // of an answer
	requests  int           // that are answered at the same time
	time      time.Duration // from a request to the end of its answer
	write     time.Duration // a client that reads nothing for so long is gone
	drain     time.Duration // from SIGTERM, when the server is not ready any more, to the end of listening
	grace     time.Duration // for open requests after that
	isolation xgrammar.Isolation
}

var defaults = settings{
	name: "xgrammar_server", listen: "127.0.0.1:8080", body: 8 << 20, tokens: 1024, requests: 64, time: time.Minute, write: 10 * time.Second, grace: 10 * time.Second,
	isolation: xgrammar.Isolation{Processes: 2, MaxMemory: 1 << 30, MaxTime: 30 * time.Second},
}

// Main is the program: it reads the flags, opens the model, and serves until a signal ends it. A model that is an
// io.Closer is closed at the end.
func Main(name string, open func() (Model, error)) {
	xgrammar.Main() // does not return in the processes that try the schemas of clients
	s := defaults
	s.name = name
	flag.StringVar(&s.listen, "listen", s.listen, "`address`; only this machine reaches the default")
	flag.DurationVar(&s.drain, "drain", s.drain, "time after SIGTERM in which load balancers see that the server is not ready")
	flag.DurationVar(&s.grace, "grace", s.grace, "time for open requests after that")
	flag.IntVar(&s.requests, "requests", s.requests, "requests that are answered at the same time")
	flag.IntVar(&s.tokens, "tokens", s.tokens, "tokens of one answer at most")
	flag.DurationVar(&s.time, "time", s.time, "time of one answer")
	flag.IntVar(&s.isolation.Processes, "compilers", s.isolation.Processes, "processes that try schemas")
	flag.Int64Var(&s.isolation.MaxMemory, "compiler-memory", s.isolation.MaxMemory, "memory in `bytes` that one of the -compilers may take for schemas; only Linux enforces it")
	flag.DurationVar(&s.isolation.MaxTime, "compiler-time", s.isolation.MaxTime, "time that one of the -compilers may take for a schema")
	flag.Parse()
	if err := s.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(ctx, cancel) // from then on a signal ends the program
	if err := run(ctx, s, open); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// check refuses flags that make no sense.
func (s *settings) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q is not a flag, and flags behind it were not read", rest[0])
	}
	for _, flag := range []struct {
		name string
		n    int64
	}{{"requests", int64(s.requests)}, {"tokens", int64(s.tokens)}, {"time", int64(s.time)}, {"compilers", int64(s.isolation.Processes)}} {
		if flag.n < 1 {
			return fmt.Errorf("-%s must be greater than 0", flag.name)
		}
	}
	return nil
}

// run serves until ctx ends. Then the server is not ready; after the drain time it stops to listen, and after the grace
// time it ends requests that are still open.
func run(ctx context.Context, set settings, open func() (Model, error)) (err error) {
	if err := bind.LoadChecked(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	model, err := open()
	if err != nil {
		return err
	}
	if c, ok := model.(io.Closer); ok {
		defer c.Close()
	}
	s, err := newServer(model, set, log)
	if err != nil {
		return err
	}
	defer s.release()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", set.listen)
	if err != nil {
		return fmt.Errorf("-listen %s: %w", set.listen, err)
	}
	requests, end := context.WithCancelCause(context.Background())
	defer end(nil)
	h := &http.Server{
		Handler: s.handler(), BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, IdleTimeout: time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	log.Info("listening", "url", "http://"+listener.Addr().String())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping: a second signal ends the program at once")
	s.stopping.Store(true)
	time.Sleep(set.drain)
	late, cancel := context.WithTimeout(context.Background(), set.grace)
	defer cancel()
	if h.Shutdown(late) == nil {
		return nil
	}
	log.Warn("open requests are ended", "after", set.grace)
	end(errStopping) // their clients see it
	last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(h.Shutdown(last), h.Close())
}
