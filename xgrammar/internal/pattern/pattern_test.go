package pattern

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	gpt4 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200 = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

func all(p *Pattern, m *Machine, text string) (found []string) {
	for at := 0; ; {
		start, end, ok := p.Find(m, []byte(text), at)
		if !ok {
			return found
		}
		found = append(found, text[start:end])
		at = end
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		expression, text string
		want             []string
	}{
		{gpt2, "I'll  see 12 a\u0301b!!\n\n x", []string{"I", "'ll", " ", " see", " 12", " a", "\u0301", "b", "!!", "\n\n", " x"}},
		{gpt2, "a \n", []string{"a", " \n"}},
		{gpt4, "HE'LL 12345 \n\nthe\u3000end  ", []string{"HE", "'LL", " ", "123", "45", " \n\n", "the", "\u3000end", "  "}},
		{gpt4, "it'ſ", []string{"it", "'ſ"}}, // the long s folds to s
		{o200, "HTTPServer's //x\r\n日本", []string{"HTTPServer's", " //", "x", "\r\n", "日本"}},
		{`[一-龥]+`, "ab一二c三", []string{"一二", "三"}},
		{`[^(\s|[.,!])]+`, "ab,(c|d) ef", []string{"ab", "c", "d", "ef"}},
		{`[a-z&&[^aeiou]]+`, "hello", []string{"h", "ll"}},
		{`\p{Han}{2}`, "中文字", []string{"中文"}},
		{`\P{L}|\p{^N}x`, "1ax", []string{"1", "ax"}},
		{`a{2,}?`, "aaaaa", []string{"aa", "aa"}},
		{`a+?b`, "aaab", []string{"aaab"}},
		{`a{1,2}?b`, "aaab", []string{"aab"}},
		{`a++a`, "aaa", nil},
		{`(?:ab|a)(?:bc)?`, "abc", []string{"ab"}},
		{`(?:ab){1,2}c`, "ababababc", []string{"ababc"}},
		{`(?<!a)b|(?<=c)d`, "abbcdd", []string{"b", "d"}},
		{`^a|b$`, "a\nab", []string{"a", "a", "b"}},
		{`a(?=b)|\x62|\x{63}|\u0064`, "aabcd", []string{"a", "b", "c", "d"}},
		{`.+`, "a\nb", []string{"a", "b"}},
		{`[]a]+|[-b]`, "]a-b", []string{"]a", "-", "b"}},
		{`x*`, "ab", nil}, // no match is empty
		{`\p{Lu}`, "\u1c89\ua7ce", []string{"\u1c89"}},
	} {
		p, err := Compile(c.expression)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		if got := all(p, new(Machine), c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s in %q: %q, want %q", c.expression, c.text, got, c.want)
		}
	}
}

