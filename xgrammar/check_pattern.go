package xgrammar

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
)

// pattern checks a regular expression.
func (c *checker) pattern(at, text string) {
	p := scan(text)
	if p.lookahead {
		c.add(at, Looser, "XGrammar does not look at lookaheads")
	}
	if p.letters {
		c.add(at, Looser, "XGrammar does not know \\p in a class, and reads its letters")
	}
	if p.ranged {
		c.add(at, Looser, "XGrammar takes the first part of \\w or \\d behind a dash in a class as the end of a range; a dash itself is \\-")
	}
	if p.inner {
		c.add(at, Looser, "XGrammar does not look at ^ and $ inside of a pattern")
	}
	if p.raw {
		c.add(at, NotJSON, "the pattern describes the text between the quotes, so a quote, a backslash or a control character in it is written as it is")
	}
	if p.halves {
		c.add(at, Narrower, "XGrammar reads the two halves of a surrogate pair as two characters, which no text has; \\u{1F600} is one")
	}
	if !p.whole {
		c.add(at, Narrower, "the pattern describes the whole text, as if it began with ^ and ended with $")
	}
}

// regex is what is seen of a regular expression.
type regex struct {
	lookahead bool
	inner     bool // an anchor that is neither at the beginning nor at the end
	letters   bool // \p in a class
	ranged    bool // a dash between a character and \w or the like, in a class
	halves    bool // an escape for half of a surrogate pair
	raw       bool // a character that JSON escapes
	whole     bool // it is anchored at both ends
}

// scan looks at a regular expression.
func scan(text string) (p regex) {
	parts := p.split(text)
	starts, start, from := []bool{}, true, 0 // of groups; whether nothing stands before; the alternative
	anchored := func(to int) bool { return to > from+1 && parts[from] == '^' && parts[to-1] == '$' }
	p.whole = true
	for i, part := range parts {
		switch part {
		case '^':
			p.inner = p.inner || !start
			continue
		case '$':
			p.inner = p.inner || !atEnd(parts[i+1:])
			continue
		case '(':
			starts = append(starts, start)
			continue
		case ')':
			starts = starts[:max(0, len(starts)-1)]
		case '|':
			if start = true; len(starts) > 0 {
				start = starts[len(starts)-1]
				continue
			}
			p.whole = p.whole && anchored(i)
			from = i + 1
			continue
		}
		start = false
	}
	p.whole = p.whole && anchored(len(parts))
	return p
}

// atEnd reports whether nothing can stand before the end of the text, where the rest of an expression begins.
func atEnd(rest []byte) bool {
	for i := 0; i < len(rest); i++ {
		if rest[i] == ')' {
			continue
		}
		if rest[i] != '|' {
			return false
		}
		depth := 0 // to the end of this group, or of the expression
		for i++; i < len(rest) && (rest[i] != ')' || depth > 0); i++ {
			switch rest[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
	}
	return true
}

// split returns a character for each part of an expression: ^ $ ( ) | are themselves, all others are dots.
func (p *regex) split(text string) (parts []byte) {
	class := -1 // where one begins
	for i := 0; i < len(text); i++ {
		ch, part := text[i], byte('.')
		negated := class >= 0 && strings.HasPrefix(text[class:], "[^")
		switch {
		case ch == '\\' && i+1 < len(text):
			i++
			p.raw = p.raw || !negated && escaped(text[i:], class >= 0)
			p.halves = p.halves || !negated && half(text[i:])
			p.letters = p.letters || class >= 0 && (text[i] == 'p' || text[i] == 'P')
		case ch == '"' || ch < ' ':
			p.raw = p.raw || !negated
		case class >= 0:
			if ch == ']' {
				class = -1
			}
			continue
		case ch == '[':
			class = i
			p.ranged = p.ranged || rangesTo(text[i+1:])
		case ch == '(':
			part = ch
			p.lookahead = p.lookahead || strings.HasPrefix(text[i:], "(?=") || strings.HasPrefix(text[i:], "(?!")
			if strings.HasPrefix(text[i:], "(?:") {
				i += len("?:")
			}
		case strings.IndexByte("^$)|", ch) >= 0:
			part = ch
		}
		parts = append(parts, part)
	}
	return parts
}

// rangesTo reports whether a class, whose text begins behind the bracket, has a range that ends with \w or the like. In
// JavaScript its dash is a character.
func rangesTo(text string) bool {
	low := false // whether the part before can begin a range
	for text = strings.TrimPrefix(text, "^"); text != "" && text[0] != ']'; {
		dash := low && len(text) > 1 && text[0] == '-' && text[1] != ']'
		if dash {
			text = text[1:]
		}
		set := len(text) > 1 && text[0] == '\\' && strings.IndexByte("wdsWDS", text[1]) >= 0
		if dash && set {
			return true
		}
		low = !dash && !set
		text = text[len(classPart().FindString(text)):]
	}
	return false
}

// classPart is a character of a class, or its escape.
var classPart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:\\x[0-9a-fA-F]{2}|\\u\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\c.|\\.|.)`)
})

// half reports whether the escape that begins behind a backslash stands for half of a surrogate pair.
func half(text string) bool {
	if len(text) < 5 || text[0] != 'u' {
		return false
	}
	n, err := strconv.ParseUint(text[1:5], 16, 16)
	return err == nil && utf16.IsSurrogate(rune(n))
}

// escaped reports whether the escape that begins behind a backslash stands for a character that JSON escapes.
func escaped(text string, class bool) bool {
	digits := ""
	switch text[0] {
	case 'x':
		digits = text[1:min(len(text), 3)]
	case 'u':
		if digits = text[1:min(len(text), 5)]; strings.HasPrefix(digits, "{") {
			digits, _, _ = strings.Cut(text[2:], "}")
		}
	case 'c':
		return true
	case 'b':
		return class
	default:
		return strings.IndexByte(`\"nrtfv0ae`, text[0]) >= 0
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	return err == nil && (n < ' ' || n == '"' || n == '\\')
}
