package source

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
)

// way is the direction in which a value crosses.
type way bool

const (
	incoming way = true  // an argument of an exported func
	outgoing way = false // its result
)

func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

// pointed returns the type to which t points, or t itself.
func pointed(t types.Type) types.Type {
	if p, ok := types.Unalias(t).Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func isAny(t types.Type) bool {
	i, ok := types.Unalias(t).Underlying().(*types.Interface)
	return ok && i.Empty()
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// text returns a type in the way that the package writes it.
func (r *reader) text(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == r.pkg.Types {
			return ""
		}
		return p.Name()
	})
}

// refuse returns why values of a type cannot cross, and the remedy; "" if they can.
// It follows makeCodec of the runtime, which would report it at the first call.
func (r *reader) refuse(t types.Type, w way) string {
	return (&checker{r: r, seen: map[types.Type]bool{}, within: map[*types.Named]int{}}).refuse(t, w)
}

type checker struct {
	r    *reader
	seen map[types.Type]bool
	// within counts the instances of a generic type around the current one. A type that
	// contains ever larger instances of itself does not compile, but it is read.
	within map[*types.Named]int
}

const maxWithin = 8

func (c *checker) refuse(t types.Type, w way) string {
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if c.seen[named] {
			return ""
		}
		c.seen[named] = true
		generic := named.Origin()
		if c.within[generic] == maxWithin {
			return "it holds ever larger instances of itself: " + ofCompiler
		}
		c.within[generic]++
		defer func() { c.within[generic]-- }()
		if why, known := c.runtimeType(named, w); known {
			return why
		}
	}
	switch u := types.Unalias(t).Underlying().(type) {
	case *types.Basic:
		return c.basic(u)
	case *types.Pointer:
		return c.pointer(u, w)
	case *types.Slice:
		return c.refuse(u.Elem(), w)
	case *types.Array:
		return c.refuse(u.Elem(), w)
	case *types.Map:
		kind, _ := crossing.Classify(GoType{u})
		if why := c.key(u.Key()); why != "" || kind == crossing.KindSet {
			return why
		}
		return c.refuse(u.Elem(), w)
	case *types.Signature:
		return c.signature(u, w)
	case *types.Interface:
		return c.iface(t, u, w)
	case *types.Struct:
		return c.structure(t, u, w)
	case *types.Chan:
		return fmt.Sprintf("type %s has no counterpart in TVM-FFI: return an iter.Seq, or use a func or a slice", c.r.text(t))
	}
	return fmt.Sprintf("type %s has no counterpart in TVM-FFI", c.r.text(t))
}

// runtimeType decides about the types of package tvmffi, and about known types of other
// packages.
func (c *checker) runtimeType(n *types.Named, w way) (why string, known bool) {
	if isError(n) {
		return "", true
	}
	name := crossing.GoName(GoType{n}.Name())
	kind, known := crossing.KindByName(GoType{n})
	switch row := &crossing.Rows[kind]; {
	case kind == crossing.KindIterator:
		return fmt.Sprintf("type %s can only be a result of a func or a method: use a slice, or a func", c.r.text(n)), true
	case kind == crossing.KindTuple:
		return c.arguments(n, w), true
	case known && slices.Contains(row.Value, name):
		return "", true
	case known && slices.Contains(row.Given, name):
		if w == incoming {
			return fmt.Sprintf("type %s cannot be received: take a slice, a map, or a pointer such as *tvmffi.Array", c.r.text(n)), true
		}
		return c.arguments(n, w), true
	case known:
		return fmt.Sprintf("%s is used by its pointer: write *%s", c.r.text(n), c.r.text(n)), true
	}
	return "", false
}

func (c *checker) arguments(n *types.Named, w way) string {
	for t := range n.TypeArgs().Types() {
		if why := c.refuse(t, w); why != "" {
			return why
		}
	}
	return ""
}

func (c *checker) basic(b *types.Basic) string {
	if b.Kind() == types.Invalid {
		return "its type has an error: " + ofCompiler
	}
	return ""
}

