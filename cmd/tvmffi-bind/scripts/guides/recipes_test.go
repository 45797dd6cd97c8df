//go:build e2e

package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// TestTutorial does what the tutorial says, to the letter, in a new module. Before the library of that module changes,
// it does what each section of docs/SHIPPING.md but the last says, in a copy of the module.
func TestTutorial(t *testing.T) {
	const change = "\n## 6. The library changes\n"
	before, after, ok := strings.Cut(document(t, "docs/TUTORIAL.md"), change)
	if !ok {
		t.Fatal("the tutorial has no section 6, before which the recipes begin")
	}
	clone := []string{"PATH-OF-THE-CLONE", root(t)}
	g := guide{dir: consumer.Folder(t), text: before, replace: clone}
	commands, outputs := g.follow(t)
	text, _, ok := strings.Cut(document(t, "docs/SHIPPING.md"), "\n## Many machines\n")
	if !ok {
		t.Fatal("docs/SHIPPING.md has no section about many machines, with which the recipes end")
	}
	for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(text, -1) {
		t.Run(heading[1], func(t *testing.T) {
			recipe := guide{dir: t.TempDir(), text: section(t, text, heading[1]), replace: clone}
			if err := os.CopyFS(recipe.dir, os.DirFS(g.dir)); err != nil {
				t.Fatal(err)
			}
			if prepare := recipes[heading[1]]; prepare != nil {
				prepare(t, &recipe)
			}
			if commands, _ := recipe.follow(t); commands < 3 {
				t.Errorf("the recipe has %d commands", commands)
			}
		})
	}
	g.text = change + after
	g.before = regexp.MustCompile(`(?m)^ +(export .*)$`).FindAllString(before, -1) // the shell of the reader goes on
	more, shown := g.follow(t)
	if commands += more; commands < 20 || outputs+shown < 8 {
		t.Errorf("the tutorial has %d commands and %d outputs", commands, outputs+shown)
	}
}

// recipes has what a recipe finds on a user's machine and not on the machine of the test.
var recipes = map[string]func(t *testing.T, g *guide){
	"In CI": func(t *testing.T, g *guide) { // an earlier run has filled the cache
		w := nativetest.Wheel(t, nativetest.Version())
		tree := filepath.Join(g.dir, ".tvmffi-cache", "wheels", filepath.Base(w.Root()))
		if err := os.MkdirAll(filepath.Dir(tree), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(tree, os.DirFS(w.Root())); err != nil {
			t.Fatal(err)
		}
	},
	"A container": func(t *testing.T, g *guide) {
		const enter = "unshare --map-root-user "
		if os.Geteuid() == 0 {
			g.replace = append(g.replace, enter, "")
		} else if err := exec.Command("unshare", "--map-root-user", "true").Run(); err != nil {
			t.Skipf("this user cannot make a user namespace: %v", err)
		}
	},
	"Another platform": func(t *testing.T, g *guide) {
		if _, err := exec.LookPath("aarch64-linux-gnu-g++"); err != nil {
			t.Skip("this machine has no aarch64-linux-gnu-g++")
		}
		s, err := wheel.TVMFFI("", "linux", "arm64")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(g.text, " "+s.Package+"=="+s.Version+"\n") {
			t.Errorf("the recipe does not get %s", s)
		}
		g.replace = append(g.replace, "pip download", "true", "python3 -m zipfile -e arm64/*.whl", "cp -r "+nativetest.Get(t, s).Root())
	},
}
