package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// emitter gets the parts of a choice, and at last why the choice ends.
type emitter func(choice int, parts []part, finish string) error

// matchers returns a matcher for each choice of a request, nil for any text.
func (s *server) matchers(ctx context.Context, q *request) (all []*xgrammar.Matcher, err error) {
	first, err := s.matcher(ctx, q)
	all = make([]*xgrammar.Matcher, *q.N)
	if all[0] = first; first == nil {
		return all, err
	}
	for i := 1; i < *q.N && err == nil; i++ {
		all[i], err = first.Fork()
	}
	if err != nil {
		release(all)
	}
	return all, err
}

func release(all []*xgrammar.Matcher) {
	for _, m := range all {
		if m != nil {
			m.Release()
		}
	}
}

// writeAll writes all choices of a request at the same time, the first one in a session that is open. Each closes its session when it
// ends, and waits for one only while it has none, so requests that need more sessions than the model has do not wait for each
// other. The first error ends them all.
func (s *server) writeAll(ctx context.Context, q *request, first Session, matchers []*xgrammar.Matcher, emit emitter) (used usage, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var (
		mu   sync.Mutex // one part at a time
		all  sync.WaitGroup
		each = make([]usage, *q.N)
		errs = make([]error, *q.N)
	)
	write := func(i int, session Session) error {
		defer session.Close()
		one := func(parts []part, finish string) error {
			mu.Lock()
			defer mu.Unlock()
			return emit(i, parts, finish)
		}
		finish, used, err := s.write(ctx, q, i, session, matchers[i], func(parts []part) error { return one(parts, "") })
		if each[i] = used; err == nil {
			err = one(nil, finish)
		}
		return err
	}
	defer cancel(nil)
	for i := range *q.N {
		all.Go(func() {
			defer func() {
				if errs[i] != nil {
					cancel(errs[i])
				}
			}()
			protect(s.log, fmt.Sprintf("choice %d", i), &errs[i], func() (err error) {
				session := first
				if i > 0 {
					session, err = s.model.Open(ctx, q.chat())
				}
				if err == nil {
					err = write(i, session)
				}
				return err
			})
		})
	}
	all.Wait() // the matchers are released afterwards
	for _, u := range each {
		used.Prompt = max(used.Prompt, u.Prompt) // the same for all
		used.Completion += u.Completion
	}
	used.Total = used.Prompt + used.Completion
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return used, context.Cause(ctx) // the first one
	}
	return used, nil
}
