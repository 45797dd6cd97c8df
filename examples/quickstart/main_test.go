package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/quickstart/synth"
)

// TestMain builds the library into a folder of its own, so that the tests need
// nothing but a C++ compiler.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("-short leaves out what starts a compiler")
		return
	}
	code, err := withLibrary(m.Run)
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

func withLibrary(run func() int) (code int, err error) {
	// The test reads the source itself, so that go test knows what its result depends on.
	if _, err := os.ReadFile(filepath.Join("native", "synth.cc")); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "tool", "tvmffi-bind", "build", "-o", filepath.Join(dir, "libsynth.so"),
		"--cxxflag", "-O0", "native/synth.cc") // without optimisation the build takes half the time
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the library (this needs g++, or the compiler that CXX names): %w\n%s", err, out)
	}
	if err := synth.Load(tvmffi.WithDir(dir)); err != nil {
		return 0, err
	}
	return run(), nil
}

func Example() {
	for _, part := range []func() error{objects, sound, failures} {
		if err := part(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 440 Hz is note 69
	// half the gain is -6.0 dB
	// the chord has 220.0 Hz
	// the chord has 277.2 Hz
	// the chord has 329.6 Hz
	// samples [0.00 2.26 2.84 1.41 -0.81 -2.13]
	// ValueError: a frequency of 0 Hz has no note; a value error: true
	// RuntimeError: the envelope is tired; the same error: true
}
