package grammar

import (
	"fmt"
	"strings"
)

func letter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
}

// name reads the name of a rule.
func (r *reader) name() string {
	from := r.at
	for r.at < len(r.text) && (letter(r.text[r.at]) || '0' <= r.text[r.at] && r.text[r.at] <= '9' || r.text[r.at] == '-' || r.text[r.at] == '.') {
		r.at++
	}
	return r.text[from:r.at]
}

// skipSpace moves over white space and comments.
func (r *reader) skipSpace() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		case '#':
			if n := strings.IndexByte(r.text[r.at:], '\n'); n >= 0 {
				r.at += n
			} else {
				r.at = len(r.text)
			}
		default:
			return
		}
	}
}

// ruleBegins reports whether a name and ::= come next.
func (r *reader) ruleBegins() bool {
	if !letter(r.text[r.at]) {
		return false
	}
	from := r.at
	defer func() { r.at = from }()
	r.name()
	r.skipSpace()
	return strings.HasPrefix(r.text[r.at:], "::=")
}

func (l Limits) checkEBNF(source string) error {
	item := string(EBNF)
	if n := strings.Count(source, "::="); n > l.Rules {
		return &Error{TooLarge, item, fmt.Sprintf("%d rules", n), fmt.Sprintf("%d at most", l.Rules)}
	}
	r := &reader{limits: l, item: item, ebnf: true, text: source, depth: l.Nesting}
	e := &estimate{limits: l, item: item, rules: map[string]*tree{}}
	for r.skipSpace(); r.at < len(source); r.skipSpace() {
		if !r.ruleBegins() {
			return &Error{Invalid, item, fmt.Sprintf("%.20q at byte %d", source[r.at:], r.at), "a rule: name ::= ..."}
		}
		name := r.name()
		r.skipSpace()
		r.at += len("::=")
		t, err := r.choice(0)
		if err != nil {
			return err
		}
		if e.rules[name] != nil {
			return &Error{Invalid, item, fmt.Sprintf("the rule %.40q twice", name), "each rule once"}
		}
		e.rules[name] = t
		e.names = append(e.names, name)
		if r.at < len(source) && source[r.at] == ')' {
			return &Error{Invalid, item, fmt.Sprintf("a closing parenthesis at byte %d", r.at), "an opening one before it"}
		}
	}
	if e.rules["root"] == nil {
		return &Error{Invalid, item, "rules without root", "a rule that is called root"}
	}
	return e.all()
}

// estimate finds in a tree, and in the rules that it refers to, what multiplies.
type estimate struct {
	limits Limits
	item   string
	rules  map[string]*tree
	names  []string        // in the order of the source
	empty  map[string]bool // the rules that may be empty
	costs  map[string]*cost
	// lengths are those of the shortest texts of the rules; one without an end is not there.
	lengths map[string]int
}

// cost is what a part multiplies to: how deep unbounded quantifiers are nested in it, and the largest
// product of counts.
type cost struct{ stars, product int }

// mostStars is how deep quantifiers without a bound may be nested: ([a-z]+,)* has two.
const mostStars = 2

// all checks all rules.
func (e *estimate) all() error {
	e.empty, e.costs = map[string]bool{}, map[string]*cost{}
	for changed := true; changed; { // until no other rule turns out to be empty
		changed = false
		for _, name := range e.names {
			if !e.empty[name] && e.nullable(e.rules[name]) {
				e.empty[name], changed = true, true
			}
		}
	}
	for _, name := range e.names {
		if _, err := e.rule(name); err != nil {
			return err
		}
	}
	return e.ends()
}

// nullable reports whether a part may be the empty text.
func (e *estimate) nullable(t *tree) bool {
	switch t.op {
	case nothing:
		return true
	case sequence:
		for _, p := range t.parts {
			if !e.nullable(p) {
				return false
			}
		}
		return true
	case choice:
		for _, p := range t.parts {
			if e.nullable(p) {
				return true
			}
		}
	case repeat:
		return t.least == 0 || e.nullable(t.parts[0])
	case refer:
		return e.empty[t.rule]
	}
	return false
}

// rule returns the cost of a rule. A rule that refers to itself adds nothing there.
func (e *estimate) rule(name string) (cost, error) {
	if c := e.costs[name]; c != nil {
		return *c, nil
	}
	t := e.rules[name]
	if t == nil {
		return cost{}, &Error{Invalid, e.item, fmt.Sprintf("%.40q, which is not a rule", name), "the name of a rule"}
	}
	e.costs[name] = &cost{0, 1}
	c, err := e.cost(t)
	e.costs[name] = &c
	return c, err
}

func (e *estimate) cost(t *tree) (cost, error) {
	c := cost{0, 1}
	if t.op == refer {
		return e.rule(t.rule)
	}
	for _, p := range t.parts {
		inner, err := e.cost(p)
		if err != nil {
			return c, err
		}
		c.stars, c.product = max(c.stars, inner.stars), max(c.product, inner.product)
	}
	if t.op != repeat || t.most <= 1 && !t.open {
		return c, nil
	}
	if e.nullable(t.parts[0]) {
		return c, &Error{TooExpensive, e.item, "a quantifier around a text that may be empty", "a text of one character at least, such as (a+b)* for (a*b*)*"}
	}
	if t.open {
		c.stars++
	}
	c.product *= t.most
	if c.stars > mostStars {
		return c, &Error{TooExpensive, e.item, "an unbounded quantifier around two others", fmt.Sprintf("%d nested at most", mostStars)}
	}
	if c.product > e.limits.Repeat {
		return c, tooMany(e.item, fmt.Sprint(c.product), e.limits)
	}
	return c, nil
}
