package project

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"

	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// positioned puts file, line and column in front of an error of the YAML reader.
func positioned(file string, err error) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	p := e.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column, explained(e))
}

// explained returns the message of an error of the YAML reader in terms of the
// configuration, not of the Go types of this tool.
func explained(e yaml.Error) string {
	message, word := e.GetMessage(), e.GetToken().Value
	switch e := e.(type) {
	case *yaml.UnknownFieldError:
		keys := slices.Concat(keysOf(reflect.TypeFor[Config]()), keysOf(reflect.TypeFor[LibrarySpec]()), keysOf(reflect.TypeFor[KernelSpec]()), keysOf(reflect.TypeFor[hints.Item]()), keysOf(reflect.TypeFor[hints.Enum]()))
		slices.Sort(keys)
		if near := nearest.Question(word, slices.Compact(keys)); near != "" {
			return message + near
		}
		if e.Token.Position.Column == 1 {
			return message + ": the keys are " + strings.Join(keysOf(reflect.TypeFor[Config]()), ", ")
		}
	case *yaml.TypeError:
		switch e.DstType.Kind() {
		case reflect.Bool:
			return fmt.Sprintf("%q is not a boolean: write true or false", word)
		case reflect.String:
			return "found a list or a mapping, expected a string: write one value"
		}
	case *yaml.UnexpectedNodeTypeError:
		switch e.Expected {
		case ast.SequenceType:
			return message + ": write a list, one item per line, each after a dash"
		case ast.MappingType:
			return message + ": write key: value"
		}
	case *yaml.SyntaxError:
		if strings.Contains(message, "mapping value is not allowed") {
			return message + ": put a string that contains a colon in quotes"
		}
	}
	return message
}

// keysOf lists the YAML keys of a struct, in order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		key, option, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			keys = append(keys, keysOf(field.Type)...)
		case key != "":
			keys = append(keys, key)
		}
	}
	return keys
}

// locate returns "file:line:column" of the node at a YAML path such as
// $.libraries[0], or of the nearest node above it.
func locate(file string, data []byte, path string) string {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return file
	}
	for path != "" {
		if node := nodeAt(tree, path); node != nil {
			p := entryToken(tree, node).Position
			return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return file + ":1:1"
}

func nodeAt(tree *ast.File, path string) ast.Node {
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	node, err := p.FilterFile(tree)
	if err != nil {
		return nil
	}
	return node
}

// entryToken is where the entry of a node starts. A mapping that stands under a key starts
// there, because what is wrong with it as a whole may be the key.
func entryToken(tree *ast.File, node ast.Node) *yamltoken.Token {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		for _, doc := range tree.Docs {
			if entry, ok := ast.Parent(doc, node).(*ast.MappingValueNode); ok && entry.Value == node {
				return entry.Key.GetToken()
			}
		}
	}
	return firstToken(node)
}

// firstToken is where a node starts; the token of a mapping is its first colon.
func firstToken(node ast.Node) *yamltoken.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}
