// Xgrammar_server is an HTTP server that writes text under a JSON schema, a regular expression
// or a grammar, with a small language model of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

func main() {
	l := defaults
	listen := flag.String("listen", "127.0.0.1:8080", "`address`; only this machine reaches the default")
	grace := flag.Duration("grace", 10*time.Second, "time for open requests after SIGTERM")
	flag.IntVar(&l.requests, "requests", l.requests, "requests that are answered at the same time")
	flag.IntVar(&l.tokens, "tokens", l.tokens, "tokens of one answer at most")
	flag.DurationVar(&l.time, "time", l.time, "time of one answer")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *listen, *grace, l); err != nil {
		fmt.Fprintln(os.Stderr, "xgrammar_server:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then lets open requests finish for the grace time.
func run(ctx context.Context, listen string, grace time.Duration, l limits) (err error) {
	if err := xgrammar.LoadChecked(); err != nil {
		return fmt.Errorf("%w\nrun \"go tool tvmffi-bind setup xgrammar\" once", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := newServer(newToy(), l, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.grammars.close(5*time.Second)) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
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
	late, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if h.Shutdown(late) == nil {
		return nil
	}
	log.Warn("open requests are ended", "after", grace)
	end(errStopping) // their clients see it
	last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(h.Shutdown(last), h.Close())
}
