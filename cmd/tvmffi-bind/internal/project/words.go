package project

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	yamltoken "github.com/goccy/go-yaml/token"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// words gives each word of a configuration that stands without quotes the meaning that its place asks for. The YAML reader
// makes numbers of words first, so a version 0.10 becomes 0.1. Where a text is expected, the text is what the user wrote.
type words struct {
	file    string
	anchors map[string]anchored
}

// anchored is a node with an anchor, and the type of the place in which it stands.
type anchored struct {
	node ast.Node
	t    reflect.Type
}

// asWritten returns the tree of a configuration with the words that its places ask for.
func asWritten(file string, node ast.Node, t reflect.Type) (ast.Node, error) {
	return words{file, map[string]anchored{}}.in(node, t)
}

// in returns a node as the node of a value of type t.
func (w words) in(node ast.Node, t reflect.Type) (ast.Node, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var err error
	switch node.(type) {
	case *ast.SequenceNode, *ast.MappingNode:
		if t == reflect.TypeFor[hints.Constant]() {
			return nil, w.errorf(node, "found a list or a mapping, expected null, a bool, a number or a string")
		}
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		n.Value, err = w.in(n.Value, t)
		w.anchors[n.Name.GetToken().Value] = anchored{n.Value, t}
		return n, err
	case *ast.AliasNode:
		from, ok := w.anchors[n.Value.GetToken().Value]
		if ok && from.t != t {
			return nil, w.errorf(node, "the entry *%s stands for one of another kind: write it out", n.Value.GetToken().Value)
		}
		return n, nil
	case *ast.TagNode:
		if n.Start.Value != "!!str" {
			return nil, w.errorf(node, "the tag %s is not known here: write the value without it", n.Start.Value)
		}
		return w.text(n.Value)
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if err := w.entry(entry, t); err != nil {
				return nil, err
			}
		}
		return n, nil
	case *ast.MappingValueNode:
		return n, w.entry(n, t)
	case *ast.SequenceNode:
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for i := range n.Values {
			if n.Values[i], err = w.in(n.Values[i], t); err != nil {
				return nil, err
			}
		}
		return n, nil
	}
	switch {
	case t == reflect.TypeFor[hints.Constant]():
		return w.constant(node)
	case t == reflect.TypeFor[OneOrMore](), t.Kind() == reflect.String:
		return w.text(node)
	}
	return node, nil
}

// entry looks at the key and the value of an entry of a value of type t.
func (w words) entry(entry *ast.MappingValueNode, t reflect.Type) error {
	if entry.Key.IsMergeKey() { // its value is a mapping, or a list of mappings, for the same place
		var err error
		entry.Value, err = w.in(entry.Value, t)
		return err
	}
	of := reflect.TypeFor[bool]() // an unknown key: the YAML reader refuses it
	switch t.Kind() {
	case reflect.Map:
		key, err := w.text(entry.Key)
		if err != nil {
			return err
		}
		if k, ok := key.(ast.MapKeyNode); ok {
			entry.Key = k
		}
		of = t.Elem()
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) { // those of embedded structs, too
			if key, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); key != "" && key == entry.Key.GetToken().Value {
				of = field.Type
			}
		}
	}
	var err error
	entry.Value, err = w.in(entry.Value, of)
	return err
}

// text returns a node for the characters of a word. An entry without a value remains one.
func (w words) text(node ast.Node) (ast.Node, error) {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return ast.String(node.GetToken()), nil
	case *ast.NullNode:
		if t := node.GetToken(); strings.TrimSpace(t.Origin) == t.Value && t.Type == yamltoken.NullType {
			return nil, w.errorf(node, "%s is nothing in YAML, expected a text: write %q in quotes, or remove the entry", t.Value, t.Value)
		}
	}
	return node, nil
}

// constant returns a node for a constant: YAML 1.2 decides what a word is.
func (w words) constant(node ast.Node) (ast.Node, error) {
	t := node.GetToken()
	if text, ok := node.(*ast.StringNode); ok && (t.Type == yamltoken.SingleQuoteType || t.Type == yamltoken.DoubleQuoteType || strings.Contains(text.Value, "\n")) {
		return node, nil
	}
	switch node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
	default:
		return node, nil
	}
	c, err := hints.ParseWord(t.Value)
	if err != nil {
		return nil, w.errorf(node, "%w", err)
	}
	switch v := c.Value.(type) {
	case int64:
		n := ast.Integer(t)
		n.Value = v
		return n, nil
	case float64:
		n := ast.Float(t)
		n.Value = v
		return n, nil
	}
	return node, nil
}

func (w words) errorf(node ast.Node, format string, args ...any) error {
	p := node.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %w", w.file, p.Line, p.Column, fmt.Errorf(format, args...))
}