func TestCompile_errors(t *testing.T) {
	for expression, want := range map[string]string{
		`(a`: "at byte 2 of \"(a\": want )", `a)`: "want the end of the expression", `*a`: "nothing to repeat", `[a`: "want ] at the end of a set",
		`a{2000}`: "want a count of at most 1000", `a{2,1}`: "want a count", `a**`: "a repeat of a repeat is not supported", `\p{Greek}`: `\p{Greek} is not supported: want a category of Unicode`,
		`\w`: `\w is not supported: want \r`, `(?P<a>b)`: "of groups, (?:", `(?:ab)*`: "a group that is repeated without a limit", `(?:a+){2}`: "a group that is repeated",
		`[z-a]`: "want a range such as a-z", `(?<=ab)c`: "one rune or one class", `(?!a*)`: "a row of runes and classes", `\x{110000}`: "is not the number of a rune",
		`(?:(?:(?:a{100}){100}){100})`: "the expression is too large", strings.Repeat("(", 60): "groups deeper than 50", "\xff": "is not UTF-8", `[[:alpha:]]`: "[: is not supported",
		strings.Repeat("[", 60): "sets deeper than 50", strings.Repeat("a", 1<<15): "more than 16384 bytes", `\`: "an escape after the backslash", `^*`: "a place cannot be repeated",
	} {
		if _, err := Compile(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", expression, err, want)
		}
	}
}

// TestFind_asGo compares random expressions with Go's library, whose first match is the same one.
func TestFind_asGo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	var term func(depth int) string
	term = func(depth int) string {
		var s strings.Builder
		for range 1 + random.IntN(3) {
			if depth < 2 && random.IntN(4) == 0 {
				s.WriteString("(?:" + term(depth+1) + pick("", "|"+term(depth+1)) + ")" + pick("", "?", "??"))
				continue
			}
			s.WriteString(pick("a", "b", "[ab]", "[^a]", ".", "é", `\pL`[:0]+"[éa]") + pick("", "", "*", "+", "?", "*?", "+?", "{1,2}", "{2,}", "{0,2}?"))
		}
		return s.String()
	}
	m := new(Machine)
	for range 3000 {
		expression := term(0) + pick("", "|"+term(0))
		var text strings.Builder
		for range random.IntN(12) {
			text.WriteString(pick("a", "b", "é", "\n", "c"))
		}
		p, err := Compile(expression)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		other := regexp.MustCompile(expression)
		where := other.FindStringIndex(text.String())
		start, end, ok := p.Find(m, []byte(text.String()), 0)
		if where != nil && where[0] == where[1] {
			continue // an empty match counts there
		}
		if ok != (where != nil) || ok && (start != where[0] || end != where[1]) {
			t.Fatalf("%s in %q: %d to %d, %t, want %v", expression, text.String(), start, end, ok, where)
		}
	}
}

// TestFind_remembers matches an expression that would go back 2^40 times.
func TestFind_remembers(t *testing.T) {
	p, err := Compile(strings.Repeat("a?", 40) + strings.Repeat("a", 40) + "b|a*a*a*a*a*b|a")
	if err != nil {
		t.Fatal(err)
	}
	m := new(Machine)
	if got := all(p, m, strings.Repeat("a", 40)); len(got) != 40 {
		t.Errorf("%q, want 40 letters", got)
	}
	if got := all(p, m, strings.Repeat("a", 60)+"b"); !slices.Equal(got, []string{strings.Repeat("a", 60) + "b"}) {
		t.Errorf("%q, want one match", got)
	}
}

func TestFind_allocations(t *testing.T) {
	p, err := Compile(o200)
	if err != nil {
		t.Fatal(err)
	}
	m := new(Machine)
	text := []byte(strings.Repeat("The HTTPServer's 日本 text, 1234 \n\n of\u3000words. ", 20))
	if n := testing.AllocsPerRun(20, func() {
		for at := 0; at < len(text); {
			_, end, ok := p.Find(m, text, at)
			if !ok {
				break
			}
			at = end
		}
	}); n != 0 {
		t.Errorf("%g allocations, want 0", n)
	}
}

func BenchmarkFind(b *testing.B) {
	for name, expression := range map[string]string{"gpt2": gpt2, "gpt4": gpt4, "o200": o200} {
		for kind, text := range map[string]string{"prose": strings.Repeat("The HTTPServer's text, 1234 of some words.\n", 1000), "spaces": strings.Repeat(" ", 40_000), "capitals": strings.Repeat("A", 40_000)} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				p, err := Compile(expression)
				if err != nil {
					b.Fatal(err)
				}
				m, t := new(Machine), []byte(text)
				b.SetBytes(int64(len(t)))
				b.ReportAllocs()
				for b.Loop() {
					for at := 0; at < len(t); {
						_, end, ok := p.Find(m, t, at)
						if !ok {
							break
						}
						at = end
					}
				}
			})
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, expression := range []string{gpt2, gpt4, o200, `[^(\s|[.,!])]+`, `a{1,2}?b|(?<!a)b`} {
		f.Add(expression, "It's 12 a\n\n b")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		p, err := Compile(expression)
		if err != nil || len(text) > 200 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		at := 0
		for _, part := range all(p, new(Machine), text) {
			i := strings.Index(text[at:], part)
			if part == "" || i < 0 {
				t.Fatalf("%q in %q finds %q", expression, text, part)
			}
			at += i + len(part)
		}
	})
}
