package reflection_test

import (
	"context"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/schema"
)

// exportsOf reads a library once more, with a role, and returns how many of its exports
// the schema has.
func exportsOf(t *testing.T, path string, role schema.Role) (n int) {
	t.Helper()
	s, err := reflection.Read(context.Background(), []reflection.Source{library(nativetest.Library(t), schema.RoleCore), library(path, role)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Functions {
		if f.Source == schema.SourceModule {
			n++
		}
	}
	return n
}

// TestRead_dependency loads a dependency and does not list its exports.
func TestRead_dependency(t *testing.T) {
	load(t)
	garden := nativetest.Build(t, "garden")
	if n := exportsOf(t, garden, schema.RoleBound); n == 0 {
		t.Error("a bound library has no exports")
	}
	if n := exportsOf(t, garden, schema.RoleDependency); n != 0 {
		t.Errorf("%d exports of a dependency, want none", n)
	}
}

// TestRead_releases: what reading makes, it releases, and does not wait for the collector.
func TestRead_releases(t *testing.T) {
	load(t)
	garden := nativetest.Build(t, "garden")
	leaktest.Check(t)
	exportsOf(t, garden, schema.RoleBound)
}
