package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
)

// difference is an item that the loaded library has otherwise than the bindings expect, or
// not at all. It is the cause of the error for that item.
type difference struct {
	item, want, got string
	cause           error
}

// Error returns one line of the error of Check.
func (d *difference) Error() string { return d.item + ": expected " + d.want + ", found " + d.got }

// Unwrap returns the cause.
func (d *difference) Unwrap() error { return d.cause }

// differs returns the error for a single item.
func differs(kind, message string, d *difference) error {
	return failure.NewFailure(failure.Failure{Kind: kind, Message: message, FailureState: failure.FailureState{Cause: d}})
}

// Check compares all items, which are *Func, *Type or *Field, with the loaded library, and
// reports all differences in one error. A type that is missing stands for its members. The
// library must be loaded.
func Check(l *libraries.Library, items ...any) error {
	var lines []string
	var errs []error
	missing := map[*Type]bool{}
	for _, item := range items {
		err := resolve(item, missing)
		if err == nil {
			continue
		}
		errs = append(errs, err)
		line := failure.Message(err)
		if d, ok := errors.AsType[*difference](err); ok {
			line = d.Error()
		}
		lines = append(lines, "\n  "+line)
	}
	if errs == nil {
		return nil
	}
	text := fmt.Sprintf("%d of %d items of the bindings of %s do not fit: %s%s", len(errs), len(items), l.Name(), l.Lacks(), strings.Join(lines, ""))
	return failure.NewFailure(failure.Failure{Kind: failure.KindSchema, Message: text, FailureState: failure.FailureState{Cause: errors.Join(errs...)}})
}

// resolve finds one item. It notes a type that is missing, and reports no members of it.
func resolve(item any, missing map[*Type]bool) error {
	switch x := item.(type) {
	case *Type:
		_, err := x.Info()
		missing[x] = err != nil
		return err
	case *Field:
		if missing[x.Owner] {
			return nil
		}
		_, err := x.find()
		return err
	case *Func:
		if missing[x.Owner] {
			return nil
		}
		return x.Resolve()
	}
	return failure.Errorf(failure.KindType, "%T cannot be checked", item)
}
