package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/docstring"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// A refined item is an item of the schema with what hints add to it: the entries of the
// configuration first, then the names files, then the documentation of the library.
type refined struct {
	// signature has the names and types of the hints. It is nil for a packed function.
	signature *schema.Signature
	// changed is set if a hint gave a type.
	changed bool
	doc     string
	// notes say what was left out of a names file.
	notes []string
}

// refine applies the hints to all bound items.
func (p *planner) refine() {
	p.refined = map[any]*refined{}
	for _, b := range p.functions {
		p.refined[b.schema] = p.refineFunc(b.entry.Name, b.entry.id(), b.schema.Signature, b.schema.Doc, false)
	}
	for _, t := range p.bound {
		for i := range t.schema.Methods {
			m := &t.schema.Methods[i]
			name := t.schema.Key + "." + m.Name
			p.refined[m] = p.refineFunc(name, string(methodKind(m))+":"+name, m.Signature, m.Doc, m.Flags&schema.FlagIsStaticMethod == 0)
		}
	}
	p.leftOut()
}

// hintedDoc returns the documentation of the first hint that has one.
func (p *planner) hintedDoc(kind Kind, name string) string {
	for _, h := range p.hintsFor(name, string(kind)+":"+name) {
		if h.item.Doc != "" {
			return h.item.Doc
		}
	}
	return ""
}

// hinted returns the documentation of a type, a field or a constructor: that of the first
// hint that has one, or else its own. Types in a hint are an error, or noted in the entry.
func (p *planner) hinted(e *Entry, own string) string {
	var notes []string
	for _, h := range p.hintsFor(e.Name, e.id()) {
		h.notes = &notes
		if len(h.item.Types) > 0 || h.item.Returns != "" {
			h.fail(fmt.Errorf("the types of a %s cannot be set; give doc or name", e.Kind))
		}
	}
	e.LeftOut = strings.Join(notes, "; ")
	return cmp.Or(p.hintedDoc(e.Kind, e.Name), own)
}

// namespaceDocs returns what names files say about namespaces, by the directory of the
// package. If a package has several, the shortest counts.
func (p *planner) namespaceDocs() map[string]string {
	docs := map[string]string{}
	bound := p.boundNamespaces()
	byLength := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	for _, file := range p.config.Names {
		for _, ns := range slices.SortedFunc(maps.Keys(file.Namespaces), byLength) {
			if !bound[ns] {
				continue
			}
			dir := p.locate(strings.TrimPrefix(ns+".item", ".")).dir
			docs[dir] = cmp.Or(docs[dir], file.Namespaces[ns])
		}
	}
	return docs
}

// boundNamespaces holds the root, which may have no name, and the namespaces of the bound items and
// those around them inside it.
func (p *planner) boundNamespaces() map[string]bool {
	all := map[string]bool{p.root: true}
	note := func(name string) {
		for ns, _ := p.cut(name); ns != "" && !all[ns]; ns, _ = p.cut(ns) {
			all[ns] = true
		}
	}
	for _, f := range p.functions {
		note(f.schema.Name)
	}
	for _, t := range p.bound {
		note(t.schema.Key)
	}
	return all
}

// methodSignature returns the signature of a method with what hints add, also if its type is
// not bound.
func (p *planner) methodSignature(m *schema.Method) *schema.Signature {
	if r := p.refined[m]; r != nil {
		return r.signature
	}
	return m.Signature
}

// A sourcedHint is one hint for an item. Those of the configuration have a key, and what is
// wrong with them is an error. What is wrong with those of a names file is noted.
type sourcedHint struct {
	item    hints.Item
	key     string // of the configuration
	pattern bool
	planner *planner
	notes   *[]string
}

// fail reports a problem of one part of the hint.
func (h *sourcedHint) fail(err error, part ...string) {
	switch {
	case h.key == "":
		*h.notes = append(*h.notes, strings.Join(append(part, err.Error()), ": "))
	case h.key != "" && !h.pattern:
		h.planner.failAt(err, append([]string{"functions", h.key}, part...)...)
	}
}

