// Package gen tests gen and the commands for schemas.
package gen

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

func TestScripts(t *testing.T) { scripttest.Run(t) }