func (c *checker) pointer(p *types.Pointer, w way) string {
	if kind, _ := crossing.Classify(GoType{p}); kind == crossing.KindBigInt || kind == crossing.KindError || c.r.opaque(p.Elem()) {
		return ""
	}
	if inner, ok := types.Unalias(p.Elem()).(*types.Pointer); ok && c.r.opaque(inner.Elem()) {
		return fmt.Sprintf("type %s: write %s, of which nil is None", c.r.text(p), c.r.text(inner))
	}
	if n, ok := types.Unalias(p.Elem()).(*types.Named); ok {
		if isNamed(n, crossing.Runtime+"/define", "Instance") && c.r.opaque(n.TypeArgs().At(0)) {
			return fmt.Sprintf("%s is opaque: write *%[1]s, not %[2]s", c.r.text(n.TypeArgs().At(0)), c.r.text(p))
		}
		if types.NewMethodSet(p).Lookup(n.Obj().Pkg(), "TVMFFIType") != nil {
			return c.arguments(n, w)
		}
	}
	return c.refuse(p.Elem(), w)
}

func (c *checker) key(t types.Type) string {
	b, ok := types.Unalias(t).Underlying().(*types.Basic)
	if ok && b.Info()&(types.IsInteger|types.IsString|types.IsBoolean) != 0 {
		return ""
	}
	return fmt.Sprintf("keys of type %s: a map of TVM-FFI that Go makes has strings, integers or bools; take *tvmffi.Map for others", c.r.text(t))
}

// signature decides about a func as a value: its arguments cross in the other
// direction.
func (c *checker) signature(s *types.Signature, w way) string {
	if s.Variadic() {
		return "a func value cannot be variadic: take *tvmffi.Function, or a func with a slice"
	}
	for p := range s.Params().Variables() {
		if why := c.refuse(p.Type(), !w); why != "" {
			return why
		}
	}
	n := s.Results().Len()
	if n > 0 && isError(s.Results().At(n-1).Type()) {
		n--
	}
	if n > 1 && errorBefore(s.Results()) {
		return "a func value returns an error that is not its last result: put error last"
	}
	if n > maxResults {
		return fmt.Sprintf("a func value has %d results: a tuple has at most %d", n, maxResults)
	}
	for i := range n {
		if why := c.refuse(s.Results().At(i).Type(), w); why != "" {
			return why
		}
	}
	return ""
}

func (c *checker) iface(t types.Type, u *types.Interface, w way) string {
	if u.Empty() {
		return ""
	}
	if w == outgoing {
		for m := range u.Methods() {
			if m.Pkg() != nil && m.Pkg().Path() == crossing.Runtime {
				return "" // an ObjectRef, or an argument of the runtime
			}
		}
		return fmt.Sprintf("interface %s has no counterpart in TVM-FFI: return any, or a type", c.r.text(t))
	}
	return fmt.Sprintf("interface %s cannot be received: take a pointer to an object type, tvmffi.ObjectRef, or any", c.r.text(t))
}

