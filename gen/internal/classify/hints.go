package classify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/docstring"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// refine applies the hints to the items.
func (p *Items) refine() {
	for _, f := range p.Functions {
		p.refineFunc(&f.Item, f.Schema.Signature, f.Schema.Doc, f.Schema.Metadata, false)
		if f.Schema.Reported && f.Schema.Signature != nil {
			for i, param := range f.Schema.Signature.Params {
				f.Fixed[i] = fixed(param.Note)
			}
		}
	}
	for _, t := range p.Types {
		for _, m := range t.Methods {
			p.refineFunc(&m.Item, m.Schema.Signature, m.Schema.Doc, m.Schema.Metadata, m.Schema.Flags&schema.FlagIsStaticMethod == 0)
			if m.Entry.Kind == plan.KindConstructor && m.Signature != nil {
				nameAfter(m.Signature.Params, t.Schema.AllFields(p.Keys))
			}
		}
	}
	for _, t := range p.Types {
		p.refineDoc(&t.Item, t.Schema.Doc)
		for _, f := range t.Fields {
			p.refineDoc(&f.Item, f.Schema.Doc)
			p.refineField(t, f)
		}
		if t.Init != nil {
			p.refineDoc(t.Init, "")
		}
	}
	p.leftOut()
}

// nameAfter names the parameters of a constructor after the fields of the type, if none has a name and the types are those
// of all fields in their order.
func nameAfter(params []schema.Param, fields []schema.Field) {
	if !slices.EqualFunc(params, fields, func(p schema.Param, f schema.Field) bool { return p.Name == "" && p.Type.String() == f.Type.String() }) {
		return
	}
	for i := range params {
		params[i].Name = fields[i].Name
	}
}

// hintedDoc returns the documentation of the first hint that has one.
func (p *Items) hintedDoc(e *plan.Entry) string {
	for _, h := range p.hintsFor(e) {
		if h.item.Doc != "" {
			return h.item.Doc
		}
	}
	return ""
}

// refineDoc gives a type, a field or a constructor the documentation of the first hint that has
// one, or else its own. Types in a hint are an error, or noted in the entry.
func (p *Items) refineDoc(it *Item, own string) {
	e := it.Entry
	if e.Status == plan.Skipped {
		return
	}
	var notes []string
	for _, h := range p.hintsFor(e) {
		h.notes = &notes
		switch {
		case e.Kind == plan.KindField && (len(h.item.Types) > 0 || h.item.Returns != ""):
			h.fail(errors.New("a field has one type; give type, doc or name"))
		case len(h.item.Types) > 0 || h.item.Returns != "":
			h.fail(fmt.Errorf("the types of a %s cannot be set; give doc or name", e.Kind))
		case e.Kind != plan.KindField && h.item.Type != "":
			h.fail(fmt.Errorf("found it for a %s, expected it for a field; remove it", e.Kind), "type")
		case e.Kind != plan.KindConstructor && h.item.Brief != nil:
			h.fail(fmt.Errorf("found it for a %s, expected it for a function; remove it", e.Kind), "brief")
		case it.Brief == nil:
			it.Brief = h.item.Brief
		}
	}
	e.LeftOut = strings.Join(notes, "; ")
	it.Doc = cmp.Or(p.hintedDoc(e), own)
}

// refineField gives a field the widths of the first hint that has a type for it. Only the widths may differ from what the
// registry says: a field is read in place.
func (p *Items) refineField(t *Type, f *Field) {
	f.Type = f.Schema.Type
	if f.Entry.Status == plan.Skipped {
		return
	}
	own := f.Schema.Type.Normalized()
	notes := []string{}
	for _, h := range p.hintsFor(f.Entry) {
		h.notes = &notes
		if h.item.Type == "" {
			continue
		}
		want, err := hints.ParseType(h.item.Type)
		if want = want.Normalized(); err == nil && hints.Plain(want).String() != own.String() {
			err = fmt.Errorf("the field is %s, found %s: write %s with widths, such as int32 for int, or remove the type", own, want, own)
		}
		if err != nil {
			h.refuse(err, "type")
			continue
		}
		if hints.HasWidth(want) {
			f.Type, f.Changed, f.Narrow = want, true, true
			p.widths[t.Schema.Key+"."+f.Schema.Name] = want
		}
		break
	}
}

