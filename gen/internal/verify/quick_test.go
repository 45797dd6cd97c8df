package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuick pins what needs no source code of imports, and what does.
func TestQuick(t *testing.T) {
	const user = "package plants\n\nimport \"strconv\"\n\nvar _ = strconv.Itoa\n\nfunc Count() int { return 1 }\n"
	cases := []struct {
		what  string
		files map[string]string // those that begin with "generated" are not on disk
		env   string            // for GOFLAGS
		want  string            // why there is no quick answer; "" if there is one
	}{
		{"the user's file beside the generated one, and its import", map[string]string{
			"garden/user.go":     "package garden\n\nimport \"example.com/app/plants\"\n\nvar User int = plants.Count()\n",
			"plants/plants.go":   user,
			"garden/garden.go":   "// generated\npackage garden\n\nvar Here = User\n",
			"garden/old.go.disk": "// generated\npackage elsewhere\n\nvar Here = 1\n",
			"garden/ignored.go":  "//go:build ignore\n\npackage main\n",
			"garden/any_test.go": "package garden\n\nvar Here = 1\n",
		}, "", ""},
		{"packages that import each other", map[string]string{
			"b/b.go": "// generated\npackage b\n\nimport \"example.com/app/a\"\n\nvar B = a.A\n",
			"a/a.go": "// generated\npackage a\n\nimport \"example.com/app/c\"\n\nvar A = c.C\n",
			"c/c.go": "// generated\npackage c\n\nvar C = 1\n",
		}, "", ""},
		{"a cycle", map[string]string{
			"b/b.go": "// generated\npackage b\n\nimport \"example.com/app/a\"\n\nvar B = a.A\n",
			"a/a.go": "// generated\npackage a\n\nimport \"example.com/app/b\"\n\nvar A = b.B\n",
		}, "", "could not import"},
		{"a tag of the go command", map[string]string{
			"garden/user.go":   "//go:build wet\n\npackage garden\n\nconst Wet = 1\n",
			"garden/garden.go": "// generated\npackage garden\n\nvar Here = Wet\n",
		}, "-tags=wet", ""},
		{"no such tag", map[string]string{
			"garden/user.go":   "//go:build wet\n\npackage garden\n\nconst Wet = 1\n",
			"garden/garden.go": "// generated\npackage garden\n\nvar Here = Wet\n",
		}, "", "undefined: Wet"},
		{"an import that imports what is generated", map[string]string{
			"garden/user.go":   "package garden\n\nimport \"example.com/app/plants\"\n\nvar User = plants.Count()\n",
			"plants/plants.go": "package plants\n\nimport \"example.com/app/soil\"\n\nfunc Count() int { return soil.Depth }\n",
			"soil/soil.go":     "// generated\npackage soil\n\nconst Depth = 1\n",
			"garden/garden.go": "// generated\npackage garden\n",
		}, "", "an import needs example.com/app/soil"},
		{"an import that does not compile", map[string]string{
			"plants/plants.go": "package plants\n\nfunc Count() int { return missing }\n",
			"garden/garden.go": "// generated\npackage garden\n\nimport \"example.com/app/plants\"\n\nvar Here = plants.Count()\n",
		}, "", "not compiled"},
		{"a program", map[string]string{
			"plants/plants.go": "package main\n\nfunc main() {}\n",
			"garden/garden.go": "// generated\npackage garden\n\nimport _ \"example.com/app/plants\"\n",
		}, "", "not compiled"},
		{"an internal package of others", map[string]string{
			"garden/garden.go": "// generated\npackage garden\n\nimport _ \"internal/abi\"\n",
		}, "", "imports internal/abi"},
		{"embedded files", map[string]string{
			"garden/user.go":   "package garden\n\nimport _ \"embed\"\n\n//go:embed missing\nvar text string\n",
			"garden/garden.go": "// generated\npackage garden\n",
		}, "", "imports embed"},
		{"another module", map[string]string{
			"garden/go.mod":    "module example.com/garden\n\ngo 1.26\n",
			"garden/garden.go": "// generated\npackage garden\n",
			"other.go":         "// generated\npackage other\n",
		}, "", "is not in the module"},
		{"a newer language", map[string]string{
			"go.mod":           "module example.com/app\n\ngo 1.17\n",
			"garden/garden.go": "// generated\npackage garden\n\ntype Rose[T any] struct{}\n",
		}, "", "go1.18 or later"},
		{"code with an error", map[string]string{
			"garden/garden.go": "// generated\npackage garden\n\nfunc f() { x := 1 }\n",
		}, "", "declared and not used"},
		{"a banned import", map[string]string{
			"garden/garden.go": "// generated\npackage garden\n\nimport _ \"unsafe\"\n",
		}, "", "must not import"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Setenv("GOFLAGS", c.env)
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "go.mod", "module example.com/app\n\ngo 1.26\n")
			overlay := map[string][]byte{}
			for name, text := range c.files {
				onDisk, stale := strings.CutSuffix(name, ".disk")
				if isGenerated([]byte(text)) && !stale {
					overlay[filepath.Join(dir, filepath.FromSlash(name))] = []byte(text)
				} else {
					write(t, dir, onDisk, text)
				}
			}
			sources, err := quick(dir, isGenerated, overlay)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err == nil {
				if _, missing := os.Stat(filepath.Join(sources.Toolchain, "VERSION")); missing != nil {
					t.Error(missing)
				}
				for path, folder := range sources.Folders {
					if want := filepath.Join(dir, strings.TrimPrefix(path, "example.com/app")); folder != want {
						t.Errorf("%s is in %s, want %s", path, folder, want)
					}
				}
			} else if sources != nil {
				t.Errorf("with an error, sources are %v", sources)
			}
		})
	}
}

func isGenerated(file []byte) bool { return bytes.HasPrefix(file, []byte("// generated")) }

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
