package jsongraph

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// nodeKind says what the data of a node of a JSON graph means.
type nodeKind uint8

const (
	nodeOpaque   nodeKind = iota // no references
	nodeSequence                 // references to the elements
	nodeMap                      // references to keys and values in turn
	nodeDevice
	nodeBytes
	nodeObject // an object of fields, of which some are references
)

// nodeType is the type of nodes of a JSON graph.
type nodeType struct {
	kind nodeKind
	// key is the type key, if the data is the whole value, and object that of an object of fields.
	key, object string
	// fields are all fields of an object, and links those that are references.
	fields, links map[string]bool
	// narrow are the fields of an object to which the library may give another number.
	narrow map[string]*fields.Reader
	// bools are the fields of an object that are bools, and dtypes those that are data types.
	bools, dtypes map[string]bool
}

// nodeTypeOf looks a type up by its key. The error says that no object of the type can be made;
// libraries from 0.1.12 to 0.1.14 would end the process.
func nodeTypeOf(key string) (*nodeType, error) {
	kind, known := crossing.Named(key)
	switch class := crossing.Rows[kind].Class; {
	case !known || key != crossing.Rows[kind].Key:
	case class == crossing.Sequence:
		return &nodeType{kind: nodeSequence}, nil
	case class == crossing.Mapping:
		return &nodeType{kind: nodeMap}, nil
	case kind == crossing.KindDevice:
		return &nodeType{kind: nodeDevice, key: key}, nil
	case kind == crossing.KindBytes:
		return &nodeType{kind: nodeBytes, key: key}, nil
	}
	index, err := registry.IndexOfKey(key)
	if err != nil {
		return &nodeType{}, nil // the library says so
	}
	switch index {
	case abi.TypeNone, abi.TypeBool, abi.TypeInt, abi.TypeFloat, abi.TypeDataType, abi.TypeStr:
		return &nodeType{key: key}, nil
	case abi.TypeShape:
		return &nodeType{}, nil
	}
	if _, ok := capi.TypeAttribute(index, "__data_from_json__"); ok {
		return &nodeType{}, nil
	}
	info := capi.InfoOf(index)
	for depth := range info.Depth {
		if capi.GoString(capi.Ancestor(info, depth).Key) == "ffi.Enum" {
			return &nodeType{}, nil
		}
	}
	if !creatable(info) {
		return nil, failure.Errorf(failure.KindRuntime, "Type `%s` does not support reflection creation (no native creator or __ffi_new__ type attr)", key)
	}
	t := &nodeType{kind: nodeObject, object: key, fields: map[string]bool{}, links: map[string]bool{}, narrow: map[string]*fields.Reader{}, bools: map[string]bool{}, dtypes: map[string]bool{}}
	readers := codec.FieldsOf(index)
	for i := range readers {
		f := &readers[i]
		t.fields[f.Name] = true
		if f.Narrow() {
			t.narrow[f.Name] = f
		}
		switch f.Info.StaticTypeIndex {
		case abi.TypeBool:
			t.bools[f.Name] = true
		case abi.TypeDataType:
			t.dtypes[f.Name] = true
		case abi.TypeNone, abi.TypeInt, abi.TypeFloat:
		default:
			t.links[f.Name] = true
		}
	}
	return t, nil
}

// creatable reports whether the library can make an empty object of a type.
func creatable(info *abi.TypeInfo) bool {
	if info.Metadata != 0 && capi.PointerTo[abi.TypeMetadata](info.Metadata).Creator != 0 {
		return true
	}
	_, ok := capi.TypeAttribute(info.TypeIndex, "__ffi_new__")
	return ok
}

// graphChecker reads the text of a JSON graph and keeps its references.
type graphChecker struct {
	jsonScanner
	limits graphLimits
	types  map[string]*nodeType
	// edges[starts[i]:starts[i+1]] are the references of node i.
	edges  []int32
	starts []int32
	// texts has an item for each node, text is the item of the node that is being read, and maps are the nodes that are
	// maps with several entries.
	texts []nodeText
	text  nodeText
	maps  []int32
	// toNarrow are the references of narrow fields.
	toNarrow []narrowLink
	// written says that the library has written the text, and that nobody reads it now.
	written bool
}

const badGraph = "Invalid JSON Object Graph"

