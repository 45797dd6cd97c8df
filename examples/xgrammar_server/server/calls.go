package server

import (
	"crypto/rand"
	"strings"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// calls splits the text of an answer that may have calls of tools, as it comes, into parts of messages.
type calls struct {
	syntax xgrammar.ToolSyntax
	text   string // that may be the beginning of something
	in     place
	number int // of calls

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

// add returns what the text adds to the message.
func (c *calls) add(text string) (all []message) {
	c.text += text
	say := func(text string) {
		if text != "" {
			all = append(all, message{Content: new(content(text))})
		}
	}
	for c.text != "" {
		switch c.in {
		case outside:
			before, call, found := strings.Cut(c.text, c.syntax.Begin)
			if !found {
				n := held(c.text, c.syntax.Begin)
				say(c.text[:len(c.text)-n])
				c.text = c.text[len(c.text)-n:]
				return all
			}
			say(before)
			c.text, c.in = call, name
		case name:
			function, rest, found := strings.Cut(c.text, c.syntax.Middle)
			if !found {
				return all
			}
			all = append(all, message{ToolCalls: []toolCall{{c.number, "call_" + rand.Text(), "function", functionCall{Name: function}}}})
			c.text, c.in = rest, arguments
		case arguments:
			n := c.object()
			all = append(all, message{ToolCalls: []toolCall{{Index: c.number, Function: functionCall{Arguments: c.text[:n]}}}})
			if c.text = c.text[n:]; c.depth == 0 {
				c.number, c.in = c.number+1, ending
			}
		case ending:
			if len(c.text) < len(c.syntax.End) && strings.HasPrefix(c.syntax.End, c.text) {
				return all
			}
			c.text, c.in = strings.TrimPrefix(c.text, c.syntax.End), outside
		}
	}
	return all
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
func (c *calls) end() string {
	switch c.in {
	case outside:
		return c.text
	case name:
		return c.syntax.Begin + c.text
	}
	return ""
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

// join adds a part to a message.
func (m *message) join(part message) {
	if part.Content != nil {
		if m.Content == nil {
			m.Content = new(content(""))
		}
		*m.Content += *part.Content
	}
	for _, c := range part.ToolCalls {
		if c.Index == len(m.ToolCalls) {
			m.ToolCalls = append(m.ToolCalls, c)
		} else {
			m.ToolCalls[c.Index].Function.Arguments += c.Function.Arguments
		}
	}
}

// splitter turns the parts of a choice into parts of its message.
type splitter func(text, finish string) (parts []message, why string)

// splitter returns a new one. An answer that ends with calls ends because of them.
func (r *request) splitter() splitter {
	if len(r.Tools) == 0 {
		return func(text, finish string) ([]message, string) {
			if text == "" {
				return nil, finish
			}
			return []message{{Content: new(content(text))}}, finish
		}
	}
	c := calls{syntax: xgrammar.Qwen}
	return func(text, finish string) ([]message, string) {
		parts := c.add(text)
		if finish == "" {
			return parts, ""
		}
		if rest := c.end(); rest != "" {
			parts = append(parts, message{Content: new(content(rest))})
		}
		if finish == "stop" && c.number > 0 {
			finish = "tool_calls"
		}
		return parts, finish
	}
}