// hintsFor returns the hints for an item, the first to be heeded first. An entry of the
// configuration under the exact name precedes patterns, and a longer pattern a shorter one.
func (p *planner) hintsFor(name, id string) []*sourcedHint {
	var all []*sourcedHint
	add := func(key string, pattern bool) {
		p.used["functions "+key] = true
		all = append(all, &sourcedHint{item: p.config.Functions[key], key: key, pattern: pattern, planner: p})
	}
	for _, key := range []string{id, name} {
		if _, ok := p.config.Functions[key]; ok {
			add(key, false)
		}
	}
	for _, pattern := range p.patterns {
		if ok, _ := path.Match(pattern, name); ok {
			add(pattern, true)
		}
	}
	for i := range p.config.Names {
		for _, key := range []string{id, name} {
			if item, ok := p.config.Names[i].Items[key]; ok {
				all = append(all, &sourcedHint{item: item, planner: p})
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
		if strings.Contains(key, "*") {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return all
}

// refineFunc applies the hints for a function or method. With self, the first parameter of
// the signature is the receiver, which hints do not mention.
func (p *planner) refineFunc(name, id string, s *schema.Signature, doc string, self bool) *refined {
	r := &refined{}
	all := p.hintsFor(name, id)
	hinted := ""
	for _, h := range all {
		h.notes = &r.notes
		hinted = cmp.Or(hinted, h.item.Doc)
	}
	r.doc = cmp.Or(hinted, doc)
	if s == nil {
		s = p.promised(all)
		if r.changed = s != nil; s == nil {
			return r
		}
	}
	r.signature = &schema.Signature{Params: slices.Clone(s.Params), Return: s.Return}
	params := r.signature.Params
	if self && len(params) > 0 {
		params = params[1:]
	}
	named := make([]bool, len(params))
	typed := make([]bool, len(params)+1)
	for _, h := range all {
		h.names(params, named)
	}
	if names := docstring.Parse(doc).Params(); len(names) == len(params) {
		for i := range params {
			params[i].Name = cmp.Or(params[i].Name, names[i])
		}
	}
	for _, h := range all {
		h.types(r, params, typed)
	}
	for i := range params {
		if wide := p.accepted(params[i].Type); !typed[i] && wide.String() != params[i].Type.Normalized().String() {
			params[i].Type, r.changed = wide, true
		}
	}
	return r
}

// accepted returns what a parameter of type t accepts: for an object type with alternatives,
// those. Inside a container the type stays the same, so that a slice of objects remains one.
func (p *planner) accepted(t schema.TypeSchema) schema.TypeSchema {
	return p.expand(t, map[string]bool{})
}

// expand is accepted for a part of a type. A type that expanded has stays the same: its
// alternatives are in the result already.
func (p *planner) expand(t schema.TypeSchema, expanded map[string]bool) schema.TypeSchema {
	t = t.Normalized()
	switch {
	case t.Name == "Optional" || t.Name == "Variant":
		for i, a := range t.Args {
			t.Args[i] = p.expand(a, expanded)
		}
	case !expanded[t.Name] && p.types[t.Name] != nil && p.types[t.Name].Accepts != nil:
		wide := *p.types[t.Name].Accepts
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
func (p *planner) promised(all []*sourcedHint) *schema.Signature {
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
		h.fail(fmt.Errorf("it has %s, the library has %s: %s", count(n, "name"), count(len(params), "parameter"), typeList(params)), "params")
		return
	}
	for i, name := range h.item.Params {
		if name != "" && !named[i] {
			params[i].Name, named[i] = name, true
		}
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
func (h *sourcedHint) types(r *refined, params []schema.Param, typed []bool) {
	for _, name := range slices.Sorted(maps.Keys(h.item.Types)) {
		i := h.index(name, params)
		if i < 0 {
			h.fail(fmt.Errorf("there is no such parameter; %s", known(name, params)), "types", name)
			continue
		}
		if !typed[i] {
			typed[i] = h.narrow(&params[i].Type, h.item.Types[name], "types", name)
			r.changed = r.changed || typed[i]
		}
	}
	if last := len(typed) - 1; h.item.Returns != "" && !typed[last] {
		typed[last] = h.narrow(&r.signature.Return, h.item.Returns, "returns")
		r.changed = r.changed || typed[last]
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
		err = h.planner.usable(want)
	}
	if err == nil {
		err = h.planner.types.Narrow(t.Normalized(), want)
	}
	if err != nil {
		h.fail(err, part...)
		return false
	}
	*t = want
	return true
}

// usable returns an error if a type of a hint has a part that nothing registers.
func (p *planner) usable(t schema.TypeSchema) error {
	top := t
	if top.Name == "Optional" {
		top = top.Args[0]
	}
	if dtype, ok := hints.TensorElement(top); ok {
		_, err := spec.ParseDType(dtype)
		return err
	}
	for _, name := range exprRefs(nil, t) {
		if _, ok := hints.TensorElement(schema.TypeSchema{Name: name}); ok {
			return fmt.Errorf("%s is inside another type; the type of the elements is checked only of a parameter or a result", name)
		}
		_, kind := kinds[name]
		_, container := containers[name]
		if !kind && !container && !structural[name] && p.types[name] == nil {
			return fmt.Errorf("there is no type %q%s", name, nearest.Question(name, slices.Sorted(maps.Keys(p.types))))
		}
	}
	return nil
}

// structural are the names of types with parts that are not containers.
var structural = wordSet("Optional Variant Tuple ffi.Function ObjectRValueRef")

// leftOut notes the items of names files that the schema does not have.
func (p *planner) leftOut() {
	known := map[string]bool{}
	for _, f := range p.schema.Functions {
		known[f.Name], known[string(KindFunction)+":"+f.Name] = true, true
	}
	for _, t := range p.schema.Types {
		known[t.Key], known[string(KindType)+":"+t.Key] = true, true
		for _, f := range t.Fields {
			known[t.Key+"."+f.Name], known[string(KindField)+":"+t.Key+"."+f.Name] = true, true
		}
		for _, m := range t.Methods {
			known[t.Key+"."+m.Name], known[string(methodKind(&m))+":"+t.Key+"."+m.Name] = true, true
		}
		if slices.Contains(t.Attributes, initName) {
			known[t.Key+"."+initName], known[string(KindConstructor)+":"+t.Key+"."+initName] = true, true
		}
	}
	for _, file := range p.config.Names {
		for name := range file.Items {
			if !known[name] {
				p.unused = append(p.unused, name)
			}
		}
	}
	slices.Sort(p.unused)
	p.unused = slices.Compact(p.unused)
}

// checkFunctions refuses entries of the configuration that match nothing or say nothing.
func (p *planner) checkFunctions(known []string) {
	for _, key := range slices.Sorted(maps.Keys(p.config.Functions)) {
		item := p.config.Functions[key]
		switch {
		case !p.used["functions "+key]:
			p.failAt(fmt.Errorf("it matches no bound item; remove the line or correct the name%s",
				nearest.Question(key[strings.IndexByte(key, ':')+1:], known)), "functions", key)
		case item.Name == "" && item.Params == nil && item.Types == nil && item.Returns == "" && item.Doc == "":
			p.failAt(errors.New("the entry is empty; give params, types, returns, doc or name"), "functions", key)
		}
	}
}

// A ConfigError is a problem of one entry of the configuration.
type ConfigError struct {
	// Path are the keys that lead to the entry, such as functions, garden.water, params.
	Path []string
	Err  error
}

// Error returns the keys and the problem.
func (e *ConfigError) Error() string {
	text := ""
	for i, key := range e.Path {
		if i == 1 {
			key = strconv.Quote(key)
		}
		text += key + ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns the problem.
func (e *ConfigError) Unwrap() error { return e.Err }

// failAt refuses an entry of the configuration.
func (p *planner) failAt(err error, path ...string) { p.fail(&ConfigError{Path: path, Err: err}) }
