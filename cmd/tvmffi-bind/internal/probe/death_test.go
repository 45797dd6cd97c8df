package probe

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

func TestLastWords_partsThePanicOfTheRuntime(t *testing.T) {
	words := &lastWords{}
	for range 20 {
		if _, err := words.Write([]byte("noise\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := words.Write([]byte("terminate called\nSIGABRT: abort\nPC=0x1\nrax 0x0\n")); err != nil {
		t.Fatal(err)
	}
	said, fault := words.split()
	if fault != "SIGABRT: abort" || !strings.HasSuffix(said, "terminate called") || strings.Count(said, "\n") != console.LastWords-1 {
		t.Errorf("said %q, fault %q", said, fault)
	}
}
