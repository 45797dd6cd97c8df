package packaging

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOldest(t *testing.T) {
	for _, c := range []struct{ versions, least, unknown string }{
		{"", "2.17", ""},
		{"GLIBC_2.2.5 GLIBC_2.34 GLIBC_2.3.2 GLIBC_PRIVATE", "2.34", ""},
		{"GLIBC_2.4 GLIBCXX_3.4.19 CXXABI_1.3.7 GCC_3.0 CXXABI_TM_1", "2.17", ""},
		{"GLIBC_2.4 GLIBCXX_3.4.26", "2.31", ""},
		{"GLIBC_2.38 CXXABI_1.3.9", "2.38", ""},
		{"GCC_12.0.0", "2.35", ""},
		{"GLIBCXX_3.4.99", "", "GLIBCXX_3.4.99"},
	} {
		var symbols []elf.ImportedSymbol
		for _, v := range strings.Fields(c.versions) {
			symbols = append(symbols, elf.ImportedSymbol{Version: v})
		}
		least, unknown := oldest(symbols)
		want, _ := parseRelease(c.least)
		if unknown != c.unknown || c.unknown == "" && least != want {
			t.Errorf("%s: %v, %q, want %s, %q", c.versions, least, unknown, c.least, c.unknown)
		}
	}
}

func TestMacosRelease(t *testing.T) {
	for version, want := range map[uint32]string{0x000a0e00: "macosx_10_14_arm64", 0x000b0300: "macosx_11_0_arm64", 0x000f0000: "macosx_15_0_arm64"} {
		if got := macosRelease(version, Target{"darwin", "arm64"}); got != want {
			t.Errorf("macosRelease(%#x) = %s, want %s", version, got, want)
		}
	}
}

func TestExpression(t *testing.T) {
	for text, want := range map[string]string{
		"SPDX-License-Identifier: MIT OR Apache-2.0\n":                                                               "MIT OR Apache-2.0",
		"Apache License\n  Version 2.0, January 2004":                                                                "Apache-2.0",
		"Permission is hereby granted, free of charge, to any\nperson, to deal in the Software\nwithout restriction": "MIT",
		"All rights reserved. Ask us.":                                                                               "",
	} {
		if got := expression([]byte(text)); got != want {
			t.Errorf("expression(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSource(t *testing.T) {
	for module, want := range map[string]string{
		"github.com/a/b/v2": "https://github.com/a/b", "example.com/a/b": "", "github.com/a": "",
	} {
		if got := source(module); got != want {
			t.Errorf("source(%q) = %q, want %q", module, got, want)
		}
	}
}

// TestWriteFailure leaves no part of a wheel behind.
func TestWriteFailure(t *testing.T) {
	w := &Wheel{Metadata: Metadata{Name: "a", Version: "1"}, Tag: "any", Files: []File{{Path: "a/b"}}}
	dir := t.TempDir()
	// A folder in the place of the wheel stands for a disk that fails at the last step.
	if err := os.MkdirAll(filepath.Join(dir, w.FileName(), "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := w.Write(dir); err == nil {
		t.Errorf("%s was written", path)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder has %v", entries)
	}
	w.Files = append(w.Files, w.Files[0])
	if _, err := w.Write(t.TempDir()); err == nil {
		t.Error("a wheel with two files of one name was written")
	}
}
