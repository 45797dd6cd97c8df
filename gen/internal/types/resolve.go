// Package types gives the type expressions of a schema their Go types, and values of them a way to
// cross: a name becomes a node (resolve.go), a node a Go type (gotypes.go, variants.go), and a
// signature a call (call.go).
package types

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// maxTuple is the largest tuple that has a Go type.
const maxTuple = 8

// A node is a type expression whose names are resolved. Every node has a Go type.
type node struct {
	kind   crossing.Kind
	text   string       // canonical text, the identity of a variant
	parts  []*node      // of containers, tuples, variants and Optional
	object *plan.Object // of crossing.KindClass
	params []*node      // of crossing.KindCallable
	names  []string
	result *node
	width  string // of crossing.KindInt: int32 and so on, "" for int64
	// element is the type of the elements of a tensor, nil for any.
	element *spec.DType
}

func (n *node) optional() bool { return n.kind == crossing.KindOptional }

// base returns n without Optional.
func (n *node) base() *node {
	if n.optional() {
		return n.parts[0]
	}
	return n
}

// Types are the Go types of the expressions in a schema.
type Types struct {
	*place.Places
	parts map[*plan.Variant][]*node // of the alternatives
}

// New returns the types for the packages and objects of places.
func New(places *place.Places) *Types { return &Types{places, map[*plan.Variant][]*node{}} }

// resolve resolves the names of a type expression. The error names the part that has no
// Go type.
func (p *Types) resolve(e schema.TypeSchema) (*node, error) {
	return p.resolveNormal(e.Normalized())
}

func (p *Types) resolveNormal(e schema.TypeSchema) (*node, error) {
	n := &node{text: e.String()}
	if width, ok := hints.IntegerOf(e); ok {
		n.kind, n.width = crossing.KindInt, width.Name
		return n, nil
	}
	if dtype, ok := hints.TensorElement(e); ok {
		element, err := spec.ParseDType(dtype)
		n.kind, n.element = crossing.KindTensor, &element
		return n, err
	}
	n.kind, _ = crossing.Named(e.Name)
	switch n.kind {
	case crossing.KindFunction:
		return n, p.function(n, e.Func)
	case crossing.KindMoved, crossing.KindOpaque:
		if len(e.Args) > 0 {
			return p.resolveNormal(e.Args[0])
		}
		n.kind = crossing.KindObject
		return n, nil
	case crossing.KindOptional:
		return p.optional(e)
	case crossing.KindVariant:
		return p.variant(e)
	case crossing.KindTuple:
		if len(e.Args) > maxTuple {
			return nil, fmt.Errorf("%s has %d parts; tuples in Go have at most %d", n.text, len(e.Args), maxTuple)
		}
		return n, p.container(n, e.Args, len(e.Args))
	}
	if classify.InRuntime(e.Name) && n.kind != crossing.KindUnchanged {
		return n, p.container(n, e.Args, crossing.Rows[n.kind].Args[1])
	}
	return n, p.objectNode(n, e)
}

// container resolves the parts. A container without arguments contains Any.
func (p *Types) container(n *node, args []schema.TypeSchema, parts int) error {
	for i := range parts {
		part := schema.TypeSchema{Name: "Any"}
		if len(args) > 0 {
			part = args[i]
		}
		sub, err := p.resolveNormal(part)
		if err != nil {
			return err
		}
		if sub.kind == crossing.KindNone {
			return fmt.Errorf("%s holds None, which has no Go type", n.text)
		}
		n.parts = append(n.parts, sub)
	}
	if crossing.Rows[n.kind].Class == crossing.Mapping && !n.parts[0].comparable() {
		return fmt.Errorf("%s has keys that Go cannot compare", n.text)
	}
	return nil
}

// comparable reports whether Go can compare values of the type, which keys require.
func (n *node) comparable() bool {
	switch n.kind {
	case crossing.KindBytes, crossing.KindCallable:
		return false
	case crossing.KindOptional:
		return byValue(n.parts[0].kind) || n.parts[0].comparable()
	case crossing.KindTuple:
		return !slices.ContainsFunc(n.parts, func(part *node) bool { return !part.comparable() })
	}
	return true
}

func (p *Types) function(n *node, s *schema.Signature) error {
	if s == nil {
		n.kind = crossing.KindFunction
		return nil
	}
	n.kind = crossing.KindCallable
	var err error
	if n.result, err = p.resolveNormal(s.Return); err != nil {
		return err
	}
	n.params, n.names, err = p.params(s.Params)
	return err
}

