//go:build e2e

package guides

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

// TestScripts runs the first steps of a user: a library built, bound, and used by a program.
func TestScripts(t *testing.T) { scripttest.Run(t) }
