package nativetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// Model runs a script by the Python of [TVM] with args and the name of a file that it writes, a compiled model, and
// returns that name. The model is made once for the script, its args and TVM, and kept in the cache.
func Model(t testing.TB, script string, args ...string) (path string) {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := find.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strings.Join(append(args, string(text), tvmRequirements), "\x00")))
	path = filepath.Join(cache, "models", hex.EncodeToString(sum[:8])+".so")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	unfinished := filepath.Join(t.TempDir(), "model.so")
	cmd := exec.CommandContext(t.Context(), TVM(t), append(append([]string{script}, args...), unfinished)...)
	if said, err := compiler.Run(cmd); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said)
	}
	model, err := os.ReadFile(unfinished)
	if err != nil {
		t.Fatal(err)
	}
	// Another test may make the same file: each writes its own, and the last name counts.
	if err := whole.Write(path, bytes.NewReader(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ModelFolder returns the folder of the cache that holds the files of a model. fill makes them in an empty folder if they are not
// there; inputs are what they are made of.
func ModelFolder(t testing.TB, name string, fill func(folder string), inputs ...[]byte) (path string) {
	t.Helper()
	cache, err := find.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bytes.Join(inputs, []byte{0}))
	path = filepath.Join(cache, "models", name+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	part, remove, err := whole.Folder(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = remove() }() // it was moved, or a failure says more
	fill(part)
	if err := os.Rename(part, path); err != nil {
		t.Fatal(err)
	}
	return path
}
