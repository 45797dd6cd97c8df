package elfheader_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

func library(t testing.TB, goos, goarch string) string {
	t.Helper()
	spec, err := wheel.TVMFFI("", goos, goarch)
	if err != nil {
		t.Fatal(err)
	}
	return nativetest.Get(t, spec).Library()
}

// A library that lacks one byte of what the loader maps is refused. One that lacks only what
// follows is not.
func TestCheck(t *testing.T) {
	path := library(t, "linux", "amd64")
	host := runtime.GOOS == "linux" && runtime.GOARCH == "amd64"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, int(p.Off+p.Filesz))
		}
	}
	if end >= len(data) {
		t.Fatalf("the segments end at %d of %d", end, len(data))
	}
	file := filepath.Join(t.TempDir(), "lib.so")
	for _, cut := range []int{0, 40, 63, 300, len(data) / 10, len(data) / 2, end - 1, end, len(data)} {
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := elfheader.Check(file); errors.Is(err, elfheader.ErrTruncated) != (cut < end) && (host || cut >= 64) && (host || err != nil) {
			t.Errorf("cut to %d bytes, the segments end at %d: %v", cut, end, err)
		}
		h, err := elfheader.Read(bytes.NewReader(data[:cut]), uint64(cut))
		if errors.Is(err, elfheader.ErrTruncated) != (cut < end) || (h != nil) != (cut >= 64) {
			t.Errorf("cut to %d bytes, the segments end at %d: Read: %v, %v", cut, end, h, err)
		}
		if cut >= end && (h == nil || h.Mapped != uint64(end)) {
			t.Errorf("cut to %d bytes, the segments end at %d: Read: %v", cut, end, h)
		}
	}
}

// A file that is missing, for another system or not a library is left to the loader.
func TestCheckOthers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	foreign, err := os.ReadFile(library(t, "linux", other))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		library(t, "linux", runtime.GOARCH), library(t, "darwin", "arm64"), library(t, "windows", "amd64"),
		write("text.so", strings.Repeat("text\n", 100)), write("short.so", "x"), filepath.Join(dir, "missing.so"),
		filepath.Join(dir, "text.so", "below.so"),
	} {
		if err := elfheader.Check(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, data := range [][]byte{foreign, foreign[:len(foreign)/2]} {
		want := "it is built for " + other + " and cannot be loaded on " + runtime.GOARCH
		if err := elfheader.Check(write("foreign.so", string(data))); runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: %v, want %s", len(data), err, want)
		}
	}
	if err := elfheader.Check(dir); err == nil || !strings.Contains(err.Error(), "this is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

func BenchmarkCheck(b *testing.B) {
	path := library(b, runtime.GOOS, runtime.GOARCH)
	for b.Loop() {
		if err := elfheader.Check(path); err != nil {
			b.Fatal(err)
		}
	}
}
