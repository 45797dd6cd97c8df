package xgrammar

import (
	"strconv"
	"strings"
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
	if p.inner {
		c.add(at, Looser, "XGrammar does not look at ^ and $ inside of a pattern")
	}
	if p.raw {
		c.add(at, NotJSON, "the pattern describes the text between the quotes, so a quote, a backslash or a control character in it is written as it is")
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
