package structural

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// AccessPath leads from a value to a place inside it, such as
// <root>.layers[2]["name"].
type AccessPath struct {
	_ [0]*AccessPath // see Object
	objectBase
}

var (
	typeAccessPath = fields.Type{Key: "ffi.reflection.AccessPath"}
	typeAccessStep = fields.Type{Key: "ffi.reflection.AccessStep"}
	pathParent     = fields.Field{Owner: &typeAccessPath, Name: "parent"}
	pathStep       = fields.Field{Owner: &typeAccessPath, Name: "step"}
	pathDepth      = fields.Field{Owner: &typeAccessPath, Name: "depth"}
	stepKind       = fields.Field{Owner: &typeAccessStep, Name: "kind"}
	stepKey        = fields.Field{Owner: &typeAccessStep, Name: "key"}
	pathEqual      = calls.Func{Owner: &typeAccessPath, Name: "_path_equal"}
	pathIsPrefix   = calls.Func{Owner: &typeAccessPath, Name: "_is_prefix_of"}
	rootPath       = calls.Func{Owner: &typeAccessPath, Name: "_root"}
	extendPath     = []calls.Func{
		{Owner: &typeAccessPath, Name: "_attr"}, {Owner: &typeAccessPath, Name: "_array_item"}, {Owner: &typeAccessPath, Name: "_map_item"},
		{Owner: &typeAccessPath, Name: "_attr_missing"}, {Owner: &typeAccessPath, Name: "_array_item_missing"}, {Owner: &typeAccessPath, Name: "_map_item_missing"},
	}
)

// TVMFFIType identifies the type to the runtime.
func (*AccessPath) TVMFFIType(*AccessPath) *fields.Type { return &typeAccessPath }

// AccessKind is the kind of an [AccessStep].
type AccessKind int64

// The kinds of steps. A missing one exists in another value, and not in this one.
const (
	AccessField AccessKind = iota
	AccessItem             // of an Array or a List
	AccessKey              // of a Map or a Dict
	AccessFieldMissing
	AccessItemMissing
	AccessKeyMissing
)

// AccessStep is a step of an [AccessPath].
type AccessStep struct {
	Kind AccessKind
	// Key is the name of a field, the index of an item, or the key in a map.
	Key tvmffi.Any
}

// String returns the step as in a path: .name, [2], ["key"], or [<missing:2>].
func (s AccessStep) String() string {
	key := s.Key.String()
	if s.Kind >= AccessKey && s.Kind != AccessItemMissing {
		if text, err := tvmffi.Repr(s.Key); err == nil {
			key = text
		}
	}
	switch s.Kind {
	case AccessField:
		return "." + key
	case AccessItem, AccessKey:
		return "[" + key + "]"
	case AccessFieldMissing, AccessItemMissing, AccessKeyMissing:
		return "[<missing:" + key + ">]"
	}
	return "<step " + strconv.FormatInt(int64(s.Kind), 10) + ">"
}

// NewAccessPath returns the path with the given steps.
func NewAccessPath(steps ...AccessStep) (*AccessPath, error) {
	var c calls.Call1
	c.Begin(&rootPath, 0)
	if err := c.Do(); err != nil {
		return nil, err
	}
	path, err := c.ObjectResult(&typeAccessPath)
	for _, s := range steps {
		if err != nil {
			return nil, err
		}
		if s.Kind < 0 || int(s.Kind) >= len(extendPath) {
			path.Release()
			return nil, failure.Errorf(failure.KindValue, "there is no kind of step %d", s.Kind)
		}
		var c calls.Call8
		c.Begin(&extendPath[s.Kind], 2)
		c.Self(0, path)
		codec.PackArgument(&c.Call, 1, s.Key)
		err = c.Do()
		path.Release()
		if err == nil {
			path, err = c.ObjectResult(&typeAccessPath)
		}
	}
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*AccessPath](path), nil
}

// Depth returns the number of steps. It panics with an *Error if p is nil or was
// released, as the other methods do.
func (p *AccessPath) Depth() int { return int(pathDepth.Int(codec.Ref(p))) }