// checkGraph returns an error unless the library can read the graph safely. An error that the
// library would also report has the library's text.
func checkGraph(data []byte, limits graphLimits) error {
	if len(data) > limits.bytes || len(data) > math.MaxInt32 {
		return failure.Errorf(failure.KindValue, "%s: %d bytes are more than the limit of %d", badGraph, len(data), min(limits.bytes, math.MaxInt32))
	}
	c := &graphChecker{jsonScanner: jsonScanner{data: data}, limits: limits, types: map[string]*nodeType{}}
	if c.peek() != '{' {
		if err := c.Value(1); err != nil {
			return err
		}
		return failure.Errorf(failure.KindValue, "%s, expected an object", badGraph)
	}
	var root int64
	var hasRoot, hasNodes bool
	err := c.object(func(key []byte) (err error) {
		switch string(key) {
		case "root_index":
			if root, hasRoot = c.integer(); hasRoot {
				return nil
			}
		case "nodes":
			if c.peek() == '[' {
				hasNodes = true
				return c.nodes()
			}
		case "metadata":
		default:
			return failure.Errorf(failure.KindValue, "%s: it has the member %q, expected root_index, nodes and metadata", badGraph, key)
		}
		return c.Value(1)
	})
	if err == nil && c.peek() != 0 || err == nil && c.at < len(c.data) {
		err = c.fail("Extra data")
	}
	switch {
	case err != nil:
		return err
	case !hasRoot:
		return failure.Errorf(failure.KindValue, "%s, expected `root_index` integer field", badGraph)
	case !hasNodes:
		return failure.Errorf(failure.KindValue, "%s, expected `nodes` array field", badGraph)
	}
	if err := c.keysOnce(); err != nil {
		return err
	}
	if err := c.linksFit(); err != nil {
		return err
	}
	return c.follow(root)
}

// nodes reads the array of nodes.
func (c *graphChecker) nodes() error {
	c.starts = append(c.starts, 0)
	return c.array(func() error {
		if len(c.starts) > c.limits.nodes {
			return failure.Errorf(failure.KindValue, "%s: more than %d nodes", badGraph, c.limits.nodes)
		}
		c.text = nodeText{}
		if err := c.node(); err != nil {
			return err
		}
		c.texts = append(c.texts, c.text)
		c.starts = append(c.starts, int32(len(c.edges)))
		return nil
	})
}

// node reads a node. The library refuses a node that is not an object.
func (c *graphChecker) node() error {
	if c.peek() != '{' {
		return c.Value(2)
	}
	var t *nodeType
	start, end := 0, 0 // of the data
	later := -1        // where the data starts that came before the type
	err := c.object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			if c.peek() != '"' {
				return c.failNode("the type is not a string")
			}
			t, err = c.typeOf()
			return err
		case "data":
			c.peek()
			start = c.at
			if t != nil {
				err = c.nodeData(t)
			} else {
				later, err = start, c.Value(3)
			}
			end = c.at
			return err
		}
		return c.failNode(fmt.Sprintf("has the member %q, expected type and data", key))
	})
	if err == nil && later >= 0 && t != nil {
		after := c.at
		c.at = later
		err = c.nodeData(t)
		c.at = after
	}
	if err == nil && t != nil {
		c.remember(t, start, end)
	}
	return err
}

func (c *graphChecker) failNode(what string) error {
	return failure.Errorf(failure.KindValue, "%s: node %d %s", badGraph, len(c.starts)-1, what)
}

func (c *graphChecker) typeOf() (*nodeType, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	t, ok := c.types[string(key)]
	if !ok {
		if t, err = nodeTypeOf(string(key)); err != nil {
			if !c.written {
				return nil, err
			}
			t = &nodeType{}
		}
		c.types[string(key)] = t
	}
	return t, nil
}

