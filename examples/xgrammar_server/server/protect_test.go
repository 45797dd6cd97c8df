package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// crashes are ways in which a model ends without an error, and what the log says of them.
var crashes = map[string]func(){
	"panicked: oh":        func() { panic("oh") },
	"panicked: panic":     func() { panic(any(nil)) },
	"ended its goroutine": runtime.Goexit,
}

// TestLine_crash: a step that crashes is the error of its sessions, the log has where, and the line goes on.
func TestLine_crash(t *testing.T) {
	for how, crash := range crashes {
		play(t, "a b, a", func(t *testing.T, g *game, a, b, c *player) {
			crashing := func(*Step) { crash() }
			g.fate["b"] = crashing
			g.choosing++ // both come before the first step
			for _, p := range []*player{a, b} {
				p.next()
				p.wait(context.Background())
			}
			g.mu.Lock()
			g.choosing--
			g.start()
			g.mu.Unlock()
			g.step()
			for _, p := range []*player{a, b} {
				if !strings.HasPrefix(fmt.Sprint(p.got), "a step of the model "+how) {
					t.Errorf("%s: the error is %v", how, p.got)
				}
			}
			if log := g.log.String(); !strings.Contains(log, "TestLine_crash.func") || strings.Count(log, "\n") != 1 {
				t.Errorf("%s: the log has %s", how, log)
			}
			b.leave()
			a.next()
			a.wait(context.Background())
			g.step()
			if a.got != nil {
				t.Errorf("%s: then it is %v", how, a.got)
			}
			a.leave()
		})
	}
}

// crasher is a toy of which one method crashes, in the session with a number.
type crasher struct {
	*toy
	method string
	number int32
	crash  func()
	opened atomic.Int32
}

type crashSession struct {
	Session
	*crasher
	number int32
}

func (c *crasher) at(method string, number int32) {
	if method == c.method && number == c.number {
		c.crash()
	}
}

func (c *crasher) Open(ctx context.Context, chat Chat) (Session, error) {
	s, err := c.toy.Open(ctx, chat)
	number := c.opened.Add(1)
	c.at("Open", number)
	return crashSession{s, c, number}, err
}

func (s crashSession) Len() int {
	s.at("Len", s.number)
	return s.Session.Len()
}

func (s crashSession) Step(ctx context.Context, tokens ...int32) ([]float32, error) {
	s.at("Step", s.number)
	return s.Session.Step(ctx, tokens...)
}

func (s crashSession) Close() { s.at("Close", s.number) }

// TestCrash: whichever method of a model crashes, in whichever choice, the client has an error, the log has where, and the server goes on.
func TestCrash(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	m := &crasher{toy: newToy()}
	var log bytes.Buffer
	s, err := newServer(m, defaults, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	h := httptest.NewServer(s.handler())
	defer h.Close()
	for how, crash := range crashes {
		for _, method := range []string{"Open", "Len", "Step", "Close"} {
			for number := range int32(4) { // two requests of two choices
				m.method, m.number, m.crash = method, number+1, crash
				m.opened.Store(0)
				log.Reset()
				for request, members := range []string{`"n": 2, "max_tokens": 2`, `"n": 2, "max_tokens": 2, "stream": true`} {
					status, text, err := post(t.Context(), h.URL, members)
					failed := strings.Contains(text, `{"error":{"message":"an error that the log of the server has","type":"server_error","param":null,"code":"internal"}}`)
					if err != nil || failed != (int(number)/2 == request) || request == 0 && failed != (status == http.StatusInternalServerError) {
						t.Errorf("%s in session %d, %s, request %d: %d %s %v", method, number, how, request, status, text, err)
					}
				}
				if !strings.Contains(log.String(), how) || !strings.Contains(log.String(), "crasher).at") {
					t.Errorf("%s in session %d, %s: the log has %s", method, number, how, log.String())
				}
			}
		}
	}
}
