package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestNoLogWithoutGPU: the command that logs what a GPU did refuses where there is none.
func TestNoLogWithoutGPU(t *testing.T) {
	if nativetest.GPU() {
		t.Skip("this machine has a GPU")
	}
	if runtime.GOOS != "linux" {
		t.Skip("bench/gpu is for Linux")
	}
	results := func() int {
		list, err := filepath.Glob("results/*-gpu*.md")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := results()
	for _, c := range []struct{ args, says string }{
		{"", "there is no NVIDIA driver here"}, {"", "--gpus all"}, {"", "bench/gpu -pack DIR"},
		{"-pack", "-pack needs a value"}, {"-fast", "usage: bench/gpu [-pack DIR]"},
	} {
		out, err := exec.CommandContext(t.Context(), "./gpu", strings.Fields(c.args)...).CombinedOutput()
		var e *exec.ExitError
		if !errors.As(err, &e) || e.ExitCode() != 2 || !strings.Contains(string(out), c.says) {
			t.Errorf("bench/gpu %s: %v\n%s", c.args, err, out)
		}
	}
	if n := results(); n != before {
		t.Errorf("%d logs were written", n-before)
	}
}

// TestPackFolder: a pack takes the place of an older one, and of nothing else.
func TestPackFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := emptied(dir); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("mine", "text")
	if err := emptied(dir); err == nil || !strings.Contains(err.Error(), "is not empty and has no pack: name another folder") {
		t.Errorf("a folder with a file: %v", err)
	}
	write("manifest.json", `{"Parts": [{"Name": "x"}], "Files": {"mine": "0"}}`)
	if err := os.Mkdir(filepath.Join(dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := emptied(dir); err == nil || !strings.Contains(err.Error(), "has logs: take them away first") {
		t.Errorf("a pack with logs: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := emptied(dir); err != nil {
		t.Errorf("an older pack: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}

func TestChosenParts(t *testing.T) {
	for _, c := range []struct {
		parts     string
		libraries bool
		want      []string
	}{
		{"", true, packParts},
		{"", false, []string{"tests", "saxpy", "launch"}},
		{"launch,cute", false, []string{"launch", "cute"}},
	} {
		if got, err := chosenParts(c.parts, c.libraries); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	if _, err := chosenParts("tests,everything", false); err == nil || !strings.Contains(err.Error(), `no part is called "everything": there are tests, saxpy`) {
		t.Errorf("an unknown one: %v", err)
	}
	if _, err := chosenParts("tests", true); err == nil || !strings.Contains(err.Error(), "-libraries with -parts: name cute, flashinfer, cutlass among the parts") {
		t.Errorf("both: %v", err)
	}
}

// TestImagesForSource: the example is packed with images in place of its source.
func TestImagesForSource(t *testing.T) {
	config, err := os.ReadFile("../examples/cuda_saxpy/tvmffi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, ok := imagesForSource(string(config))
	if !ok || !strings.Contains(text, "\n    image: kernels/saxpy.*\n") || strings.Contains(text, "source:") || strings.Contains(text, "arch:") {
		t.Errorf("%t\n%s", ok, text)
	}
	if _, ok := imagesForSource("kernels:\n  - image: a.ptx\n"); ok {
		t.Error("a kernel without a source was changed")
	}
}