// nodeData reads the data of a node of a known type.
func (c *graphChecker) nodeData(t *nodeType) error {
	first := len(c.edges)
	next := c.peek()
	switch {
	case t.kind == nodeSequence && next == '[':
		return c.links()
	case t.kind == nodeMap && next == '[':
		if err := c.links(); err != nil {
			return err
		}
		if n := len(c.edges) - first; n%2 != 0 {
			return failure.Errorf(failure.KindValue, "%s: Map/Dict data must contain an even number of [key, value] entries, got %d", badGraph, n)
		}
		return nil
	case t.kind == nodeDevice && next == '[':
		n := 0
		if err := c.array(func() error { n++; return c.deviceNumber() }); err != nil {
			return err
		}
		if n != 2 {
			return failure.Errorf(failure.KindValue, "%s: Device data must be an array of [device_type, device_id], got %d element(s)", badGraph, n)
		}
		return nil
	case t.kind == nodeBytes && next == '"':
		text, err := c.key()
		if err != nil {
			return err
		}
		if !isBase64(text) {
			return c.failNode("holds bytes that are not in base64")
		}
		return nil
	case t.kind == nodeObject && next == '{':
		return c.object(func(key []byte) error {
			if !t.fields[string(key)] {
				return c.failNode(fmt.Sprintf("has a value for %q, and its type %s has no such field: they are %s", key, t.object, strings.Join(slices.Sorted(maps.Keys(t.fields)), ", ")))
			}
			if t.links[string(key)] {
				err := c.link()
				if f := t.narrow[string(key)]; f != nil && err == nil {
					c.toNarrow = append(c.toNarrow, narrowLink{f, int32(len(c.starts) - 1), c.edges[len(c.edges)-1]})
				}
				return err
			}
			if t.bools[string(key)] {
				if err := c.truth(); err != nil {
					return err
				}
			}
			if f := t.narrow[string(key)]; f != nil {
				return c.narrowNumber(f)
			}
			if t.dtypes[string(key)] {
				return c.dataType()
			}
			return c.Value(4)
		})
	case t.key == "None" && next != 'n':
		return cmp.Or(c.Value(3), c.failNode("is None, and has data"))
	case t.key == "bool":
		if err := c.truth(); err != nil {
			return err
		}
	case t.key == "DataType":
		return c.dataType()
	}
	return c.Value(3)
}

// isBase64 reports whether text is bytes in base64, and each bit of it is one of theirs.
func isBase64(text []byte) bool {
	if len(text)%4 != 0 {
		return false
	}
	most := max(len(text)-4, 0)
	for _, b := range text[:most] {
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '+' || b == '/') {
			return false
		}
	}
	last := text[most:]
	var room [3]byte
	_, err := base64.StdEncoding.Strict().Decode(room[:], last)
	return err == nil && !bytes.ContainsAny(last, "\r\n")
}

// dataType reads the name of a data type. The library makes int32 of int0, and int8 of int8xvscale.
func (c *graphChecker) dataType() error {
	if c.peek() != '"' {
		return c.Value(4)
	}
	name, err := c.key()
	if err != nil {
		return err
	}
	bits := bytes.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	if zeros := bytes.TrimLeft(bits, "0"); len(zeros) < len(bits) && (len(zeros) == 0 || zeros[0] < '0' || zeros[0] > '9') {
		return c.failNode(fmt.Sprintf("has the data type %s of 0 bits, of which readers make another one", name))
	}
	if err := abi.Misread(string(name)); err != nil {
		return c.failNode("has a bad data type: " + err.Error())
	}
	return nil
}

// truth looks at the value of a bool, which follows. The library would make true of 2 and of 0.5.
func (c *graphChecker) truth() error {
	if next := c.peek(); next != '-' && (next < '0' || next > '9') {
		return nil
	}
	start := c.at
	n, isInt := c.integer()
	c.at = start
	if !isInt || n != 0 && n != 1 {
		return c.failNode("has a number for a bool, expected true or false")
	}
	return nil
}

// deviceNumber reads the type or the number of a device. The library cuts both to 32 bits.
func (c *graphChecker) deviceNumber() error {
	c.peek()
	start := c.at
	n, isInt := c.integer()
	if text := c.data[start:c.at]; isInt && n != int64(int32(n)) {
		return c.failNode(fmt.Sprintf("is a Device with %s, which does not fit int32", text))
	}
	c.at = start
	return c.Value(4)
}

// narrowNumber reads the value of a field to which the library may give another number.
func (c *graphChecker) narrowNumber(f *fields.Reader) error {
	c.peek()
	start := c.at
	if err := c.Value(4); err != nil {
		return err
	}
	return fits(f, c.data[start:c.at], len(c.starts)-1)
}

