//go:build e2e

// Package known tests init with the known packages that are small. Package scripts/tvm has the others.
package known

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

func TestScripts(t *testing.T) {
	nativetest.StartsCompiler(t)
	for _, pkg := range []string{"apache-tvm-ffi-orcjit", "jax-tvm-ffi"} {
		nativetest.Pinned(t, pkg)
	}
	scripttest.Run(t)
}
