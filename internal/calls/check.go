package calls

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
)

// Check compares all items, which are *Func, *Type or *Field, with the loaded library, and
// reports all differences in one error. A type that is missing stands for its members. The
// library must be loaded.
func Check(l *libraries.Library, items ...any) error {
	var lines []string
	var errs []error
	missing := map[*fields.Type]bool{}
	for _, item := range items {
		err := resolve(item, missing)
		if err == nil {
			continue
		}
		errs = append(errs, err)
		line := failure.Message(err)
		if d, ok := errors.AsType[*fields.Difference](err); ok {
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
func resolve(item any, missing map[*fields.Type]bool) error {
	switch x := item.(type) {
	case *fields.Type:
		_, err := x.Info()
		missing[x] = err != nil
		return err
	case *fields.Field:
		if missing[x.Owner] {
			return nil
		}
		_, err := x.Info()
		return err
	case *Func:
		if missing[x.Owner] {
			return nil
		}
		return x.Resolve()
	}
	return failure.Errorf(failure.KindType, "%T cannot be checked", item)
}