// FieldType returns the type of a field that t or an ancestor of t has, with the widths of the hints, and whether there are any.
func (p *Items) FieldType(t *schema.Type, f schema.Field) (typ schema.TypeSchema, narrow bool) {
	for _, key := range slices.Backward(append(slices.Clone(t.Ancestors), t.Key)) {
		owner := p.Keys[key]
		if owner != nil && slices.ContainsFunc(owner.Fields, func(x schema.Field) bool { return x.Name == f.Name }) {
			if width, ok := p.widths[key+"."+f.Name]; ok {
				return width, true
			}
			break
		}
	}
	return f.Type, false
}

// A sourcedHint is one hint for an item. Those of the configuration have a key, and what is
// wrong with them is an error. Mistakes in a names file are noted.
type sourcedHint struct {
	item    hints.Item
	key     string // of the configuration
	pattern bool
	// overload is set if the key stands for several overloads: what does not fit one of them may fit another.
	overload bool
	items    *Items
	notes    *[]string
	file     int    // the index of the names file
	name     string // the key in it
	failed   bool   // for this overload
}

// fail reports a problem of one part of the hint.
func (h *sourcedHint) fail(err error, part ...string) {
	switch {
	case h.overload:
		h.failed = true
		if h.key != "" && h.items.unfit[h.key] == nil {
			h.items.unfit[h.key] = &plan.ConfigError{Path: append([]string{"functions", h.key}, part...), Err: fmt.Errorf("it fits no overload: %w", err)}
		}
	case h.key == "":
		*h.notes = append(*h.notes, strings.Join(append(part, err.Error()), ": "))
	case h.key != "" && !h.pattern:
		h.items.failAt(err, append([]string{"functions", h.key}, part...)...)
	}
}

// hintsFor returns the hints for an item, the first to be heeded first. An entry of the
// configuration under the exact name precedes patterns, and a longer pattern a shorter one.
func (p *Items) hintsFor(e *plan.Entry) []*sourcedHint {
	var all []*sourcedHint
	shared := func(key string) bool { return e.Overload != "" && e.Plain(key) }
	add := func(key string, pattern bool) {
		p.Used["functions "+key] = true
		all = append(all, &sourcedHint{item: p.Config.Functions[key], key: key, pattern: pattern, overload: shared(key), items: p})
	}
	for _, key := range e.Keys() {
		if _, ok := p.Config.Functions[key]; ok {
			add(key, false)
		}
	}
	for _, pattern := range p.patterns {
		if ok, _ := path.Match(pattern, e.Name); ok {
			add(pattern, true)
		}
	}
	for i := range p.Config.Names {
		for _, key := range e.Keys() {
			if item, ok := p.Config.Names[i].Items[key]; ok {
				all = append(all, &sourcedHint{item: item, overload: shared(key), items: p, file: i, name: key})
				break
			}
		}
	}
	return all
}

