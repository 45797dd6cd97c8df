package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tvmffi-bind": main})
}

// TestScripts runs the scripts of single commands. Those of journeys are in the folder scripts.
func TestScripts(t *testing.T) { scripttest.RunMain(t) }
