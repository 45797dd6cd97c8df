package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "01.02": "1.2", "1.0alpha1": "1.0a1", "1.0-beta.2": "1.0b2", "1.0.pre": "1.0rc0",
		"1.0c3": "1.0rc3", "1.0-4": "1.0.post4", "1.0.r5": "1.0.post5", "1.0.dev": "1.0.dev0", "2!1.0+Ubuntu-1": "2!1.0+ubuntu.1",
		"1.2.3rc1.post2.dev3+a.01": "1.2.3rc1.post2.dev3+a.1",
	} {
		if got, err := Version(text); got != want || err != nil {
			t.Errorf("Version(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "one", "1.2.3-fast", "1..2", "1.2+", "latest", "1.2/3"} {
		if got, err := Version(text); err == nil {
			t.Errorf("Version(%q) = %q, want an error", text, got)
		}
	}
}

func TestFromTag(t *testing.T) {
	for text, want := range map[string]string{
		"v1.2.3-0-gabcdef1":            "1.2.3",
		"v1.2.3-0-gabcdef1-dirty":      "1.2.4.dev0",
		"v1.2.3-7-gabcdef1":            "1.2.4.dev7",
		"v1.2.3-rc.1-0-gabcdef1":       "1.2.3rc1",
		"v1.2.3-rc.1-4-gabcdef1":       "1.2.3.dev4",
		"v1.2.3-fast-0-gabcdef1":       "1.2.3.dev0",
		"v2.0.0+incompatible-0-gabcde": "2.0.0",
		"nonsense":                     "0.0.0.dev0",
	} {
		if got := fromTag(text); got != want {
			t.Errorf("fromTag(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"json", "atexit", "lambda", "None", "tvm_ffi", "zoneinfo", "abc"} {
		if CheckModule(name) == nil {
			t.Errorf("%s is accepted as the name of a Python package", name)
		}
	}
	for _, name := range []string{"stats", "jsonlib", "Json", "a"} {
		if err := CheckModule(name); err != nil {
			t.Error(err)
		}
	}
	if got := fileName("My.Go--Stats"); got != "my_go_stats" {
		t.Errorf("fileName = %q", got)
	}
	for name, ok := range map[string]bool{"a": true, "a-b.c_d": true, "-a": false, "a/b": false, "": false, "ä": false} {
		if (CheckDistribution(name) == nil) != ok {
			t.Errorf("CheckDistribution(%q) is not %v", name, ok)
		}
	}
}

// TestVersionOf reads tags of a repository, of its root and of a module in a folder.
func TestVersionOf(t *testing.T) {
	dir := t.TempDir()
	if got := VersionOf(t.Context(), dir); got != unversioned {
		t.Errorf("a folder without git has the version %s", got)
	}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "a.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-qm", "one")
	if got := VersionOf(t.Context(), dir); got != unversioned {
		t.Errorf("a module without a tag has the version %s", got)
	}
	git("tag", "-a", "-m", "", "v1.2.3")
	git("tag", "-a", "-m", "", "sub/v0.5.0")
	git("commit", "-q", "--allow-empty", "-m", "two")
	for folder, want := range map[string]string{"": "1.2.4.dev1", "sub": "0.5.1.dev1"} {
		if got := VersionOf(t.Context(), filepath.Join(dir, folder)); got != want {
			t.Errorf("%q has the version %s, want %s", folder, got, want)
		}
	}
}
