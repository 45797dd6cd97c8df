//go:build flashinfer

package native_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestCUDA_package compiles with the nvcc of Python packages, which is found as in the
// virtual environment of a user.
func TestCUDA_package(t *testing.T) {
	environment, _ := nativetest.FlashInfer(t)
	fresh(t)
	t.Setenv("CUDA_HOME", "")
	t.Setenv("CUDA_PATH", "")
	t.Setenv("VIRTUAL_ENV", environment)
	compileCUDA(t)
}
