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
	"runtime"
	"syscall"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/model"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/web"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

// settings are the flags.
type settings struct {
	listen   string
	linger   time.Duration
	grace    time.Duration
	verbose  bool
	engine   engine.Options
	web      web.Limits
	grammars grammar.Limits
}

func parse(args []string) (settings, error) {
	s := settings{engine: engine.DefaultOptions(), web: web.DefaultLimits(), grammars: grammar.DefaultLimits()}
	f := flag.NewFlagSet("xgrammar_server", flag.ContinueOnError)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "address; only this machine reaches the default")
	f.DurationVar(&s.linger, "linger", 0, "time between a failing /readyz and the end of listening, for load balancers")
	f.DurationVar(&s.grace, "grace", 10*time.Second, "time for open requests after SIGTERM")
	f.BoolVar(&s.verbose, "v", false, "log each request")
	f.IntVar(&s.engine.Batch, "batch", s.engine.Batch, "texts that are written at the same time")
	f.IntVar(&s.engine.Queue, "queue", s.engine.Queue, "texts that wait for a place in the batch")
	f.IntVar(&s.engine.Draft, "draft", s.engine.Draft, "tokens that the model may propose ahead; 0 for none")
	f.BoolVar(&s.engine.Jump, "jump", s.engine.Jump, "write forced text without the model")
	f.IntVar(&s.engine.Threads, "threads", max(1, runtime.NumCPU()/2), "threads that fill masks")
	f.IntVar(&s.web.Requests, "requests", s.web.Requests, "requests that are answered at the same time")
	f.IntVar(&s.web.Tokens, "tokens", s.web.Tokens, "tokens of one answer at most")
	f.DurationVar(&s.web.Time, "time", s.web.Time, "time of one answer")
	f.IntVar(&s.grammars.Nesting, "nesting", s.grammars.Nesting, "levels of a schema")
	f.IntVar(&s.grammars.CacheEntries, "cache", s.grammars.CacheEntries, "compiled grammars that are kept")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; xgrammar_server takes flags only", f.Arg(0))
	}
	return s, nil
}

func main() {
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "xgrammar_server:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then lets open requests finish for the grace time.
func run(ctx context.Context, s settings) (err error) {
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if err := xgrammar.LoadChecked(); err != nil {
		return fmt.Errorf("%w\nrun \"go run ./cmd/tvmffi-bind setup xgrammar\" once", err)
	}
	m := model.New()
	compiler, err := grammar.NewCompiler(m.Vocabulary(), int64(m.Stop()), s.grammars)
	if err != nil {
		return err
	}
	defer func() {
		late, cancel := context.WithTimeout(context.Background(), s.grammars.Compile)
		defer cancel()
		err = errors.Join(err, compiler.Close(late))
	}()
	e, err := engine.New(m, s.engine)
	if err != nil {
		return err
	}
	defer e.Close()
	server := web.New(e, compiler, len(m.Vocabulary()), s.web, s.grammars, log)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	h := &http.Server{
		Handler: server.Handler(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, IdleTimeout: time.Minute,
		WriteTimeout: s.web.Time + s.web.Write, MaxHeaderBytes: 16 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(listener) }()
	log.Info("listening", "url", "http://"+listener.Addr().String(), "vocabulary", len(m.Vocabulary()))
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	server.Stop()
	active, waiting := e.Load()
	log.Info("stopping", "texts", active+waiting, "linger", s.linger, "grace", s.grace)
	time.Sleep(s.linger)
	grace, cancel := context.WithTimeout(context.Background(), s.grace)
	defer cancel()
	if err := h.Shutdown(grace); err != nil {
		log.Warn("open requests are ended", "error", err)
		e.Close() // ends their texts with an error that the clients see
		last, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.Shutdown(last)
		_ = h.Close()
	}
	log.Info("stopped")
	return nil
}
