package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// batched is a toy that steps several sessions at once.
type batched struct {
	*toy
	most   int
	before func(all []*Step) // is called for each step, which it may fail
}

func (b *batched) Batch() int { return b.most }

func (b *batched) StepAll(all []*Step) {
	if b.before != nil {
		b.before(all)
	}
	for _, s := range all {
		if s.Err == nil {
			s.Scores, s.Err = s.Session.(*toySession).Step(context.Background(), s.Tokens...)
		}
	}
}

// TestBatch: at the same time, each request has the answer that it has alone, and steps have several of them.
func TestBatch(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	var want []string
	const seeds = 3
	_, alone := startModel(t, newToy(), defaults)
	for n := range seeds * len(formats) {
		text, _, err := ask(t.Context(), alone, n, n)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, text)
	}
	several := 0
	m := &batched{toy: newToy(), most: 5}
	s, url := startModel(t, m, defaults)
	first := true
	m.before = func(all []*Step) {
		if len(all) > 1 {
			several++
		}
		// The first step lasts until two others wait, however slow the machine is. They are in the next step.
		for ; first; runtime.Gosched() {
			s.line.mu.Lock()
			first = len(s.line.waiting) < 2
			s.line.mu.Unlock()
		}
	}
	var clients sync.WaitGroup
	for n, want := range want {
		clients.Go(func() {
			if text, _, err := ask(t.Context(), url, n, n); err != nil || text != want {
				t.Errorf("%d: %q %v, alone it is %q", n, text, err, want)
			}
		})
	}
	clients.Wait()
	if several == 0 {
		t.Error("no step had several sessions")
	}
}

// player is a session that is written by hand.
type player struct {
	*turn
	name string
	got  error
	gone bool // got is the result
}

// game is a line whose model waits for the end of each step, and has the names of all sessions in a step.
type game struct {
	*line
	steps []string
	end   chan struct{}
	fate  map[string]func(*Step) // of sessions in the next step
	all   map[Session]*player
	log   bytes.Buffer
}

func (g *game) StepAll(all []*Step) {
	var names []string
	for _, s := range all {
		names = append(names, g.all[s.Session].name)
	}
	g.steps = append(g.steps, strings.Join(names, " "))
	<-g.end
	for _, s := range all {
		if fate := g.fate[g.all[s.Session].name]; fate != nil {
			fate(s)
		} else {
			s.Scores = []float32{1}
		}
	}
}

// gameModel has the methods of a model that a line does not call.
type gameModel struct {
	Model
	*game
}

func (gameModel) Batch() int { return 4 }

func newGame() *game {
	g := &game{end: make(chan struct{}), fate: map[string]func(*Step){}, all: map[Session]*player{}}
	g.line = &line{model: gameModel{nil, g}, log: slog.New(slog.NewTextHandler(&g.log, nil)), seen: func(int) {}}
	return g
}

func (g *game) player(name string) *player {
	s := &toySession{}
	p := &player{turn: newTurn(g.line, s), name: name}
	g.all[s] = p
	return p
}

// wait takes the scores, in a goroutine.
func (p *player) wait(ctx context.Context) {
	p.gone = false
	go func() {
		_, p.got = p.scores(ctx)
		p.gone = true
	}()
	synctest.Wait()
}

// step ends the step that runs.
func (g *game) step() {
	g.end <- struct{}{}
	synctest.Wait()
}

// play plays a game, and compares its steps.
func play(t *testing.T, want string, f func(t *testing.T, g *game, a, b, c *player)) {
	synctest.Test(t, func(t *testing.T) {
		g := newGame()
		f(t, g, g.player("a"), g.player("b"), g.player("c"))
		synctest.Wait()
		if got := strings.Join(g.steps, ", "); got != want {
			t.Errorf("the steps are %s, expected %s", got, want)
		}
		if g.running || g.choosing != 0 || len(g.waiting) > 0 {
			t.Errorf("at the end %v, %d choose, %d wait", g.running, g.choosing, len(g.waiting))
		}
	})
}

