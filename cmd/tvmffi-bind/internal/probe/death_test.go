package probe

import (
	"errors"
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

// TestDeath: the error has the fault and the last words where there are any, and the advice for what the process did.
func TestDeath(t *testing.T) {
	const (
		library  = `the library ended the process: check that it fits this version of libtvm_ffi`
		function = "the function ended the process: check its arguments"
	)
	ended := errors.New("exit status 2")
	for _, c := range []struct{ doing, said, begins, advice string }{
		{"loading libx.so", "", "the process that loads libraries died while loading libx.so: exit status 2\n", library},
		{"loading libx.so", "wrong\nSIGSEGV: segmentation violation\nPC=0x1\n", "the process that loads libraries died while loading libx.so: exit status 2 (SIGSEGV: segmentation violation); its last words:\n  wrong\n", library},
		{calling + "f", "wrong\n", "the process that loads libraries died while calling f: exit status 2; its last words:\n  wrong\n", function},
	} {
		err := error(newDeath(c.doing, ended, &lastWords{[]byte(c.said)}))
		if text := err.Error(); !errors.Is(err, ended) || !strings.HasPrefix(text, c.begins+c.advice) {
			t.Errorf("%s: %q, want %q", c.doing, text, c.begins+c.advice)
		}
	}
}
