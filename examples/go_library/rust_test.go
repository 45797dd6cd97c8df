package golibrary

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestRust builds the crate of the library and a Rust program that uses it, with the
// published crate tvm-ffi.
func TestRust(t *testing.T) {
	r := newRust(t, "rust")
	exported(t, "golib")
	file := filepath.Join(r.dir, "golib", "libgolib.so")
	program := r.build("golibrary")
	r.part(program, "use")
	for range 20 {
		r.part(program, "end")
	}
	t.Log("\n" + r.part(program, "cost"))

	// The library is not in the folder of the crate, then at a path that the program
	// names, then beside the program.
	elsewhere := filepath.Join(t.TempDir(), "renamed.so")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { write(t, file, data) })
	beside := filepath.Join(filepath.Dir(program), filepath.Base(file))
	if err := os.RemoveAll(beside); err != nil {
		t.Fatal(err)
	}
	r.part(program, "missing")
	write(t, elsewhere, data)
	r.part(program, "given", elsewhere)
	write(t, elsewhere, []byte("not a library"))
	r.part(program, "other", elsewhere)
	r.part(program, "other", library(t, "words"))
	write(t, beside, data)
	t.Cleanup(func() { _ = os.Remove(beside) })
	r.part(program, "use")
}

// TestRust_forms builds a Go library with what Rust shows in a form of its own, and the
// program that uses it.
func TestRust_forms(t *testing.T) {
	r := newRust(t, "crab")
	m := consumer.New(t, "example.test/crabs")
	m.Copy(filepath.Join("testdata", "crab", "crab.go"), "crab/crab.go")
	m.Env = append(m.Env, "CGO_ENABLED=1")
	m.Bind("export", "./crab", "--rust", filepath.Join(r.dir, "crab"))
	r.part(r.build("crabs"))
}

// rust is a copy of a Rust program in a folder that stays from run to run, with what
// cargo built.
type rust struct {
	t   *testing.T
	dir string
	env []string
}

// otherCrates are the program and the crate of a folder that has the lock of testdata/rust.
var otherCrates = map[string][2]string{"crab": {"crabs", "crab"}, "crossing": {"crossing", "crosses"}}

// newRust copies testdata/name, without the crates that the test makes. It skips the
// test if cargo does not run.
func newRust(t *testing.T, name string) *rust {
	t.Helper()
	// cargo may exist and not run, because rustup keeps the compilers in the home folder.
	if out, err := exec.Command("cargo", "--version").CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		t.Skipf("cargo does not run: %v: %s", err, line)
	}
	// The build script of the crate tvm-ffi asks tvm-ffi-config where libtvm_ffi is.
	python := nativetest.Python(t)
	r := &rust{t: t, dir: cacheDir(t, name), env: []string{
		"PATH=" + filepath.Dir(python) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"LD_LIBRARY_PATH=" + filepath.Dir(nativetest.Library(t)),
	}}
	for _, file := range []string{"Cargo.toml", "Cargo.lock", "src/main.rs"} {
		from := filepath.Join("testdata", name, file)
		if file == "Cargo.lock" { // the programs need the same crates
			from = filepath.Join("testdata", "rust", file)
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := otherCrates[name]; ok && file == "Cargo.lock" {
			data = []byte(strings.NewReplacer("golibrary", other[0], "golib", other[1]).Replace(string(data)))
		}
		if err := os.MkdirAll(filepath.Join(r.dir, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(r.dir, file), data)
	}
	return r
}

// build builds the program with all warnings as errors, and its docs.
func (r *rust) build(program string) string {
	r.t.Helper()
	manifest := filepath.Join(r.dir, "Cargo.toml")
	strict := append([]string{"RUSTFLAGS=-Dwarnings", "RUSTDOCFLAGS=-Dwarnings", "CARGO_TARGET_DIR=" + filepath.Join(r.dir, "target")}, r.env...)
	run(r.t, strict, "cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", manifest)
	run(r.t, strict, "cargo", "doc", "--quiet", "--release", "--locked", "--workspace", "--no-deps", "--manifest-path", manifest)
	if _, err := exec.LookPath("cargo-clippy"); err == nil {
		run(r.t, strict, "cargo", "clippy", "--quiet", "--release", "--locked", "--workspace", "--manifest-path", manifest)
	}
	return filepath.Join(r.dir, "target", "release", program)
}

// part runs a part of the program.
func (r *rust) part(program string, args ...string) string {
	r.t.Helper()
	out := run(r.t, r.env, program, args...)
	if !strings.HasSuffix(out, "all right\n") {
		r.t.Errorf("%s: %s", strings.Join(args, " "), out)
	}
	return out
}

// write writes a file if its content differs: cargo builds again what is newer.
func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
