// Package pattern matches the regular expressions with which tokenizers split texts. They have the syntax of Oniguruma, with
// lookahead, which regexp in Go's library does not have. As there, the first alternative that matches counts.
//
// An expression reads Unicode 16, independently of the release of Go, and it finds matches without
// allocations.
package pattern

import (
	"errors"
	"unicode/utf8"
)

// Pattern is a compiled expression. Several goroutines may use it at once.
type Pattern struct {
	code  []instruction
	first [256]bool // the bytes with which a match may begin
}

type instruction struct {
	op       byte   // c(lass), *, |, j(ump), l(ook), <, ^, $, m(atch)
	mode     byte   // of *
	not      bool   // of a look
	class    *Class // of c, * and <
	min, max int    // of *
	to       int    // of j; the second way of |; what follows a look
}

// Compile reads an expression. A group that is repeated without a limit, or in which something is so and which is itself
// repeated, is an error.
func Compile(expression string) (*Pattern, error) {
	p := &parser{text: expression, classes: map[string]*Class{}}
	if len(expression) > maxExpression {
		return nil, errors.New("an expression of more than 16384 bytes is not supported")
	}
	if !utf8.ValidString(expression) {
		return nil, errors.New("an expression is not UTF-8")
	}
	root, err := p.choice()
	if err != nil {
		return nil, err
	}
	if p.more() {
		return nil, p.fail("want the end of the expression")
	}
	c := &compiler{p: p}
	c.emit(root)
	c.add(instruction{op: 'm'})
	if c.err != nil {
		return nil, c.err
	}
	all := &Pattern{code: c.code}
	if starts(c.code, 0, &all.first, map[int]bool{}) {
		for b := range all.first {
			all.first[b] = true
		}
	}
	return all, nil
}

type compiler struct {
	p    *parser
	code []instruction
	err  error
}

// maxCode bounds the instructions of an expression: counts repeat what they count.
const maxCode = 10_000

func (c *compiler) add(i instruction) int {
	if len(c.code) >= maxCode {
		c.err = c.p.fail("the expression is too large: counts repeat what they count")
		return 0
	}
	c.code = append(c.code, i)
	return len(c.code) - 1
}

// unlimited reports whether a part repeats something without a limit.
func unlimited(n *node) bool {
	for _, part := range n.parts {
		if unlimited(part) {
			return true
		}
	}
	return n.op == '*' && n.max < 0
}

func (c *compiler) emit(n *node) {
	if c.err != nil {
		return
	}
	switch n.op {
	case 'c':
		c.add(instruction{op: 'c', class: n.class})
	case '^', '$':
		c.add(instruction{op: n.op})
	case 's':
		for _, part := range n.parts {
			c.emit(part)
		}
	case '|':
		var ends []int
		for i, part := range n.parts {
			if i == len(n.parts)-1 {
				c.emit(part)
				break
			}
			split := c.add(instruction{op: '|', mode: 'g'})
			c.emit(part)
			ends = append(ends, c.add(instruction{op: 'j'}))
			c.to(split)
		}
		for _, end := range ends {
			c.to(end)
		}
	case 'l':
		if n.behind {
			c.add(instruction{op: '<', class: n.parts[0].parts[0].class, not: n.not})
			return
		}
		if !simple(n.parts[0]) {
			c.err = c.p.fail("in (?= and (?!, a row of runes and classes is supported")
			return
		}
		look := c.add(instruction{op: 'l', not: n.not})
		c.emit(n.parts[0])
		c.add(instruction{op: 'm'})
		c.to(look)
	case '*':
		c.repeat(n)
	}
}

// simple reports whether a part is a row of runes and classes, in which nothing goes back.
func simple(n *node) bool {
	for _, part := range n.parts {
		if !simple(part) {
			return false
		}
	}
	return n.op == 'c' || n.op == 's' || n.op == '$'
}

func (c *compiler) repeat(n *node) {
	part := n.parts[0]
	for part.op == 's' && len(part.parts) == 1 {
		part = part.parts[0]
	}
	if part.op == 'c' {
		c.add(instruction{op: '*', class: part.class, min: n.min, max: n.max, mode: n.mode})
		return
	}
	if n.max < 0 || n.max > 1 && unlimited(part) || n.mode == 'p' {
		c.err = errors.New("in " + c.p.text + ": a group that is repeated without a limit, or possessively, is not supported")
		return
	}
	for range n.min {
		c.emit(part)
	}
	var ends []int
	for range n.max - n.min {
		ends = append(ends, c.add(instruction{op: '|', mode: n.mode}))
		c.emit(part)
	}
	for _, end := range ends {
		c.to(end)
	}
}

// to makes an instruction lead to the next one.
func (c *compiler) to(i int) {
	if c.err == nil {
		c.code[i].to = len(c.code)
	}
}