// Steps returns the steps from the root on.
func (p *AccessPath) Steps() []AccessStep {
	steps := make([]AccessStep, 0, 4)
	at := codec.Ref(p)
	if at.Handle() == 0 {
		pathDepth.Int(at) // panics
	}
	for {
		step := pathStep.Object(at, &typeAccessStep)
		if step == nil {
			break
		}
		s := AccessStep{Kind: AccessKind(stepKind.Int(step)), Key: codec.TakeAnyAs[tvmffi.Any](stepKey.Get(step))}
		step.Release()
		steps = append(steps, s)
		parent := pathParent.Object(at, &typeAccessPath)
		if at != codec.Ref(p) {
			at.Release()
		}
		at = parent
	}
	if at != codec.Ref(p) {
		at.Release()
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	runtime.KeepAlive(p)
	return steps
}

// String returns the path as <root>.layers[2]["name"].
func (p *AccessPath) String() (s string) {
	var err error
	defer func() {
		if err != nil {
			s = "<path: " + err.Error() + ">"
		}
	}()
	defer codec.Catch(&err)
	if why, ended := codec.Ref(p).Ended(); ended {
		return "<path that " + why + ">"
	}
	if p == nil {
		return "None"
	}
	var b strings.Builder
	b.WriteString("<root>")
	for _, s := range p.Steps() {
		b.WriteString(s.String())
		s.Key.Release()
	}
	return b.String()
}

// Find follows the path from root and returns the value there, an object with its own
// reference. It fails with ErrKey, ErrIndex or ErrAttribute, which names the first step
// that does not exist.
func (p *AccessPath) Find(root any) (found tvmffi.Any, err error) {
	defer codec.Catch(&err)
	at, err := tvmffi.AnyOf(root)
	if err != nil {
		return tvmffi.Any{}, err
	}
	way := "<root>"
	steps := p.Steps()
	defer func() {
		for _, s := range steps {
			s.Key.Release()
		}
	}()
	for _, s := range steps {
		next, err := s.follow(at)
		at.Release()
		if err != nil {
			return tvmffi.Any{}, failure.Annotate(way, err)
		}
		way += s.String()
		at = next
	}
	return at, nil
}

// follow returns the value at the step from v.
func (s AccessStep) follow(v tvmffi.Any) (tvmffi.Any, error) {
	r := codec.RecordOfAny(&v)
	fail := func(kind, what string) (tvmffi.Any, error) {
		return tvmffi.Any{}, failure.Errorf(kind, "%s %s", v.TypeKey(), what)
	}
	switch s.Kind {
	case AccessField:
		if r.Object == nil || fields.Of(r.Index, codec.RecordOfAny(&s.Key).Str) == nil {
			return fail(failure.KindAttr, "has no field "+codec.Quote(codec.RecordOfAny(&s.Key).Str))
		}
		return codec.TakeAnyAs[tvmffi.Any](fields.Of(r.Index, codec.RecordOfAny(&s.Key).Str).Get(r.Object)), nil
	case AccessItem:
		i, err := tvmffi.As[int64](s.Key)
		if err != nil || crossing.ClassOf(r.Index) != crossing.Sequence {
			return fail(failure.KindIndex, "has no items")
		}
		all, _ := codec.Elements(abi.Any{TypeIndex: r.Index, Bits: uint64(r.Object.Handle())})
		if uint64(i) >= uint64(len(all)) {
			return fail(failure.KindIndex, "has no item "+strconv.FormatInt(i, 10))
		}
		return codec.ShowAny[tvmffi.Any](all[i], objects.ReadOwned()), nil
	case AccessKey:
		if kind := codec.MapKindOf(r.Index); kind != nil {
			if x, ok := codec.Ask(kind, r.Object, s.Key); ok {
				return codec.TakeAnyAs[tvmffi.Any](x), nil
			}
		}
		return fail(failure.KindKey, "has no key "+s.Key.String())
	}
	return fail(failure.KindKey, "lacks what the path names")
}

// Equal reports whether the paths have the same steps.
func (p *AccessPath) Equal(q *AccessPath) bool { return p.compare(&pathEqual, q) }

// IsPrefixOf reports whether q begins with the steps of p.
func (p *AccessPath) IsPrefixOf(q *AccessPath) bool { return p.compare(&pathIsPrefix, q) }

func (p *AccessPath) compare(method *calls.Func, q *AccessPath) bool {
	for _, path := range []*AccessPath{p, q} {
		for _, s := range path.Steps() { // the library does not check what they are
			s.Key.Release()
		}
	}
	var c calls.Call2
	c.Begin(method, 2)
	c.Self(0, codec.Ref(p))
	c.Self(1, codec.Ref(q))
	if err := c.Do(); err != nil {
		panic(err)
	}
	same, err := c.BoolResult()
	if err != nil {
		panic(err)
	}
	return same
}

// MarshalJSON returns the path as text.
func (p *AccessPath) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// objectBase is embedded without a name that users see.
type objectBase = tvmffi.Object
