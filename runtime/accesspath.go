package tvmffi

import (
	"runtime"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// AccessPath leads from a value to a place inside of it, such as
// <root>.layers[2]["name"].
type AccessPath struct{ objectBase }

var (
	typeAccessPath = core.Type{Key: "ffi.reflection.AccessPath"}
	typeAccessStep = core.Type{Key: "ffi.reflection.AccessStep"}
	pathParent     = core.Field{Owner: &typeAccessPath, Name: "parent"}
	pathStep       = core.Field{Owner: &typeAccessPath, Name: "step"}
	pathDepth      = core.Field{Owner: &typeAccessPath, Name: "depth"}
	stepKind       = core.Field{Owner: &typeAccessStep, Name: "kind"}
	stepKey        = core.Field{Owner: &typeAccessStep, Name: "key"}
	pathEqual      = core.Func{Owner: &typeAccessPath, Name: "_path_equal"}
	pathIsPrefix   = core.Func{Owner: &typeAccessPath, Name: "_is_prefix_of"}
	rootPath       = core.Func{Owner: &typeAccessPath, Name: "_root"}
	extendPath     = []core.Func{
		{Owner: &typeAccessPath, Name: "_attr"}, {Owner: &typeAccessPath, Name: "_array_item"}, {Owner: &typeAccessPath, Name: "_map_item"},
		{Owner: &typeAccessPath, Name: "_attr_missing"}, {Owner: &typeAccessPath, Name: "_array_item_missing"}, {Owner: &typeAccessPath, Name: "_map_item_missing"},
	}
)

// TVMFFIType identifies the type to the runtime.
func (*AccessPath) TVMFFIType(*AccessPath) *core.Type { return &typeAccessPath }

// AccessKind is the kind of an [AccessStep].
type AccessKind int64

// The kinds of steps. A missing one is where another value has something and this
// one has not.
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
	Key Any
}

// String returns the step as it stands in a path: .name, [2], ["key"], or
// [<missing:2>].
func (s AccessStep) String() string {
	key := s.Key.String()
	if s.Kind >= AccessKey && s.Kind != AccessItemMissing {
		if text, err := Sprint(s.Key); err == nil {
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

// NewAccessPath makes the path of the steps.
func NewAccessPath(steps ...AccessStep) (*AccessPath, error) {
	var c core.Call1
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
			return nil, errorf(core.KindValue, "there is no kind of step %d", s.Kind)
		}
		var c core.Call8
		c.Begin(&extendPath[s.Kind], 2)
		c.Self(0, path)
		packArgument(&c.Call, 1, s.Key)
		err = c.Do()
		path.Release()
		if err == nil {
			path, err = c.ObjectResult(&typeAccessPath)
		}
	}
	if err != nil {
		return nil, err
	}
	return wrap[*AccessPath](path), nil
}

// Depth returns the number of steps. It panics with an *Error if p is nil or was
// released, as the other methods do.
func (p *AccessPath) Depth() int { return int(pathDepth.Int(ref(p))) }

// Steps returns the steps from the root on.
func (p *AccessPath) Steps() []AccessStep {
	steps := make([]AccessStep, 0, 4)
	at := ref(p)
	if at.Handle() == 0 {
		pathDepth.Int(at) // panics
	}
	for {
		step := pathStep.Object(at, &typeAccessStep)
		if step == nil {
			break
		}
		s := AccessStep{Kind: AccessKind(stepKind.Int(step)), Key: takeAny(stepKey.Get(step))}
		step.Release()
		steps = append(steps, s)
		parent := pathParent.Object(at, &typeAccessPath)
		if at != ref(p) {
			at.Release()
		}
		at = parent
	}
	if at != ref(p) {
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
	defer catch(&err)
	if why, ended := ref(p).Ended(); ended {
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

// Find follows the path from root and returns what is there, an object with a
// reference of its own. It fails with ErrKey, ErrIndex or ErrAttribute, which names
// the first step that does not lead on.
func (p *AccessPath) Find(root any) (found Any, err error) {
	defer catch(&err)
	at, err := AnyOf(root)
	if err != nil {
		return Any{}, err
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
			return Any{}, inElement(way, err)
		}
		way += s.String()
		at = next
	}
	return at, nil
}

// follow returns what the step leads to from v.
func (s AccessStep) follow(v Any) (Any, error) {
	fail := func(kind, what string) (Any, error) {
		return Any{}, errorf(kind, "%s %s", v.TypeKey(), what)
	}
	switch s.Kind {
	case AccessField:
		if v.object == nil || fieldNamed(v.index, s.Key.text) == nil {
			return fail(core.KindAttr, "has no field "+quote(s.Key.text))
		}
		return takeAny(fieldNamed(v.index, s.Key.text).Get(v.object)), nil
	case AccessItem:
		i, err := As[int64](s.Key)
		if err != nil || v.index != abi.TypeArray && v.index != abi.TypeList {
			return fail(core.KindIndex, "has no items")
		}
		all, _ := sequence(abi.Any{TypeIndex: v.index, Bits: uint64(v.object.Handle())}, "")
		if uint64(i) >= uint64(len(all)) {
			return fail(core.KindIndex, "has no item "+strconv.FormatInt(i, 10))
		}
		return anyOf(all[i], nil), nil
	case AccessKey:
		var x Any
		var ok bool
		switch v.index {
		case abi.TypeMap:
			x, ok = wrap[*Map[Any, Any]](v.object).Get(s.Key)
		case abi.TypeDict:
			x, ok = wrap[*Dict[Any, Any]](v.object).Get(s.Key)
		}
		if !ok {
			return fail(core.KindKey, "has no key "+s.Key.String())
		}
		return x, nil
	}
	return fail(core.KindKey, "lacks what the path names")
}

// Equal reports whether the paths have the same steps.
func (p *AccessPath) Equal(q *AccessPath) bool { return p.compare(&pathEqual, q) }

// IsPrefixOf reports whether q begins with the steps of p.
func (p *AccessPath) IsPrefixOf(q *AccessPath) bool { return p.compare(&pathIsPrefix, q) }

func (p *AccessPath) compare(method *core.Func, q *AccessPath) bool {
	for _, path := range []*AccessPath{p, q} {
		for _, s := range path.Steps() { // the library does not check what they are
			s.Key.Release()
		}
	}
	var c core.Call2
	c.Begin(method, 2)
	c.Self(0, ref(p))
	c.Self(1, ref(q))
	if err := c.Do(); err != nil {
		panic(err)
	}
	same, err := c.BoolResult()
	if err != nil {
		panic(err)
	}
	return same
}
