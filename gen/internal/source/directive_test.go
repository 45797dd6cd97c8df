package source

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDirectives_documented: the doc of this package, the guide and the help of the tool list
// the same directives with the same options, each once.
func TestDirectives_documented(t *testing.T) {
	read := func(file, begin, end, line string) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(text), begin)
		section, _, found := strings.Cut(rest, end)
		if !ok || !found {
			t.Fatalf("%s has no text between %q and %q", file, begin, end)
		}
		var directives []string
		for l := range strings.SplitSeq(section, "\n") {
			l, ok := strings.CutPrefix(l, line)
			if !ok || strings.HasPrefix(l, prefix+"repr") { // hooks stand together
				continue
			}
			l, _, _ = strings.Cut(strings.ReplaceAll(l, "`", "  "), "  ")
			l = strings.NewReplacer("key]", "KEY]", "kind]", "KIND]", "KeyError]", "KIND]").Replace(strings.TrimSpace(l))
			// In the guide, the options of object have a sentence of their own.
			l = strings.Replace(l, "[parent=KEY] [final] [frozen] [kwonly] [structural=KIND]", "[options]", 1)
			if strings.HasPrefix(l, prefix) {
				directives = append(directives, l)
			}
		}
		slices.Sort(directives)
		return directives
	}
	want := read("source.go", "languages:", "package source", "//\t")
	for _, list := range [][]string{
		read("../../../docs/EXPORT.md", "## The directives", "\n## ", "| `"),
		read("../../../cmd/tvmffi-bind/cmd_export.go", "every TVM-FFI language", "A package of kernels", "  "),
	} {
		if !slices.Equal(list, want) {
			t.Errorf("directives:\n%s\nwant:\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, verb := range strings.Split(strings.ReplaceAll(verbs, " and ", ", "), ", ") {
		if _, hook := hooks[verb]; !hook && !slices.ContainsFunc(want, func(l string) bool { return strings.HasPrefix(l+" ", prefix+verb+" ") }) {
			t.Errorf("the doc of the package has no directive %s", verb)
		}
	}
}
