package grammar

import (
	"fmt"
	"strconv"
	"strings"
)

// XGrammar follows all ways to read a text at once. Where a grammar has very many, one mask can
// take minutes and all memory, and nothing can stop it. This file reads regular expressions
// and EBNF far enough to refuse what multiplies: a quantifier around a text that may be empty,
// quantifiers nested in quantifiers, counts in counts.

// tree is a part of an expression.
type tree struct {
	op    op
	parts []*tree
	rule  string // of refer
	most  int    // of repeat; 1 if there is no bound
	open  bool   // of repeat: there is no bound
	least int    // of repeat
	size  int    // of character: bytes, 1 at least
}

type op int

const (
	character op = iota
	nothing      // an anchor, or an empty alternative
	sequence
	choice
	repeat
	refer
)

// reader reads an expression. The two languages differ in a few places.
type reader struct {
	limits    Limits
	item      string
	ebnf      bool
	text      string
	at        int
	depth     int // how many groups may be nested
	unbounded int
}

func (l Limits) checkRegex(item, source string) error {
	if len(source) > l.Regex {
		return &Error{TooLarge, item, fmt.Sprintf("a regular expression of %d bytes", len(source)), fmt.Sprintf("%d at most", l.Regex)}
	}
	r := &reader{limits: l, item: item, text: source, depth: l.Groups}
	t, err := r.choice(0)
	if err != nil {
		return err
	}
	if r.unbounded > l.Unbounded {
		return &Error{TooExpensive, item, fmt.Sprintf("%d unbounded quantifiers", r.unbounded), fmt.Sprintf("%d at most", l.Unbounded)}
	}
	e := &estimate{limits: l, item: item}
	if _, err := e.cost(t); err != nil {
		return err
	}
	return l.short(item, e.shortest(t))
}

// choice reads alternatives until the end of a group, of a rule or of the text.
func (r *reader) choice(depth int) (*tree, error) {
	if depth > r.depth {
		return nil, &Error{TooDeep, r.item, "deeper groups", fmt.Sprintf("%d levels at most", r.depth)}
	}
	c := &tree{op: choice}
	for {
		s, err := r.sequence(depth)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, s)
		if r.at >= len(r.text) || r.text[r.at] != '|' {
			return c, nil
		}
		r.at++
	}
}

func (r *reader) sequence(depth int) (*tree, error) {
	s := &tree{op: sequence}
	for {
		if r.ebnf {
			r.skipSpace()
		}
		if r.at >= len(r.text) || r.text[r.at] == '|' || r.text[r.at] == ')' && depth > 0 || r.ebnf && r.ruleBegins() {
			return s, nil
		}
		e, err := r.operand(depth)
		if err != nil {
			return nil, err
		}
		if e, err = r.quantifiers(e); err != nil {
			return nil, err
		}
		s.parts = append(s.parts, e)
	}
}

// operand reads what a quantifier may follow.
func (r *reader) operand(depth int) (*tree, error) {
	c := r.text[r.at]
	r.at++
	switch {
	case c == '(':
		if strings.HasPrefix(r.text[r.at:], "?:") {
			r.at += 2
		}
		e, err := r.choice(depth + 1)
		r.at++ // the end, or the end of the text, which XGrammar reports
		return e, err
	case c == '[':
		r.until(']')
		return &tree{op: character, size: 1}, nil
	case c == '"' && r.ebnf:
		n := r.until('"')
		if n == 0 {
			return &tree{op: nothing}, nil
		}
		return &tree{op: character, size: n}, nil
	case c == '\\':
		r.at++
		return &tree{op: character, size: 1}, nil
	case (c == '^' || c == '$') && !r.ebnf:
		return &tree{op: nothing}, nil
	case r.ebnf && letter(c):
		r.at--
		return &tree{op: refer, rule: r.name()}, nil
	}
	return &tree{op: character, size: 1}, nil
}

// until moves behind the end of a class or a string, and returns how long it was.
func (r *reader) until(end byte) int {
	from := r.at
	for r.at < len(r.text) && r.text[r.at] != end {
		if r.text[r.at] == '\\' {
			r.at++
		}
		r.at++
	}
	r.at++
	return r.at - 1 - from
}

// quantifiers reads those that follow an operand.
func (r *reader) quantifiers(e *tree) (*tree, error) {
	for {
		if r.ebnf {
			r.skipSpace()
		}
		if r.at >= len(r.text) {
			return e, nil
		}
		q := &tree{op: repeat, parts: []*tree{e}, most: 1}
		switch r.text[r.at] {
		case '*':
			q.open = true
		case '+':
			q.open, q.least = true, 1
		case '?': // also after a quantifier, where it changes nothing
		case '{':
			if err := r.count(q); err != nil {
				return nil, err
			}
		default:
			return e, nil
		}
		if q.open {
			r.unbounded++
		}
		r.at++
		if e.op == repeat && q.most == 1 && !q.open && q.least == 0 && !r.ebnf {
			continue // a lazy quantifier
		}
		e = q
	}
}

// count reads {2}, {2,} or {2,5} up to the closing brace.
func (r *reader) count(q *tree) error {
	inner, _, closed := strings.Cut(r.text[r.at+1:], "}")
	low, high, two := strings.Cut(inner, ",")
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	var err error
	if q.least, err = strconv.Atoi(low); err == nil {
		switch {
		case !two:
			q.most = q.least
		case high == "":
			q.open, q.most = true, max(q.least, 1)
		default:
			q.most, err = strconv.Atoi(high)
		}
	}
	if err != nil && !strings.Contains(err.Error(), "range") || !closed {
		return &Error{Invalid, r.item, fmt.Sprintf("the count {%.20s}", inner), "numbers such as {2}, {2,} or {2,5}"}
	}
	if err != nil || q.most > r.limits.Repeat || q.least > r.limits.Repeat {
		return tooMany(r.item, inner, r.limits)
	}
	r.at += 1 + len(inner)
	return nil
}

func tooMany(item, count string, l Limits) *Error {
	return &Error{TooExpensive, item, fmt.Sprintf("%.20s repetitions, counts in counts multiplied", count), fmt.Sprintf("%d at most", l.Repeat)}
}
