package archtest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// features are ten things that somebody may add. names finds the files that say something about an example of each, which is
// how many files another one touches: those that would be written anew, in folder, are not counted.
var features = []struct {
	feature, example, names, folder string
}{
	{"a container of the ABI", "Dict", `(^|[^.\w])(Dict|Dicts|KindDict)\b|\b(TypeDict|(codec|crossing|tvmffi|tvm_ffi|ffi)\.(Dict|KindDict)s?)\b`, ""},
	{"a type of exported libraries", "time.Time", `\b(KindTime|timeCodec|wireTime|TypeFor\[time\.Time\]|TimePoint|to_time|from_time)\b|SystemTime`, ""},
	{"a kind of errors", "UnboundLocalError", `\bUnboundLocalError\b`, ""},
	{"a key of gen", "External", `\b(External|external)\b.*(map\[string\]string|yaml|c\.External|cfg\.External)`, ""},
	{"a data type", "float6", `(?i)\bfloat6_?e2m3fn\b|\bFloat6E2M3FN\b`, ""},
	{"a known library", "tilelang", `tilelang`, "cmd/tvmffi-bind/internal/project/known/tilelang"},
	{"a row of the benchmark", "field_name", `\bfield_name\b`, ""},
	{"a language for exported libraries", "Rust", `\brustface\b|\b[rR]ust\b.*\b(face|crate|export)`, "gen/internal/rustface"},
	{"a page of docs", "LIGHT.md", `\bLIGHT\.md\b`, ""},
	{"a check of what reading a library must not do", "refusal", `internal/refusal\b`, "internal/refusal"},
}

// comments are lines of comments: who reads them finds the thing, and nobody has to change them.
var comments = regexp.MustCompile(`(?m)^\s*//.*$`)

// TestFeatures prints how many files of the product name an example of each feature. The numbers are for people: a file may
// name one thing more and read well. It fails only if no file is found, because then it does not see.
func TestFeatures(t *testing.T) {
	for _, c := range features {
		names := regexp.MustCompile(c.names)
		var found []string
		for _, f := range allFiles(t) {
			inside := c.folder != "" && strings.HasPrefix(f.path, c.folder+"/")
			if isProduct(f) && !inside && names.Match(comments.ReplaceAll(f.text, nil)) {
				found = append(found, f.path)
			}
		}
		slices.Sort(found)
		t.Logf("%s, such as %s: %d files: %s", c.feature, c.example, len(found), strings.Join(found, " "))
		if len(found) == 0 {
			t.Errorf("no file names %s: give another example", c.example)
		}
	}
}

// isProduct reports whether somebody writes f by hand for users: no test, no example, no tool of CI.
func isProduct(f file) bool {
	if f.test || f.generated || strings.Contains("/"+f.path, "/testdata/") || strings.Contains(f.path, "testkit") {
		return false
	}
	first, _, _ := strings.Cut(f.path, "/")
	if slices.Contains([]string{".ci", ".github", "examples", "generated", "findings", "CHANGELOG.md"}, first) || covers([]string{"internal/archtest/...", "schema/core/..."}, f.path) {
		return false
	}
	return slices.Contains([]string{".go", ".py", ".rs", ".hpp", ".c", ".cc", ".s", ".md", ".yaml", ".json", ".tmpl"}, path.Ext(f.path))
}
