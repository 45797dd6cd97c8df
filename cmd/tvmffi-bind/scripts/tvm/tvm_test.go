//go:build known

// Package tvm tests init with the known packages that are large, TVM and its relatives.
package tvm

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

// TestScripts gets 230 MB once.
func TestScripts(t *testing.T) {
	for _, pkg := range []string{"apache-tvm", "apache-tvm-tirx", "tilelang", "z3-solver"} {
		nativetest.Pinned(t, pkg)
	}
	for _, version := range []string{"0.1.12", "0.1.14.post1"} { // of libtvm_ffi, for tilelang and for TVM
		nativetest.Wheel(t, version)
	}
	scripttest.Run(t)
}
