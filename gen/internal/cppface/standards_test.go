//go:build e2e

package cppface

import "testing"

func TestWrite_everyKindInCpp20(t *testing.T) { writeEveryKind(t, "c++20") }
