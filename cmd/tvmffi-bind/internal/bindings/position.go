package bindings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
)

// positioned puts file, line and column in front of each error of the generator that is
// about an entry of the configuration or of a names file.
func positioned(c *project.Config, err error) error {
	if c.File() == "" {
		return err
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var located []error
		for _, e := range all.Unwrap() {
			located = append(located, positioned(c, e))
		}
		return errors.Join(located...)
	}
	if e, ok := err.(*gen.ConfigError); ok {
		if e.Path[0] == "names" {
			return fmt.Errorf("%s: %w", c.WhereNamed(e.Path[1], e.Path[2:]), e.Err)
		}
		path := "$"
		for _, key := range e.Path {
			path += ".'" + strings.ReplaceAll(key, "'", "\\'") + "'"
		}
		return fmt.Errorf("%s: %w", c.Where(path), err)
	}
	if inner := errors.Unwrap(err); inner != nil && hasPosition(inner) {
		return positioned(c, inner)
	}
	return err
}

// hasPosition reports whether an error is about an entry of the configuration.
func hasPosition(err error) bool {
	_, ok := errors.AsType[*gen.ConfigError](err)
	return ok
}
