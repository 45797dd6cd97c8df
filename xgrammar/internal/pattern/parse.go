package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A node is a part of an expression: one of class, sequence, choice, repeat, look and edge.
type node struct {
	op       byte // c, s, |, *, l, ^ or $
	class    *Class
	parts    []*node
	min, max int  // of a repeat; max is -1 without a limit
	mode     byte // of a repeat: g(reedy), l(azy), p(ossessive)
	not      bool // of a look
	behind   bool
}

type parser struct {
	text    string
	at      int
	fold    bool
	depth   int
	classes map[string]*Class
}

// Limits of expressions, so that a file of a stranger costs little. Those of tokenizers have fewer than 400 bytes and 20 classes.
const (
	maxExpression = 1 << 14
	maxDepth      = 50
	maxRepeat     = 1000
	maxClasses    = 200
)

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("at byte %d of %q: %s", p.at, p.text, fmt.Sprintf(format, args...))
}

func (p *parser) more() bool          { return p.at < len(p.text) }
func (p *parser) is(text string) bool { return strings.HasPrefix(p.text[p.at:], text) }
func (p *parser) take(text string) bool {
	if !p.is(text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *parser) rune() rune {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	return r
}

func (p *parser) choice() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("groups deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	var all []*node
	for {
		s := &node{op: 's'}
		for p.more() && !p.is("|") && !p.is(")") {
			part, err := p.repeat()
			if err != nil {
				return nil, err
			}
			s.parts = append(s.parts, part)
		}
		all = append(all, s)
		if !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return &node{op: '|', parts: all}, nil
}

func (p *parser) repeat() (*node, error) {
	part, err := p.atom()
	for err == nil && p.more() {
		r := &node{op: '*', parts: []*node{part}, min: 0, max: -1, mode: 'g'}
		start, counted := p.at, false
		switch {
		case p.take("*"):
		case p.take("+"):
			r.min = 1
		case p.take("?"):
			r.max = 1
		case p.take("{"):
			text, _, ok := strings.Cut(p.text[p.at:], "}")
			low, high, two := strings.Cut(text, ",")
			if !two {
				high = low
			}
			var errs [2]error
			if r.min, errs[0] = strconv.Atoi(low); low == "" && two {
				r.min, errs[0] = 0, nil
			}
			if r.max, errs[1] = strconv.Atoi(high); high == "" && two {
				r.max, errs[1] = -1, nil
			}
			if !ok || errs[0] != nil || errs[1] != nil || r.min < 0 || r.max >= 0 && r.max < r.min || max(r.min, r.max) > maxRepeat {
				p.at = start
				return nil, p.fail("want a count of at most %d, such as {1,3}", maxRepeat)
			}
			p.at += len(text) + 1
			counted = true
		default:
			return part, nil
		}
		switch {
		case part.op == 'l' || part.op == '^' || part.op == '$':
			return nil, p.fail("a place cannot be repeated")
		case part.op == '*':
			return nil, p.fail("a repeat of a repeat is not supported")
		case p.take("?"):
			r.mode = 'l'
		case !counted && p.take("+"): // {1,3}+ is a repeat of a repeat in Oniguruma
			r.mode = 'p'
		}
		part = r
	}
	return part, err
}

func (p *parser) literal(r rune) *node {
	ranges := []Range{{r, r}}
	for f := unicode.SimpleFold(r); p.fold && f != r; f = unicode.SimpleFold(f) {
		ranges = append(ranges, Range{f, f})
	}
	key := fmt.Sprint(ranges)
	if p.classes[key] == nil {
		p.classes[key] = NewClass(ranges, false)
	}
	return &node{op: 'c', class: p.classes[key]}
}

func (p *parser) atom() (*node, error) {
	if len(p.classes) > maxClasses {
		return nil, p.fail("more than %d different classes", maxClasses)
	}
	start := p.at
	switch r := p.rune(); r {
	case '(':
		return p.group()
	case '[':
		ranges, err := p.set()
		if err != nil {
			return nil, err
		}
		return p.class(p.text[start:p.at], ranges, false), nil
	case '.':
		return p.class(".", []Range{{'\n', '\n'}}, true), nil
	case '^', '$':
		return &node{op: byte(r)}, nil
	case '*', '+', '?', '{':
		p.at = start
		return nil, p.fail("nothing to repeat")
	case '\\':
		ranges, r, err := p.escape()
		if err != nil {
			return nil, err
		}
		if ranges == nil {
			return p.literal(r), nil
		}
		return p.class(p.text[start:p.at], ranges, false), nil
	default:
		return p.literal(r), nil
	}
}

func (p *parser) class(key string, ranges []Range, not bool) *node {
	key = fmt.Sprint(p.fold, key)
	if p.classes[key] == nil {
		p.classes[key] = NewClass(ranges, not)
	}
	return &node{op: 'c', class: p.classes[key]}
}

func (p *parser) group() (*node, error) {
	n := &node{op: 's'}
	fold := p.fold
	switch {
	case p.take("?:"):
	case p.take("?i:"):
		p.fold = true
	case p.take("?="):
		n = &node{op: 'l'}
	case p.take("?!"):
		n = &node{op: 'l', not: true}
	case p.take("?<="), p.take("?<!"):
		n = &node{op: 'l', behind: true, not: p.text[p.at-1] == '!'}
	case p.is("?"):
		return nil, p.fail("of groups, (?:, (?i:, (?=, (?!, (?<= and (?<! are supported")
	}
	inner, err := p.choice()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail("want )")
	}
	p.fold = fold
	n.parts = []*node{inner}
	if n.behind && (inner.op != 's' || len(inner.parts) != 1 || inner.parts[0].op != 'c') {
		return nil, p.fail("in (?<= and (?<!, one rune or one class is supported")
	}
	return n, nil
}

// escape reads what follows a backslash: a class, or one rune.
func (p *parser) escape() ([]Range, rune, error) {
	if !p.more() {
		return nil, 0, p.fail(`an escape after the backslash`)
	}
	hex := func(digits string) ([]Range, rune, error) {
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || n > unicode.MaxRune {
			return nil, 0, p.fail("%q is not the number of a rune", digits)
		}
		return nil, rune(n), nil
	}
	switch r := p.rune(); r {
	case 'r':
		return nil, '\r', nil
	case 'n':
		return nil, '\n', nil
	case 't':
		return nil, '\t', nil
	case 'f':
		return nil, '\f', nil
	case 'v':
		return nil, '\v', nil
	case 's':
		return Space, 0, nil
	case 'S':
		return invert(Space), 0, nil
	case 'd':
		return Category("Nd"), 0, nil
	case 'D':
		return invert(Category("Nd")), 0, nil
	case 'x':
		if p.take("{") {
			digits, _, _ := strings.Cut(p.text[p.at:], "}")
			p.at = min(p.at+len(digits)+1, len(p.text))
			return hex(digits)
		}
		start := p.at
		p.at = min(p.at+2, len(p.text))
		return hex(p.text[start:p.at])
	case 'u':
		start := p.at
		p.at = min(p.at+4, len(p.text))
		return hex(p.text[start:p.at])
	case 'p', 'P':
		if !p.take("{") {
			return nil, 0, p.fail("want { after \\%c", r)
		}
		name, _, ok := strings.Cut(p.text[p.at:], "}")
		p.at = min(p.at+len(name)+1, len(p.text))
		name, not := strings.CutPrefix(name, "^")
		ranges := Category(name)
		if name == "_word" { // for package tokenizer
			ranges = Words()
		} else if ranges == nil {
			ranges = scripts[name]
		}
		if ranges == nil || !ok {
			return nil, 0, p.fail("\\p{%s} is not supported: want a category of Unicode, such as L or Lu, or Han", name)
		}
		if not != (r == 'P') {
			ranges = invert(ranges)
		}
		return ranges, 0, nil
	default:
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return nil, 0, p.fail("\\%c is not supported: want \\r \\n \\t \\f \\v \\s \\S \\d \\D \\x \\u \\p \\P or a sign", r)
		}
		return nil, r, nil
	}
}

