package server

import (
	"crypto/rand"
	"strings"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// part is what a piece of an answer adds to its message.
type part struct {
	message
	// The content goes on a text that begins at a byte of the answer, and it ends at one. Behind a cut, the text does not go on.
	from, end int
	cut       bool
	// tokens are those of the content, if the request wants their probabilities.
	tokens []tokenLogProb
}

// calls splits the text of an answer that may have calls of tools, as it comes, into parts.
type calls struct {
	syntax   xgrammar.ToolSyntax
	text     string // that may be the beginning of something
	at, from int    // the byte of the answer at which it begins, and at which its content began
	in       place
	number   int // of calls

	depth           int // of the arguments
	quoted, escaped bool
}

// place is where the text is.
type place int

const (
	outside   place = iota
	name            // of a call
	arguments       // of a call: an object of JSON
	ending          // behind the arguments
)

// take takes bytes from the beginning of the text.
func (c *calls) take(n int) (text string) {
	text, c.text = c.text[:n], c.text[n:]
	c.at += n
	return text
}

// say is content at the beginning of the text.
func (c *calls) say(n int, cut bool) part {
	text := c.take(n)
	return part{message: message{Content: new(content(text))}, from: c.from, end: c.at, cut: cut}
}

// behind reports whether the text begins right behind a call.
func (c *calls) behind() bool { return c.number > 0 && c.from == c.at }

// add returns what the text adds to the message.
func (c *calls) add(text string) (all []part) {
	call := func(one toolCall) { all = append(all, part{message: message{ToolCalls: []toolCall{one}}}) }
	for c.text += text; ; {
		switch c.in {
		case outside:
			i := strings.Index(c.text, c.syntax.Begin)
			if c.behind() {
				separator := len(c.text) - len(strings.TrimLeft(c.text, xgrammar.CallSeparator))
				if i < 0 && held(c.text[separator:], c.syntax.Begin) == len(c.text)-separator {
					return all // there may come one, or nothing
				}
				if separator == i {
					c.take(i)
					c.from, i = c.at, 0
				}
			}
			if i < 0 {
				return append(all, c.say(len(c.text)-held(c.text, c.syntax.Begin), false))
			}
			all = append(all, c.say(i, true))
			c.take(len(c.syntax.Begin))
			c.in = name
		case name:
			i := strings.Index(c.text, c.syntax.Middle)
			if i < 0 {
				return all
			}
			call(toolCall{c.number, "call_" + rand.Text(), "function", functionCall{Name: c.take(i)}})
			c.take(len(c.syntax.Middle))
			c.in = arguments
		case arguments:
			n := c.object()
			if n > 0 {
				call(toolCall{Index: c.number, Function: functionCall{Arguments: c.take(n)}})
			}
			if n == 0 || c.depth > 0 {
				return all
			}
			c.number, c.in = c.number+1, ending
		case ending:
			if len(c.text) < len(c.syntax.End) && strings.HasPrefix(c.syntax.End, c.text) {
				return all
			}
			if strings.HasPrefix(c.text, c.syntax.End) {
				c.take(len(c.syntax.End))
			}
			c.in, c.from = outside, c.at
		}
	}
}

// object returns the length of the text that belongs to the arguments.
func (c *calls) object() int {
	for i, b := range []byte(c.text) {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{' || b == '[':
			c.depth++
		case b == '}' || b == ']':
			if c.depth--; c.depth == 0 {
				return i + 1
			}
		}
	}
	return len(c.text)
}

// end returns what is left of a text that was cut off. Arguments may be cut off too, as those of OpenAI.
func (c *calls) end() part {
	switch c.in {
	case outside:
		if c.behind() && strings.Trim(c.text, xgrammar.CallSeparator) == "" {
			c.take(len(c.text))
		}
	case name: // the beginning of a call is content
		c.text, c.at = c.syntax.Begin+c.text, c.at-len(c.syntax.Begin)
	default:
		c.take(len(c.text))
	}
	return c.say(len(c.text), true)
}

// held returns how many bytes at the end of a text may be the beginning of another one.
func held(text, of string) int {
	for n := min(len(of)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, of[:n]) {
			return n
		}
	}
	return 0
}

// add adds a part to the message of a choice.
func (c *choice) add(p part, q *request) {
	m := c.Message
	if p.Content != nil {
		if m.Content == nil {
			m.Content, c.LogProbs = new(content("")), q.logProbs(nil)
		}
		if *m.Content += *p.Content; c.LogProbs != nil {
			c.LogProbs.Content = append(c.LogProbs.Content, p.tokens...)
		}
	}
	for _, call := range p.ToolCalls {
		if call.Index == len(m.ToolCalls) {
			m.ToolCalls = append(m.ToolCalls, call)
		} else {
			m.ToolCalls[call.Index].Function.Arguments += call.Function.Arguments
		}
	}
}

// end ends a choice. One without calls has content, which may be empty.
func (c *choice) end(finish string, q *request) {
	if c.Finish = &finish; len(c.Message.ToolCalls) == 0 {
		c.add(part{message: message{Content: new(content(""))}}, q)
	}
}

// splitter splits the text of a choice, as it comes, into parts of its message. The stops of a request are looked for in its content,
// not in the syntax of calls, and arguments are always whole.
type splitter struct {
	tail
	tools bool
	calls
	called  bool // a call has begun
	stopped bool
}

// splitter returns a new one.
func (r *request) splitter() *splitter {
	return &splitter{tail: tail{stops: r.Stop}, tools: len(r.Tools) > 0, calls: calls{syntax: xgrammar.Qwen}}
}

// add returns the parts that a text adds, and reports whether a stop is there, which ends the message. Content may be empty.
func (s *splitter) add(text string) (all []part, stopped bool) {
	if !s.tools {
		s.calls.text += text
		return s.stop([]part{s.say(len(s.calls.text), false)})
	}
	return s.stop(s.calls.add(text))
}

// rest returns the last part, and why the message ends. An answer that ends with calls ends because of them.
func (s *splitter) rest(finish string) (all []part, why string) {
	complete := s.number > 0
	if s.stopped {
		complete = s.called // before the stop
	} else {
		all, _ = s.stop([]part{s.end()})
	}
	if finish == "stop" && complete {
		finish = "tool_calls"
	}
	return all, finish
}

// stop holds back content that may be the beginning of a stop.
func (s *splitter) stop(all []part) ([]part, bool) {
	for i := range all {
		p := &all[i]
		if p.Content == nil {
			s.called = true
			continue
		}
		text, stopped := s.tail.add(string(*p.Content))
		if p.end -= len(s.tail.text); stopped {
			p.end, p.cut = p.end+len(text), true
		} else if p.cut {
			text, p.end, s.tail.text = text+s.tail.text, p.end+len(s.tail.text), ""
		}
		if *p.Content = content(text); stopped {
			s.stopped = true
			return all[:i+1], true
		}
	}
	return all, false
}
