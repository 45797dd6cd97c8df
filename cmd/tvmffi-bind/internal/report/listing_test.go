package report

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/schema"
)

// No text of a library reaches the terminal as a command.
func TestPrint_visible(t *testing.T) {
	const bad = "a\x1b[2J"
	word := schema.TypeSchema{Name: bad}
	s := schema.Schema{
		Functions: []schema.Function{{Name: bad, Source: schema.SourceModule, Library: bad, Doc: bad, Flaw: bad}},
		Types: []schema.Type{{Key: bad, Ancestors: []string{bad}, Doc: bad,
			Fields:  []schema.Field{{Name: bad, Type: word, Doc: bad}},
			Methods: []schema.Method{{Name: bad, Signature: &schema.Signature{Return: word}}}}},
		Flaws: []schema.Flaw{{Kind: "type", Name: bad, Reason: bad}},
	}
	var out strings.Builder
	NewListing(s, s).Print(&console.Console{Out: &out})
	if strings.Contains(out.String(), "\x1b[2J") || !strings.Contains(out.String(), "a [2J") {
		t.Errorf("%q", out.String())
	}
}