// set reads a class after its first bracket. As in Oniguruma, a bracket in it begins another set, and && is what both have.
func (p *parser) set() ([]Range, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("sets deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	not := p.take("^")
	var all, both []Range
	and := false
	done := func() {
		if and {
			all = invert(append(invert(all), invert(both)...))
		}
		and, both = true, all
	}
	for first := true; ; first = false {
		switch {
		case !p.more():
			return nil, p.fail("want ] at the end of a set")
		case p.is("[:"):
			return nil, p.fail("[: is not supported in a set: name a category by \\p{...}")
		case p.take("&&"):
			done()
			all = nil
			continue
		case p.take("["):
			inner, err := p.set()
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
			continue
		case p.is("]") && !first:
			p.at++
			if and {
				done()
			}
			if p.fold {
				all = folded(all)
			}
			if not {
				all = invert(all)
			}
			return all, nil
		}
		ranges, low, err := p.member()
		if err != nil {
			return nil, err
		}
		high := low
		if ranges == nil && p.is("-") && !p.is("-]") {
			p.at++
			if ranges, high, err = p.member(); err != nil {
				return nil, err
			}
			if ranges != nil || high < low {
				return nil, p.fail("want a range such as a-z")
			}
		}
		if ranges == nil {
			ranges = []Range{{low, high}}
		}
		all = append(all, ranges...)
	}
}

func (p *parser) member() ([]Range, rune, error) {
	r := p.rune()
	if r == '\\' {
		return p.escape()
	}
	return nil, r, nil
}

// folded adds the runes that differ in case. Tokenizers have none but ASCII letters in such sets.
func folded(all []Range) []Range {
	for _, r := range slices.Clone(all) {
		for at := r.Low; at <= min(r.High, unicode.MaxASCII); at++ {
			for f := unicode.SimpleFold(at); f != at; f = unicode.SimpleFold(f) {
				all = append(all, Range{f, f})
			}
		}
	}
	return all
}

// invert returns the other runes.
func invert(all []Range) (others []Range) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Range) int { return int(a.Low - b.Low) })
	at := rune(0)
	for _, r := range all {
		if r.Low > at {
			others = append(others, Range{at, r.Low - 1})
		}
		at = max(at, r.High+1)
	}
	if at <= unicode.MaxRune {
		others = append(others, Range{at, unicode.MaxRune})
	}
	return others
}