// starts adds the bytes with which a match from an instruction on may begin, and reports whether it may be empty.
func starts(code []instruction, at int, first *[256]bool, seen map[int]bool) bool {
	for !seen[at] {
		seen[at] = true
		switch i := code[at]; i.op {
		case 'm':
			return true
		case 'c', '*':
			for b, is := range i.class.first {
				first[b] = first[b] || is
			}
			if i.op == 'c' || i.min > 0 {
				return false
			}
			at++
		case '|':
			if starts(code, at+1, first, seen) {
				return true
			}
			at = i.to
		case 'j', 'l':
			at = i.to
		default:
			at++
		}
	}
	return false
}

// Machine has the memory of a search. One goroutine at a time uses it.
type Machine struct {
	stack []saved
	turns int                 // how often this match went back
	seen  map[[2]int]struct{} // where it went back to, after many turns
}

// manyTurns is how often a match may go back, beside 4 times for each byte, before it remembers to which places. From one that
// it knows, it fails again. So the time of a match is polynomial, whatever the expression is.
const manyTurns = 2000

// saved is a place to return to: of a loop, it may end at each rune from low to at.
type saved struct{ code, at, low int }

// Find returns where the first match in text from at on begins and ends, as bytes. A match that is empty does not count.
func (p *Pattern) Find(m *Machine, text []byte, at int) (start, end int, found bool) {
	for at < len(text) {
		if p.first[text[at]] {
			if m.turns = 0; len(m.seen) > 0 {
				clear(m.seen)
			}
			if end := p.match(m, text, at, 0); end > at {
				return at, end, true
			}
		}
		if at++; at < len(text) && !utf8.RuneStart(text[at]) {
			for at < len(text) && !utf8.RuneStart(text[at]) {
				at++
			}
		}
	}
	return 0, 0, false
}

// match returns the end of a match from at on, or -1.
func (p *Pattern) match(m *Machine, text []byte, at, pc int) int {
	base := len(m.stack)
	for {
		i := &p.code[pc]
		ok := true
		switch i.op {
		case 'c':
			n := i.class.next(text[at:])
			ok, at, pc = n > 0, at+n, pc+1
		case '*':
			count := 0
			for ; count < i.min; count++ {
				n := i.class.next(text[at:])
				if n == 0 {
					ok = false
					break
				}
				at += n
			}
			if !ok {
				break
			}
			low := at
			pc++
			if i.mode == 'l' {
				if i.max != count {
					m.stack = append(m.stack, saved{pc - 1, at, -1 - count})
				}
				break
			}
			for i.max < 0 || count < i.max {
				n := i.class.next(text[at:])
				if n == 0 {
					break
				}
				at += n
				count++
			}
			if at > low && i.mode == 'g' {
				m.stack = append(m.stack, saved{pc, at, low})
			}
		case '|':
			other := saved{i.to, at, at}
			if pc++; i.mode == 'l' {
				other.code, pc = pc, i.to
			}
			m.stack = append(m.stack, other)
		case 'j':
			pc = i.to
		case 'l':
			ok = p.match(m, text, at, pc+1) >= 0 != i.not
			pc = i.to
		case '<':
			r, n := utf8.DecodeLastRune(text[:at])
			ok = (n > 0 && i.class.Has(r)) != i.not
			pc++
		case '^':
			ok = at == 0 || text[at-1] == '\n'
			pc++
		case '$':
			ok = at == len(text) || text[at] == '\n'
			pc++
		case 'm':
			m.stack = m.stack[:base]
			return at
		}
		if ok {
			continue
		}
		if pc, at = p.back(m, text, base); pc < 0 {
			return -1
		}
	}
}

// back takes the latest place to return to, or returns -1.
func (p *Pattern) back(m *Machine, text []byte, base int) (pc, at int) {
	for len(m.stack) > base {
		top := &m.stack[len(m.stack)-1]
		pc, at = top.code, top.at
		switch {
		case top.low < 0: // a lazy loop takes one more; -1-low is how many it has
			i := &p.code[pc]
			n := i.class.next(text[at:])
			if top.at, top.low = at+n, top.low-1; n == 0 || i.max == -1-top.low {
				m.stack = m.stack[:len(m.stack)-1]
			}
			if n == 0 {
				continue
			}
			pc, at = pc+1, at+n
		case at > top.low: // a greedy loop gives one back
			for at--; !utf8.RuneStart(text[at]); at-- {
			}
			if top.at = at; at == top.low {
				m.stack = m.stack[:len(m.stack)-1]
			}
		default:
			m.stack = m.stack[:len(m.stack)-1]
		}
		if m.turns++; m.turns > manyTurns+4*len(text) {
			if m.seen == nil {
				m.seen = map[[2]int]struct{}{}
			}
			place := [2]int{pc, at}
			if _, known := m.seen[place]; known {
				continue
			}
			m.seen[place] = struct{}{}
		}
		return pc, at
	}
	return -1, 0
}
