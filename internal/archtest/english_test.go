package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/english"
)

// TestEnglish reads every text of the repository, code included: comments, messages, docs,
// scripts. Licences and hashes are not ours to edit, and the change log quotes old names.
func TestEnglish(t *testing.T) {
	checked := 0
	for _, f := range allFiles(t) {
		if slices.Contains([]string{"LICENSE", "go.sum", "CHANGELOG.md"}, f.path) || path.Ext(f.path) == ".json" {
			continue
		}
		checked++
		for _, bad := range english.Find(string(f.text)) {
			line := 1 + strings.Count(string(f.text[:bad.Offset]), "\n")
			t.Errorf("%s:%d: %q: write %s", f.path, line, bad.Phrase, bad.Instead)
		}
	}
	if checked < 500 {
		t.Errorf("%d files were checked, want 500 at least", checked)
	}
}
