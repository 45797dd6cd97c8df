package jsongraph

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// A map of a JSON graph has references to its keys, and two of them may be one key. The library keeps one of the two
// entries, so the reader refuses them. NaN is one word in JSON: all keys that are NaN become one.

// nodeText is a node, with the place of its data in the text if that is the whole value.
type nodeText struct {
	t          *nodeType
	start, end int
}

// remember notes a node that may be a key, or is a map.
func (c *graphChecker) remember(t *nodeType, start, end int) {
	i := len(c.starts) - 1
	switch {
	case t.kind == nodeMap && len(c.edges)-int(c.starts[i]) > 2:
		c.maps = append(c.maps, int32(i))
	case t.key != "":
		c.text = nodeText{t, start, end}
	}
}

// keysOnce returns an error if two entries of a map have one key.
func (c *graphChecker) keysOnce() error {
	for _, m := range c.maps {
		seen := map[any]bool{}
		for i := c.starts[m]; i < c.starts[m+1]; i += 2 {
			key := c.keyOf(c.edges[i])
			if seen[key] {
				return failure.Errorf(failure.KindValue, "%s: node %d has two entries with the key of node %d: one of them would be lost", badGraph, m, c.edges[i])
			}
			seen[key] = true
		}
	}
	return nil
}

// keyOf returns something that is equal for nodes that are the same key of a map.
func (c *graphChecker) keyOf(node int32) any {
	if int(node) >= len(c.texts) || c.texts[node].t == nil {
		return node
	}
	n := c.texts[node]
	type key struct{ key, value string }
	data := bytes.TrimSpace(c.data[n.start:n.end])
	var text string
	switch {
	case n.t.key == "float":
		x, err := strconv.ParseFloat(string(data), 64) // also NaN and Infinity
		if err == nil && math.IsNaN(x) {
			x = math.NaN()
		}
		text = strconv.FormatUint(math.Float64bits(x), 16)
	case bytes.ContainsRune(data, '\\') && utf8.Valid(data) && json.Unmarshal(data, &text) == nil: // with other bytes two texts could become one
		text = `"` + text
	case len(data) > 1 && data[0] == '"':
		text = string(data[:len(data)-1])
	default:
		text = string(data)
	}
	return key{n.t.key, text}
}

// checkWritten returns an error if the library has written a map whose keys are one key in JSON.
func checkWritten(text []byte) error {
	c := &graphChecker{jsonScanner: jsonScanner{data: text}, limits: graphLimits{nodes: math.MaxInt}, types: map[string]*nodeType{}, written: true}
	err := c.object(func(key []byte) error {
		if string(key) == "nodes" && c.peek() == '[' {
			return c.nodes()
		}
		return c.Value(1)
	})
	if err != nil {
		return err
	}
	return c.keysOnce()
}

// nanKeys counts the keys of a map that are NaN; the second is an error, because both would be one in JSON.
type nanKeys int

func (n *nanKeys) add(key abi.Any) {
	if key.TypeIndex != abi.TypeFloat || !math.IsNaN(math.Float64frombits(key.Bits)) {
		return
	}
	if *n++; *n > 1 {
		panic(failure.Errorf(failure.KindValue, "a map has two keys that are NaN: JSON has one, so one of the entries would be lost"))
	}
}