// maxParams is the number of arguments in the largest frame of bindrt.
const maxParams = 128

// params resolves parameters and keeps their names.
func (p *Types) params(params []schema.Param) (nodes []*node, names []string, err error) {
	if len(params) > maxParams {
		return nil, nil, fmt.Errorf("%d parameters, the limit of a typed function is %d", len(params), maxParams)
	}
	for i, param := range params {
		sub, err := p.resolve(param.Type)
		if err == nil && sub.kind == crossing.KindNone {
			err = fmt.Errorf("parameter %d is None, which has no Go type", i)
		}
		if err != nil {
			return nil, nil, err
		}
		nodes, names = append(nodes, sub), append(names, param.Name)
	}
	return nodes, names, nil
}

// optional resolves Optional. Optional of a type that includes None is the type itself.
func (p *Types) optional(e schema.TypeSchema) (*node, error) {
	sub, err := p.resolveNormal(e.Args[0])
	if err != nil {
		return nil, err
	}
	return makeOptional(sub), nil
}

func makeOptional(sub *node) *node {
	switch sub.kind {
	case crossing.KindOptional, crossing.KindAny, crossing.KindNone:
		return sub
	}
	return &node{kind: crossing.KindOptional, text: "Optional<" + sub.text + ">", parts: []*node{sub}}
}

// variant resolves Variant. It flattens nested variants and drops repeated alternatives.
// None makes the variant optional, a single alternative replaces the variant, and a
// variant with Any is Any.
func (p *Types) variant(e schema.TypeSchema) (*node, error) {
	n := &node{kind: crossing.KindVariant}
	none := false
	var texts []string
	add := func(alternative *node) {
		if !slices.Contains(texts, alternative.text) {
			texts = append(texts, alternative.text)
			n.parts = append(n.parts, alternative)
		}
	}
	for _, arg := range e.Args {
		sub, err := p.resolveNormal(arg)
		if err != nil {
			return nil, err
		}
		if sub.optional() {
			none, sub = true, sub.parts[0]
		}
		switch sub.kind {
		case crossing.KindNone:
			none = true
		case crossing.KindAny:
			return sub, nil
		case crossing.KindVariant:
			for _, alternative := range sub.parts {
				add(alternative)
			}
		default:
			add(sub)
		}
	}
	if len(n.parts) == 0 {
		return &node{kind: crossing.KindNone, text: "None"}, nil
	}
	if len(n.parts) == 1 {
		n = n.parts[0]
	} else {
		n.text = "Variant<" + strings.Join(texts, ", ") + ">"
	}
	if none {
		return makeOptional(n), nil
	}
	return n, nil
}

// objectNode resolves an object key to its own Go type, or to the Go type of its nearest
// ancestor that has one.
func (p *Types) objectNode(n *node, e schema.TypeSchema) error {
	if len(e.Args) > 0 {
		return fmt.Errorf("%s is a template without a Go type", n.text)
	}
	if o := p.Object(e.Name); o != nil {
		n.kind, n.object = crossing.KindClass, o
		return nil
	}
	t := p.Keys[e.Name]
	if t == nil && lateKey(e.Name) {
		n.kind = crossing.KindObject
		return nil
	}
	if t == nil || !slices.Contains(t.Ancestors, plan.RootKey) {
		return unregistered(n.text)
	}
	n.kind = crossing.KindObject
	if o := p.Nearest(t.Ancestors); o != nil {
		n.kind, n.object = crossing.KindClass, o
	}
	p.Weaken(t.Key, n.object)
	return nil
}

func unregistered(text string) error {
	return fmt.Errorf("%s has no Go type: it is not a registered object type", text)
}

// lateKey reports whether a name is the key of a type that C++ registers when it makes
// the first object: signatures of a library name such types before they exist. The names
// of types that are not objects are single words, or names of libtvm_ffi.
func lateKey(name string) bool {
	words := strings.Split(name, ".")
	return len(words) > 1 && words[0] != "ffi" && !slices.ContainsFunc(words, func(w string) bool { return !token.IsIdentifier(w) })
}

// late returns the first such key in a type expression, "" if there is none.
func (p *Types) late(e schema.TypeSchema) string {
	for _, name := range classify.ExprRefs(nil, e) {
		if p.Keys[name] == nil && p.Objects[name] == nil && lateKey(name) {
			return name
		}
	}
	return ""
}
