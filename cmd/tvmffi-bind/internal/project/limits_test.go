package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestReadConfig_limits reads files on which the YAML parser alone would take gigabytes or
// minutes.
func TestReadConfig_limits(t *testing.T) {
	var keys strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&keys, "  garden.f%d: F\n", i)
	}
	file := filepath.Join(t.TempDir(), ConfigName)
	for _, c := range []struct{ name, text, want string }{
		{"lists", strings.Repeat("[", 200_000), ":1:33: lists and mappings nest deeper than 32 levels"},
		{"mappings", "package: x\n" + strings.Repeat("{a: ", 50_000), ":2:129: lists and mappings nest"},
		{"entries", strings.Repeat("- ", 100_000), ":1:65: lists and mappings nest"},
		{"keys", "rename:\n" + keys.String(), "tvmffi.yaml has more than 262144 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err := ReadConfig(file)
			if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if took := time.Since(start); took > nativetest.Patience(10*time.Second) {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestReadConfig_deepEnough(t *testing.T) {
	file := filepath.Join(t.TempDir(), ConfigName)
	text := "package: x # [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\nout: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[['\n" +
		"kernels: [{spec: f(), args: [\"[\", \"{\"]}]\nskip:\n" + strings.Repeat("  - a.b\n", 1000)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(file); err != nil {
		t.Error(err)
	}
}

func TestReadLock_limit(t *testing.T) {
	file := filepath.Join(t.TempDir(), LockName)
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(maxLockLen + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(file); err == nil || !strings.Contains(err.Error(), "has more than") {
		t.Errorf("error %v, want one about the size", err)
	}
}
