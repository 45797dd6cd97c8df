// Package start tests the first steps of a user: a library built, bound, and used by a program.
package start

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

func TestScripts(t *testing.T) { scripttest.Run(t) }