func (c *checker) structure(t types.Type, s *types.Struct, w way) string {
	if c.r.opaque(t) {
		return fmt.Sprintf("%s is opaque and is not copied: write *%[1]s", c.r.text(t))
	}
	if t == s {
		return "a struct without a name: declare a type"
	}
	tagged := false
	for i := range s.NumFields() {
		f := s.Field(i)
		if f.Embedded() && isNamed(f.Type(), crossing.Runtime, "Variant") {
			return ""
		}
		tag, ok, err := fieldtag.Lookup(reflect.StructTag(s.Tag(i)))
		if err != nil {
			return fmt.Sprintf("field %s of %s: %v", f.Name(), c.r.text(t), err)
		}
		if !ok && !f.Embedded() || tag == "-" {
			continue
		}
		if ok {
			tagged = true
		}
		if f.Embedded() && !ok {
			if inner, ok := types.Unalias(f.Type()).Underlying().(*types.Struct); ok && hasTags(inner) {
				tagged = true
			} else {
				continue
			}
		}
		if why := c.refuse(f.Type(), w); why != "" {
			return fmt.Sprintf("field %s of %s: %s", f.Name(), c.r.text(t), why)
		}
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && c.r.objects[n.Obj()] != nil || tagged {
		return ""
	}
	if n, ok := types.Unalias(t).(*types.Named); !ok {
		return "a struct without a name: declare a type"
	} else if n.Obj().Pkg() != c.r.pkg.Types {
		return fmt.Sprintf("struct %s of another package has no counterpart in TVM-FFI: take or return what it has, such as a string or an int64, or a struct of this package", c.r.text(t))
	}
	return fmt.Sprintf("struct %s has no counterpart in TVM-FFI: give its fields tags such as `ffi:\"x\"`, and //tvmffi:object if it should be a type", c.r.text(t))
}

func hasTags(s *types.Struct) bool {
	for i := range s.NumFields() {
		if _, ok := reflect.StructTag(s.Tag(i)).Lookup("ffi"); ok {
			return true
		}
	}
	return false
}

// tagsWithin reports whether a value of type t, which lies in those of the types outer, has fields with tags.
func tagsWithin(t types.Type, outer []types.Type) bool {
	s, ok := types.Unalias(t).Underlying().(*types.Struct)
	if !ok || slices.Contains(outer, t) {
		return false
	}
	for f := range s.Fields() {
		inner := f.Type()
		if p, ok := types.Unalias(inner).(*types.Pointer); ok {
			inner = p.Elem()
		}
		if f.Embedded() && tagsWithin(inner, append(outer, t)) {
			return true
		}
	}
	return hasTags(s)
}

// checkStruct checks the fields of an object like define.Object at the first call.
func (r *reader) checkStruct(t *Type) {
	if t.Opaque {
		r.checkOpaque(t)
		return
	}
	s := t.Object.Type().Underlying().(*types.Struct)
	r.checkFields(t.GoName, s, map[string]bool{}, r.refuseField)
	r.checkUntagged(t.GoName, s)
}

// checkUntagged refuses fields of an object that has no room for them: a method that sets one would lose the value, because
// each call gets a copy of the fields with tags. The tag "-" says that this is meant.
func (r *reader) checkUntagged(owner string, s *types.Struct) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if _, tagged, err := fieldtag.Lookup(reflect.StructTag(s.Tag(i))); err != nil || tagged || f.Name() == "_" {
			continue // checkFields reports a wrong tag
		}
		inner, isStruct := types.Unalias(f.Type()).Underlying().(*types.Struct)
		switch {
		case f.Embedded() && isStruct && (r.class(f.Type()) != nil || inner.NumFields() == 0):
		case f.Embedded() && isStruct && hasTags(inner):
			r.checkUntagged(owner, inner)
		default:
			r.fail(f.Pos(), "field %s of %s has no tag, so an object has no room for it, and what a method or a constructor sets is lost: "+
				"write `ffi:\"name\"` behind it, `ffi:\"-\"` if each call may begin with its zero value, or make %[2]s opaque", f.Name(), owner)
		}
	}
}

