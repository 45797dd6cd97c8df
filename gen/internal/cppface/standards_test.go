//go:build e2e

package cppface

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestWrite_everyKindInCpp20 uses clang++ where it is installed: it also checks the branches of templates that nothing takes.
func TestWrite_everyKindInCpp20(t *testing.T) { writeEveryKind(t, nativetest.Clang, "c++20") }
