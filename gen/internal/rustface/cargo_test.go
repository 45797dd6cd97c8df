//go:build e2e

package rustface

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestRust checks that the crate of everything compiles without a warning of rustc,
// rustdoc and clippy, and that rustfmt leaves it as it is.
func TestRust(t *testing.T) {
	// cargo may exist and not run, because rustup keeps the compilers in the home folder.
	if out, err := exec.Command("cargo", "--version").CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		t.Skipf("cargo does not run: %v: %s", err, line)
	}
	cache, err := find.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rustface")
	lock, err := os.ReadFile(filepath.FromSlash("../../../examples/go_library/testdata/rust/Cargo.lock"))
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Split(strings.Replace(string(lock), `"golib"`, `"all"`, 1), "\n\n") // the same crates, without the program
	packages = slices.DeleteFunc(packages, func(p string) bool { return strings.Contains(p, `"golibrary"`) })
	for _, f := range append(Write(everything(), "v0", ""), face.File{Path: "Cargo.lock", Content: []byte(strings.Join(packages, "\n\n"))}) {
		file := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := [][]string{{"check", "--locked"}, {"doc", "--no-deps", "--locked"}}
	if _, err := exec.LookPath("cargo-clippy"); err == nil {
		commands = append(commands, []string{"clippy", "--locked"})
	}
	if _, err := exec.LookPath("cargo-fmt"); err == nil {
		commands = append(commands, []string{"fmt", "--check"})
	}
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), "cargo", append(args, "--quiet")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RUSTFLAGS=-Dwarnings", "RUSTDOCFLAGS=-Dwarnings",
			"PATH="+filepath.Dir(nativetest.Python(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("cargo %s: %v\n%s", args[0], err, out)
		}
	}
}