// TestLine: all that wait when a step ends are in the next one, after those that have scores have chosen.
func TestLine(t *testing.T) {
	ctx := context.Background()
	play(t, "a, b c, a b c", func(t *testing.T, g *game, a, b, c *player) {
		a.next()
		synctest.Wait()
		b.next() // while a steps
		c.next()
		g.step()
		a.wait(ctx) // a comes when the step of b and c has begun
		b.wait(ctx)
		c.wait(ctx)
		a.next(1)
		g.step()
		b.next(1) // c chooses
		synctest.Wait()
		if len(g.steps) != 2 || !b.gone || !c.gone {
			t.Errorf("a step began while c chose: %q", g.steps)
		}
		c.next(1)
		synctest.Wait()
		g.step()
		for _, p := range []*player{a, b, c} {
			p.leave()
		}
	})
	// Nobody waits for a, whose client reads slowly, nor for one that leaves.
	play(t, "a, b c, b, a b", func(t *testing.T, g *game, a, b, c *player) {
		a.next()
		synctest.Wait()
		b.next()
		c.next()
		g.step()
		b.wait(ctx)
		c.wait(ctx)
		g.step()
		b.next(1)
		c.leave()
		synctest.Wait()
		b.wait(ctx)
		a.wait(ctx)
		a.next(1)
		g.step()
		b.next(2)
		synctest.Wait()
		g.step()
		a.leave()
		b.leave()
	})
	// A step has at most so many, and the others are in the next one.
	play(t, "a, b c d e, f", func(t *testing.T, g *game, a, b, c *player) {
		all := []*player{a, b, c, g.player("d"), g.player("e"), g.player("f")}
		for _, p := range all {
			p.next()
			synctest.Wait()
		}
		g.step()
		g.step()
		g.step()
		for _, p := range all {
			p.leave()
		}
	})
}

// TestLine_others: an error, a cancelled request, and one that leaves in a step, touch no other one.
func TestLine_others(t *testing.T) {
	ctx := context.Background()
	failed := errors.New("failed")
	play(t, "a b c, b c", func(t *testing.T, g *game, a, b, c *player) {
		g.choosing++ // all three come before the first step
		for _, p := range []*player{a, b, c} {
			p.next()
			p.wait(ctx)
		}
		g.mu.Lock()
		g.choosing--
		g.start()
		g.mu.Unlock()
		synctest.Wait()
		g.fate["a"] = func(s *Step) { s.Err = failed }
		g.step()
		if a.got != failed || b.got != nil || c.got != nil {
			t.Errorf("the errors are %v, %v, %v", a.got, b.got, c.got)
		}
		a.leave()
		b.next(1)
		c.next(1)
		synctest.Wait()
		g.step()
		b.leave()
		c.leave()
	})
	// b is cancelled while it waits, and c in its step.
	play(t, "a, c, a", func(t *testing.T, g *game, a, b, c *player) {
		a.next()
		synctest.Wait()
		b.next()
		c.next()
		for _, p := range []*player{b, c} {
			ctx, cancel := context.WithCancelCause(ctx)
			p.wait(ctx)
			defer cancel(nil)
			if p == b {
				cancel(failed)
				synctest.Wait()
				b.leave()
				g.step()
				a.wait(context.Background())
				a.next(1)
				continue
			}
			cancel(failed)
			synctest.Wait()
			left := false
			go func() { c.leave(); left = true }()
			synctest.Wait()
			if left {
				t.Error("c left before the end of its step")
			}
			g.step()
			if !left {
				t.Error("c did not leave after its step")
			}
		}
		if b.got != failed || c.got != failed {
			t.Errorf("the errors are %v and %v", b.got, c.got)
		}
		g.step()
		a.leave()
	})
	// a needs three steps, and leaves in the second.
	play(t, "a, a b, b", func(t *testing.T, g *game, a, b, c *player) {
		g.fate["a"] = func(s *Step) {}
		stopped, cancel := context.WithCancelCause(ctx)
		a.next(1)
		a.wait(stopped)
		b.next()
		b.wait(ctx)
		g.step()
		cancel(failed)
		synctest.Wait()
		go a.leave()
		synctest.Wait()
		g.step()
		if a.got != failed || b.got != nil || !b.gone || a.state != idle {
			t.Errorf("b: %v, a is in state %v", b.got, a.state)
		}
		b.next()
		synctest.Wait()
		g.step()
		b.leave()
	})
}

// TestBatch_error: one session of a step fails, and the request of the other one goes on.
func TestBatch_error(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	m := &batched{toy: newToy(), most: 8}
	both := make(chan struct{}, 2)
	m.before = func(all []*Step) {
		for _, s := range all {
			if slices.Contains(s.Session.(*toySession).text, m.number["X"]) {
				s.Err = TooLong(9, 8)
			}
		}
	}
	_, url := startModel(t, m, defaults)
	for range 2 {
		go func() {
			defer func() { both <- struct{}{} }()
			status, text, err := send(t.Context(), url, `{"model": "toy", "max_tokens": 100, "messages": [{"role": "user", "content": "X"}]}`)
			if err != nil || status != http.StatusBadRequest || !strings.Contains(text, `"context_length_exceeded"`) {
				t.Errorf("%d %s %v", status, text, err)
			}
		}()
		if _, _, err := ask(t.Context(), url, 0, 1); err != nil {
			t.Error(err)
		}
	}
	<-both
	<-both
}
