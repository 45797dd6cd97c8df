package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFollowers finds a package that the repository no longer pins, a folder without bindings, and tests that do not exist.
func TestFollowers(t *testing.T) {
	t.Chdir("../../..")
	specs, err := os.ReadFile(specsFile)
	if err != nil {
		t.Fatal(err)
	}
	requirements, err := os.ReadFile(requirementsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range followers {
		version, hash := pinnedRelease(f.pkg, string(specs), string(requirements))
		if version == "" {
			t.Errorf("%s: no version is pinned", f.pkg)
			continue
		}
		now, other := "99.1", strings.Repeat("9", 64)
		text := moved(string(specs)+string(requirements), f.pkg, version, now, hash, other)
		if v, h := pinnedRelease(f.pkg, text, text); v != now || h != other {
			t.Errorf("%s: the copy has %s with hash %s", f.pkg, v, h)
		}
		if f.bindings != "" {
			text, err := os.ReadFile(f.bindings + "/tvmffi.yaml")
			if err != nil {
				t.Fatal(err)
			}
			named := regexp.MustCompile(`package: ` + regexp.QuoteMeta(f.pkg) + `\n\s+version: `).Match(text)
			if after := moved(string(text), f.pkg, version, now, hash, other); named != strings.Contains(after, now) {
				t.Errorf("%s: the configuration in the copy is\n%s", f.bindings, after)
			}
		}
		for _, pattern := range f.tests {
			if _, err := os.Stat(strings.TrimSuffix(pattern, "/...")); err != nil {
				t.Error(err)
			}
		}
	}
	if got := firstVersion("xgrammar (0.2.9)"); got != "0.2.9" {
		t.Errorf("got version %q", got)
	}
	for version, want := range map[string]bool{"0.1.0a4": true, "1.0rc1": true, "4.8.0.dev0": true, "0.1.15.post2": false, "0.2.8": false} {
		if preRelease.MatchString(version) != want {
			t.Errorf("%s: want %t", version, want)
		}
	}
}