// checkFields checks the fields of the struct owner, or of one that it embeds. refuse returns why it cannot hold
// a type that crosses in calls.
func (r *reader) checkFields(owner string, s *types.Struct, names map[string]bool, refuse func(types.Type) string) {
	for i := range s.NumFields() {
		f := s.Field(i)
		text, tagged, err := fieldtag.Lookup(reflect.StructTag(s.Tag(i)))
		if inner, ok := types.Unalias(f.Type()).Underlying().(*types.Struct); ok && err == nil && !tagged && f.Embedded() {
			if class := r.class(f.Type()); class == nil {
				r.checkFields(owner, inner, names, refuse)
			} else if class.Opaque {
				r.fail(f.Pos(), "type %s embeds %s, which is opaque: make %[1]s opaque too, or name the field", owner, class.GoName)
			}
			continue
		}
		var tag fieldtag.Tag
		if err == nil && tagged {
			tag, err = fieldtag.Parse(text)
		}
		if p, ok := types.Unalias(f.Type()).(*types.Pointer); ok && err == nil && !tagged && f.Embedded() && tagsWithin(p.Elem(), nil) {
			err = fieldtag.ByPointer(r.text(p))
		}
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case tag.Name == "":
			continue
		case !f.Exported():
			r.fail(f.Pos(), "field %s of %s has a tag but is not exported: write it with a capital letter", f.Name(), owner)
			continue
		case names[tag.Name]:
			why = fmt.Sprintf("two fields are named %s: rename one", tag.Name)
		default:
			// A field crosses both ways.
			why = cmp.Or(r.refuse(f.Type(), incoming), r.refuse(f.Type(), outgoing), refuse(f.Type()))
			if why == "" && tag.HasDefault {
				why = r.refuseDefault(tag.Default, f.Type())
			}
		}
		names[tag.Name] = true
		if why != "" {
			r.fail(f.Pos(), "field %s of %s: %s", f.Name(), owner, why)
		}
	}
}

// refuseField returns why an object cannot hold a type that crosses in calls, like define.Object.
func (r *reader) refuseField(t types.Type) string {
	p, ok := types.Unalias(t).Underlying().(*types.Pointer)
	if !ok {
		return ""
	}
	switch u := types.Unalias(p.Elem()).Underlying().(type) {
	case *types.Pointer, *types.Signature:
		return fmt.Sprintf("type %s: write %s, of which nil is None", r.text(t), r.text(p.Elem()))
	case *types.Interface:
		if u.Empty() {
			return fmt.Sprintf("type %s: write any, of which nil is None", r.text(t))
		}
	}
	switch {
	case isNamed(p.Elem(), crossing.Runtime, "Any"):
		return fmt.Sprintf("type %s: write tvmffi.Any, which may hold None", r.text(t))
	case isNamed(p.Elem(), "math/big", "Int"):
		return "a field of an object has at most 64 bits: write int64, or a string with the digits"
	}
	return ""
}

// refuseConstant returns why a text cannot be a default of type t: t has constants, and the text is not one of them.
func (r *reader) refuseConstant(text string, t types.Type) string {
	var values []string
	for _, e := range r.Enums {
		if !types.Identical(e.Object.Type(), t) {
			continue
		}
		for _, c := range e.Constants {
			if constant.StringVal(c.Value) == text {
				return ""
			}
			values = append(values, constant.StringVal(c.Value))
		}
		return fmt.Sprintf("the default %q is not a constant of %s: write %s", text, e.GoName, strings.Join(values, ", "))
	}
	return ""
}

// basics are the types that a default in a tag may have.
var basics = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	reflect.TypeFor[uintptr](), reflect.TypeFor[fieldtag.DataType](), reflect.TypeFor[time.Duration](),
}

// refuseDefault returns the problem with a default in the tag of a field.
func (r *reader) refuseDefault(text string, t types.Type) string {
	target := pointed(t)
	at := slices.IndexFunc(basics, func(of reflect.Type) bool {
		if isNamed(target, "time", "Duration") {
			return of == reflect.TypeFor[time.Duration]()
		}
		b, ok := types.Unalias(target).Underlying().(*types.Basic)
		return ok && types.Typ[b.Kind()].Name() == of.String() || isNamed(target, crossing.Runtime, "DataType") && of == reflect.TypeFor[fieldtag.DataType]()
	})
	if at < 0 {
		return fmt.Sprintf("a tag cannot hold a default of type %s: remove default=", r.text(t))
	}
	value := reflect.New(basics[at]).Elem()
	if _, err := fieldtag.SetDefault(text, value); err != nil {
		return err.Error()
	}
	if value.Kind() == reflect.String && value.String() != "" {
		return r.refuseConstant(value.String(), target)
	}
	return ""
}
