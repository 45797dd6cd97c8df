package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/consumer"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

// TestReadme_quickStart does what the README says about a library of one's own, to
// the letter, in a new module. A replace stands in for the published module.
func TestReadme_quickStart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skipf("the quick start names a .so; on %s it has another name", runtime.GOOS)
	}
	offline := consumer.Offline(t)
	nativetest.Compiler(t)
	nativetest.Library(t) // so that the tool finds one without a download
	root, dir := repository(t), t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Quick start")
	if !ok {
		t.Fatal("the README has no quick start")
	}
	section, _, _ = strings.Cut(section, "\n## ")

	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"go.sum": string(sums)}
	for _, m := range regexp.MustCompile("(?s)\n`([a-z/.]+)`\n```[a-z+]+\n(.*?)```").FindAllStringSubmatch(section, -1) {
		files[m[1]] = m[2]
	}
	if files["main.go"] == "" || files["native/shop.cc"] == "" {
		t.Fatalf("the quick start has no main.go or no native/shop.cc")
	}
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	commands := []string{
		"go mod init example.com/hello",
		"go mod edit -replace " + self + "=" + root,
		"go get -tool " + self + "/cmd/tvmffi-bind@v0.0.0",
	}
	for _, line := range strings.Split(section, "\n") {
		if command, ok := strings.CutPrefix(line, "    "); ok && !strings.HasPrefix(command, " ") && !inFence(section, line) {
			commands = append(commands, command)
		}
	}
	if len(commands) < 6 {
		t.Fatalf("the quick start has too few commands: %q", commands)
	}
	commands[len(commands)-1] += " >output"
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.Join(commands, "\n"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), offline...)
	cmd.Env = append(cmd.Env, "TVMFFI_LIBRARY=", "TVMFFI_LIBRARY_PATH=", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, strings.Join(commands, "\n"), out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || !strings.Contains(section, "\n```\n"+string(got)+"```\n") {
		t.Errorf("the program printed what the README does not show:\n%s", got)
	}
}

// inFence reports whether the first such line of the text lies in a fenced block.
func inFence(text, line string) bool {
	before, _, _ := strings.Cut(text, "\n"+line+"\n")
	return strings.Count(before, "\n```")%2 == 1
}
