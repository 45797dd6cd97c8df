// Package english finds phrases that readers of the project stumble over. It is for tests:
// internal/archtest reads every file with it, and the tests of the runtime read every
// message of its public functions. Style that a pattern cannot find is not its business.
package english

import (
	"regexp"
	"strings"
)

// gap is what may stand between two words: white space, and at the end of a line the
// beginning of the next line of a comment.
const gap = `\s+(?:(?://|#)\s*)?`

// phrases are patterns and what to write instead, at most ten. Each is wrong wherever it stands:
// style is the business of an editor. The patterns are spelled so that they do not match themselves.
var phrases = compile([][2]string{
	{`\b(?:is|are)` + gap + `no\b`, `"is not a", or "there is no"`},
	{`\bis` + gap + `(?-i:none)\b`, `"is not one", or "there is none"`},
	{`\bfor` + gap + `ever\b`, `"forever"`},
	{`\band` + gap + `else\b`, `"otherwise"`},
	{`\bas` + gap + `every` + gap + `other\b`, `"like every other"`},
	{`\ban` + gap + `own\b`, `"one of its own"`},
	{`\bby` + gap + `whatever` + gap + `way\b`, `"however"`},
	{`\b(?:is|are)` + gap + `an` + gap + `error` + gap + `where\b`, `"fails if", or "fails in the cases in which"`},
	{`\bwho` + `m?ever\b`, `"anyone who", or the thing itself`},
})

// negations is the number of phrases at the beginning of the list that are correct after
// "there" and before some words.
const negations = 2

var idiom = regexp.MustCompile(`^\s*(?:longer|more|less|fewer|doubt|matter|one)\b`)

// afterThere reports whether a text ends with "there", on this line or on one of a comment above.
func afterThere(text string) bool {
	text = strings.TrimRight(text, " \t\n/#")
	return strings.EqualFold(text[max(0, len(text)-len("there")):], "there")
}

type phrase struct {
	pattern *regexp.Regexp
	instead string
}

func compile(list [][2]string) []phrase {
	var out []phrase
	for _, p := range list {
		out = append(out, phrase{regexp.MustCompile(`(?i)` + p[0]), p[1]})
	}
	return out
}

// Finding is a phrase in a text.
type Finding struct {
	Offset  int    // in bytes
	Phrase  string // as it stands in the text
	Instead string // what to write
}

// Find lists the phrases in a text.
func Find(text string) []Finding {
	var found []Finding
	for i, p := range phrases {
		for _, m := range p.pattern.FindAllStringIndex(text, -1) {
			if i < negations && (afterThere(text[:m[0]]) || idiom.MatchString(text[m[1]:])) {
				continue
			}
			found = append(found, Finding{m[0], text[m[0]:m[1]], p.instead})
		}
	}
	return found
}