// hintPatterns returns the keys that are patterns, longest first.
func hintPatterns(functions map[string]hints.Item) []string {
	var all []string
	for key := range functions {
		if plan.IsPattern(key) {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return all
}

// refineFunc applies the hints for a function or method, and what its metadata says of how long calls take. With self, the first parameter of
// the signature is the receiver, which hints do not mention.
func (p *Items) refineFunc(it *Item, s *schema.Signature, doc string, metadata map[string]any, self bool) {
	all := p.hintsFor(it.Entry)
	var notes []string
	hinted := ""
	for _, h := range all {
		h.notes = &notes
		hinted = cmp.Or(hinted, h.item.Doc)
		it.Brief = cmp.Or(it.Brief, h.item.Brief)
		if h.item.Type != "" {
			h.fail(errors.New("found it for a function, expected it for a field; give types for the parameters, and returns for the result"), "type")
		}
	}
	it.Doc = cmp.Or(hinted, doc)
	if brief, ok := metadata["brief"].(bool); ok && it.Brief == nil {
		it.Brief = &brief
	}
	if s == nil {
		s = p.promised(all)
		it.Changed = s != nil
	}
	if s != nil {
		it.Signature = &schema.Signature{Params: slices.Clone(s.Params), Return: s.Return}
		p.refineParams(it, all, docstring.Parse(doc).Params(), self)
		it.Narrow = hints.SignatureHasWidth(it.Signature)
	}
	for _, h := range all {
		p.fits[h.key] = p.fits[h.key] || !h.failed
	}
	if it.Entry.Status != plan.Skipped {
		it.Entry.LeftOut = strings.Join(notes, "; ")
	}
}

// refineParams applies the names and the types of the hints to the signature of an item. Of the
// parameters without a name, the names come from the documentation.
func (p *Items) refineParams(it *Item, all []*sourcedHint, documented []string, self bool) {
	params := it.Signature.Params
	if self && len(params) > 0 {
		params = params[1:]
	}
	own := slices.Clone(params)
	named := make([]bool, len(params))
	typed := make([]bool, len(params)+1)
	for _, h := range all {
		h.names(params, named)
	}
	if len(documented) == len(params) {
		for i := range params {
			params[i].Name = cmp.Or(params[i].Name, documented[i])
		}
	}
	for _, h := range all {
		h.types(it, params, typed)
	}
	p.defaults(it, all, params, own)
	for i := range params {
		if wide := p.Accepted(params[i].Type); !typed[i] && wide.String() != params[i].Type.Normalized().String() {
			params[i].Type, it.Changed = wide, true
		}
	}
}

// Accepted returns what a parameter of type t accepts: for an object type with alternatives,
// those. Inside a container the type stays the same, so that a slice of objects remains one.
func (p *Items) Accepted(t schema.TypeSchema) schema.TypeSchema {
	return p.expand(t, map[string]bool{})
}

// expand is accepted for a part of a type. A type that expanded has stays the same: its
// alternatives are in the result already.
func (p *Items) expand(t schema.TypeSchema, expanded map[string]bool) schema.TypeSchema {
	t = t.Normalized()
	switch {
	case t.Name == "Optional" || t.Name == "Variant":
		for i, a := range t.Args {
			t.Args[i] = p.expand(a, expanded)
		}
	case !expanded[t.Name] && p.Keys[t.Name] != nil && p.Keys[t.Name].Accepts != nil:
		wide := *p.Keys[t.Name].Accepts
		if p.usable(wide.Normalized()) == nil {
			expanded[t.Name] = true
			return p.expand(wide, expanded)
		}
	}
	return t
}

// promised returns a signature for a packed function, if a hint gives it one: an entry of
// the configuration that lists the parameters, or an item of a names file that also knows a
// type. Without that, the number of the arguments may differ from call to call.
func (p *Items) promised(all []*sourcedHint) *schema.Signature {
	for _, h := range all {
		if h.pattern || h.item.Params == nil || h.key == "" && len(h.item.Types) == 0 && h.item.Returns == "" {
			continue
		}
		s := &schema.Signature{Params: make([]schema.Param, len(h.item.Params)), Return: schema.TypeSchema{Name: "Any"}}
		for i := range s.Params {
			s.Params[i].Type.Name = "Any"
		}
		return s
	}
	return nil
}

// names gives the names of the hint to the parameters that no earlier hint has named.
func (h *sourcedHint) names(params []schema.Param, named []bool) {
	if len(h.item.Params) == 0 {
		return
	}
	if n := len(h.item.Params); n != len(params) {
		h.fail(fmt.Errorf("it has %s, the library has %s: %s", plan.Count(n, "name"), plan.Count(len(params), "parameter"), typeList(params)), "params")
		return
	}
	for i, name := range h.item.Params {
		if name != "" && !named[i] {
			params[i].Name, named[i] = name, true
		}
	}
}

func typeList(params []schema.Param) string {
	texts := make([]string, len(params))
	for i, param := range params {
		texts[i] = param.Type.String()
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// types gives the types of the hint to the parameters, and to the result, for which no
// earlier hint has a type. The last element of typed stands for the result.
func (h *sourcedHint) types(it *Item, params []schema.Param, typed []bool) {
	for _, name := range slices.Sorted(maps.Keys(h.item.Types)) {
		i := h.index(name, params)
		if i < 0 {
			h.fail(fmt.Errorf("there is no such parameter; %s", known(name, params)), "types", name)
			continue
		}
		if !typed[i] {
			typed[i] = h.narrow(&params[i].Type, h.item.Types[name], "types", name)
			it.Changed = it.Changed || typed[i]
		}
	}
	if last := len(typed) - 1; h.item.Returns != "" && !typed[last] {
		typed[last] = h.narrow(&it.Signature.Return, h.item.Returns, "returns")
		it.Changed = it.Changed || typed[last]
	}
}

// known describes the parameters in an error about one that does not exist.
func known(name string, params []schema.Param) string {
	var names []string
	for _, param := range params {
		if param.Name != "" {
			names = append(names, param.Name)
		}
	}
	if len(names) < len(params) {
		return "the parameters " + typeList(params) + " have no names, so list them in params"
	}
	return "the parameters are " + strings.Join(names, ", ") + nearest.Question(name, names)
}

// index returns the index of a parameter by the names of the hint itself, or else by the
// names that the parameters have; -1 if there is none.
func (h *sourcedHint) index(name string, params []schema.Param) int {
	if len(h.item.Params) == len(params) {
		if i := slices.Index(h.item.Params, name); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(params, func(param schema.Param) bool { return param.Name == name })
}

// narrow replaces a type by one that it includes.
func (h *sourcedHint) narrow(t *schema.TypeSchema, text string, part ...string) bool {
	want, err := hints.ParseType(text)
	if err == nil {
		want = want.Normalized()
		err = h.items.usable(want)
	}
	if err == nil {
		err = h.items.Keys.Narrow(t.Normalized(), want)
	}
	switch {
	case err == nil:
		*t = want
		return true
	case hints.HasWidth(want) && !h.overload:
		h.refuse(err, part...) // numbers would be cut
	default:
		h.fail(err, part...)
	}
	return false
}

// usable returns an error if a type of a hint has a part that nothing registers.
func (p *Items) usable(t schema.TypeSchema) error {
	top := t
	if top.Name == "Optional" {
		top = top.Args[0]
	}
	if dtype, ok := hints.TensorElement(top); ok {
		_, err := spec.ParseDType(dtype)
		return err
	}
	for _, name := range ExprRefs(nil, t) {
		if _, ok := hints.TensorElement(schema.TypeSchema{Name: name}); ok {
			return fmt.Errorf("%s is inside another type; the type of the elements is checked only of a parameter or a result", name)
		}
		if _, ok := hints.IntegerOf(schema.TypeSchema{Name: name}); ok {
			continue
		}
		if (!InRuntime(name) || name == "ffi.Unchanged") && !structural[name] && p.Keys[name] == nil {
			return fmt.Errorf("there is no type %q%s", name, nearest.Question(name, slices.Sorted(maps.Keys(p.Keys))))
		}
	}
	return nil
}

// SignatureRefs lists the names of types that a signature mentions.
func SignatureRefs(s *schema.Signature) []string {
	if s == nil {
		return nil
	}
	refs := ExprRefs(nil, s.Return)
	for _, param := range s.Params {
		refs = ExprRefs(refs, param.Type)
	}
	return refs
}

// ExprRefs adds to refs the names of types that a type expression mentions.
func ExprRefs(refs []string, e schema.TypeSchema) []string {
	refs = append(refs, e.Name)
	for _, a := range e.Args {
		refs = ExprRefs(refs, a)
	}
	return append(refs, SignatureRefs(e.Func)...)
}

// structural are the names of types with parts that the runtime does not have under a key.
var structural = plan.WordSet("Optional Variant Tuple")

// leftOut notes the items of names files that the schema does not have.
func (p *Items) leftOut() {
	known := map[string]bool{}
	for _, f := range p.Schema.Functions {
		known[f.Name], known[string(plan.KindFunction)+":"+f.Name] = true, true
	}
	for _, t := range p.Schema.Types {
		known[t.Key], known[string(plan.KindType)+":"+t.Key] = true, true
		for _, f := range t.Fields {
			known[t.Key+"."+f.Name], known[string(plan.KindField)+":"+t.Key+"."+f.Name] = true, true
		}
		for _, m := range t.Methods {
			for _, name := range []string{m.Name, m.Name + m.Params()} {
				known[t.Key+"."+name], known[string(methodKind(&m))+":"+t.Key+"."+name] = true, true
			}
		}
		if slices.Contains(t.Attributes, plan.InitName) {
			known[t.Key+"."+plan.InitName], known[string(plan.KindConstructor)+":"+t.Key+"."+plan.InitName] = true, true
		}
	}
	for _, file := range p.Config.Names {
		for name := range file.Items {
			if !known[name] {
				p.Unused = append(p.Unused, name)
			}
		}
	}
	slices.Sort(p.Unused)
	p.Unused = slices.Compact(p.Unused)
}
