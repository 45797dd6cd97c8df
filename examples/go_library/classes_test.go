package golibrary

import (
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestClasses uses opaque types, constructors, properties and enums from Python.
func TestClasses(t *testing.T) {
	library := consumer.Shared(t, "examples/go_library/testdata/classes/libclasses")
	python := nativetest.Python(t)
	run(t, nil, python, filepath.Join("testdata", "classes.py"), "construct,identity,subclass,refused,closed,ended,threads,enums", library)
}