// fits returns an error if the number in a text is not one that a field of a node holds.
func fits(f *fields.Reader, text []byte, node int) error {
	s := jsonScanner{data: text}
	n, isInt := s.integer()
	v := codec.IntValue(n)
	if !isInt {
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return nil // not a number, or a larger one: the library says so
		}
		v = abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(x)}
	}
	if err := f.Check(v); err != nil {
		return failure.Annotate(fmt.Sprintf("%s: node %d", badGraph, node), err)
	}
	return nil
}

// narrowLink is a reference to a node by a field to which the library may give another number: a small Optional.
type narrowLink struct {
	field    *fields.Reader
	from, to int32
}

// linksFit returns an error if a narrow field refers to a node with a number that it does not hold.
func (c *graphChecker) linksFit() error {
	for _, l := range c.toNarrow {
		if int(l.to) >= len(c.texts) { // follow says so
			continue
		}
		if n := c.texts[l.to]; n.t != nil && (n.t.key == "int" || n.t.key == "float") {
			if err := fits(l.field, bytes.TrimSpace(c.data[n.start:n.end]), int(l.from)); err != nil {
				return err
			}
		}
	}
	return nil
}

// links reads an array of references.
func (c *graphChecker) links() error {
	c.at++ // [
	if c.accept(']') {
		return nil
	}
	for {
		if err := c.link(); err != nil {
			return err
		}
		if c.accept(']') {
			return nil
		}
		if !c.accept(',') {
			return c.fail("Expecting ',' delimiter")
		}
	}
}

// link reads a reference to a node. Its range is checked at the end, where the
// number of nodes is known.
func (c *graphChecker) link() error {
	i, ok := c.integer()
	if !ok {
		return c.failNode("refers to a node by a value that is not an integer")
	}
	if i < 0 || i > math.MaxInt32 {
		return failure.Errorf(failure.KindValue, "%s: invalid node index %d", badGraph, i)
	}
	c.edges = append(c.edges, int32(i))
	return nil
}

// follow goes from the root to all nodes that the library will make, and returns an
// error for a reference out of range, a cycle, too many levels, or too many visits.
func (c *graphChecker) follow(root int64) error {
	n := len(c.starts) - 1
	if root < 0 || root >= int64(n) {
		return failure.Errorf(failure.KindValue, "%s: invalid node index %d", badGraph, root)
	}
	// heights holds, for each node, 0 before it is seen, onPath on the way to where
	// we are, otherwise the number of its levels.
	heights, visits := make([]int32, n), make([]float32, n)
	type place struct{ node, next int32 }
	path := make([]place, 1, 64)
	path[0] = place{int32(root), c.starts[root]}
	heights[root] = codec.OnPath
	for len(path) > 0 {
		p := &path[len(path)-1]
		if p.next == c.starts[p.node+1] {
			height, all := int32(0), 1.0
			for _, e := range c.edges[c.starts[p.node]:p.next] {
				height = max(height, heights[e])
				all += float64(visits[e])
			}
			heights[p.node], visits[p.node] = height+1, float32(all)
			if all > float64(c.limits.visits) {
				return failure.Errorf(failure.KindValue, "%s: nodes are shared so often that it takes more than %d visits to go through them: give Unmarshal the option MaxVisits", badGraph, c.limits.visits)
			}
			if len(path)+int(height) > c.limits.depth {
				return failure.Errorf(failure.KindValue, "%s: nodes are nested deeper than %d levels", badGraph, c.limits.depth)
			}
			path = path[:len(path)-1]
			continue
		}
		e := c.edges[p.next]
		p.next++
		if int(e) >= n {
			return failure.Errorf(failure.KindValue, "%s: invalid node index %d", badGraph, e)
		}
		switch h := heights[e]; {
		case h == codec.OnPath:
			return failure.Errorf(failure.KindValue, "%s: node %d contains itself", badGraph, e)
		case h > 0:
			if len(path)+int(h) > c.limits.depth {
				return failure.Errorf(failure.KindValue, "%s: nodes are nested deeper than %d levels", badGraph, c.limits.depth)
			}
		case len(path) >= c.limits.depth:
			return failure.Errorf(failure.KindValue, "%s: nodes are nested deeper than %d levels", badGraph, c.limits.depth)
		default:
			heights[e] = codec.OnPath
			path = append(path, place{e, c.starts[e]})
		}
	}
	return nil
}
