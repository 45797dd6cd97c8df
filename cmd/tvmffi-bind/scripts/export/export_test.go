//go:build e2e

// Package export tests export and typed kernels.
package export

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

func TestScripts(t *testing.T) { scripttest.Run(t) }
