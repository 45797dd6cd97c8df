package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// Batcher is a model that takes a step of several sessions at once. The server takes all steps of such a model by StepAll, from
// one goroutine at a time, and calls no Session.Step.
type Batcher interface {
	Model
	// Batch returns how many sessions a step has at most.
	Batch() int
	// StepAll takes a step of each session. A session that fails has its error in its Step, and the others go on; a panic fails all. It should take
	// as long for many sessions as for one: what needs more, such as a long chat, takes several steps.
	StepAll(all []*Step)
}

// Step is the part of a session in a step of a [Batcher].
type Step struct {
	Session Session
	// Tokens are added. The first step of a session adds none, and neither does one after a step without scores.
	Tokens []int32
	// Scores are the result, as of Session.Step: they are valid until the next step of this session. Without scores and
	// without an error the session is in the next step again.
	Scores []float32
	// Err is the error of this session.
	Err error
}

// line is where sessions wait for a step of a model. All that wait when a step ends are in the next one. No step begins while
// somebody chooses a token by the scores of the last one: that takes no longer than the processor needs, so sessions that
// began a step together stay together. A session whose client reads slowly is not waited for.
type line struct {
	model Batcher
	log   *slog.Logger
	seen  func(sessions int) // is called for each step

	mu       sync.Mutex
	waiting  []*turn
	choosing int  // turns in this state
	running  bool // a goroutine takes steps
}

// turn is a session that is written, in its line. One goroutine at a time calls its methods.
type turn struct {
	line *line // nil if the model steps each session alone
	step Step

	// The mutex of the line guards these.
	state  state
	wanted bool          // somebody waits in scores
	ready  chan struct{} // has room for one; full when a step is ready
}

type state int

const (
	idle     state = iota // the session needs no step
	waiting               // it is in the line
	stepping              // it is in a step
	leaving               // the same, and somebody waits in leave
	ready                 // the step has ended
	choosing              // and its result was taken
)

func newTurn(l *line, s Session) *turn {
	return &turn{line: l, step: Step{Session: s}, ready: make(chan struct{}, 1)}
}

// next asks for a step with tokens, and does not wait for it.
func (t *turn) next(tokens ...int32) {
	t.step = Step{Session: t.step.Session, Tokens: tokens}
	if t.line == nil {
		return
	}
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	t.idle()
	t.state = waiting
	t.line.waiting = append(t.line.waiting, t)
	t.line.start()
}

// scores waits for the step, and returns its result. Until then, the caller does what needs no scores. From then on others
// wait until the caller calls next or leave.
func (t *turn) scores(ctx context.Context) ([]float32, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if t.line == nil {
		return t.step.Session.Step(ctx, t.step.Tokens...)
	}
	t.line.mu.Lock()
	if t.wanted = true; t.state == ready {
		t.choose()
	}
	t.line.mu.Unlock()
	select {
	case <-t.ready:
		return t.step.Scores, t.step.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// leave ends the turn. Afterwards no step uses the session.
func (t *turn) leave() {
	if t.line == nil {
		return
	}
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	if t.state == stepping {
		t.state = leaving
		t.line.mu.Unlock()
		<-t.ready
		t.line.mu.Lock()
	}
	t.idle()
	t.line.start()
}

// idle takes the turn out of its line. The session is in no step.
func (t *turn) idle() {
	switch t.state {
	case waiting:
		t.line.waiting = slices.DeleteFunc(t.line.waiting, func(other *turn) bool { return other == t })
	case choosing:
		t.line.choosing--
	}
	t.state = idle
}

// choose counts the turn among those that others wait for.
func (t *turn) choose() {
	t.state, t.wanted = choosing, false
	t.line.choosing++
}

// start takes steps until nobody waits, or somebody chooses, who will start again.
func (l *line) start() {
	if !l.running && l.may() {
		l.running = true
		go l.run()
	}
}

// may reports whether a step may begin.
func (l *line) may() bool { return l.choosing == 0 && len(l.waiting) > 0 }

func (l *line) run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.may() {
		now := slices.Clone(l.waiting[:min(len(l.waiting), l.model.Batch())])
		l.waiting = l.waiting[len(now):]
		all := make([]*Step, len(now))
		for i, t := range now {
			t.state, all[i] = stepping, &t.step
		}
		l.mu.Unlock()
		l.stepAll(all)
		l.mu.Lock()
		var again []*turn
		for _, t := range now {
			if t.state == stepping && t.step.Scores == nil && t.step.Err == nil {
				t.step.Tokens, t.state, again = nil, waiting, append(again, t)
				continue
			}
			if t.state = ready; t.wanted {
				t.choose()
			}
			t.ready <- struct{}{}
		}
		l.waiting = append(again, l.waiting...)
	}
	l.running = false
}

// stepAll takes a step. A panic of the model is the error of all sessions in it.
func (l *line) stepAll(all []*Step) {
	l.seen(len(all))
	if err := apart(l.log, "a step of the model", func() error { l.model.StepAll(all); return nil }); err != nil {
		for _, s := range all {
			s.Scores, s.Err = nil, err
		}
	}
}
