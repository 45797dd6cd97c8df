package pynames

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// Options say what Read does.
type Options struct {
	// Interface is what the libraries offer, nil if it is not known. Names that do not fit it are left out.
	Interface *schema.Schema
	// NoDocs leaves out documentation.
	NoDocs bool
	// Timeout limits how long Python may take.
	Timeout time.Duration
}

// Report says what Read found.
type Report struct {
	Sources int  `json:"sources"` // Python files
	Natives int  `json:"natives"` // C++ files that may export or register functions
	Checked bool `json:"checked"` // against the interface of libraries
	// Functions, Methods and Constructors count what takes parameters in the interface, or all that was found
	// if there is no interface.
	Functions    Count  `json:"functions"`
	Methods      Count  `json:"methods"`
	Constructors Count  `json:"constructors"`
	Params       Count  `json:"params"`
	Types        int    `json:"types"`    // types of parameters
	Results      int    `json:"results"`  // types of results
	Defaults     int    `json:"defaults"` // of parameters
	Docs         int    `json:"docs"`     // documented items
	LeftOut      []Note `json:"left_out"` // what does not fit the interface
	Unread       []Note `json:"unread"`   // sources that cannot be read
}

// Count says how many of a kind have names for all of their parameters, for some, and how many there are.
type Count struct {
	Named  int `json:"named"`
	Partly int `json:"partly"`
	All    int `json:"all"`
}

// Read reads the Python and C++ sources of wheels and folders, which may use each other.
func Read(ctx context.Context, inputs []Input, o Options) (hints.File, *Report, error) {
	c, err := collect(inputs, defaultLimits)
	if err != nil {
		return hints.File{}, nil, err
	}
	all, err := parse(ctx, c.sources, o.Timeout)
	if err != nil {
		return hints.File{}, nil, err
	}
	var in *iface
	if o.Interface != nil {
		in = newIface(*o.Interface)
	}
	r := &Report{Sources: len(c.sources), Natives: len(c.natives), Checked: in != nil, LeftOut: []Note{}, Unread: append([]Note{}, c.notes...)}
	for i, s := range c.sources {
		if all[i].Error == "" {
			continue
		}
		where := s.path
		if all[i].Line > 0 {
			where = fmt.Sprintf("%s:%d", s.path, all[i].Line)
		}
		r.Unread = append(r.Unread, Note{where, all[i].Error})
	}
	b := &builder{program: newProgram(c.sources, all, in), report: r, docs: !o.NoDocs, file: hints.File{
		Format: hints.Format, Sources: c.origins, Namespaces: map[string]string{}, Items: map[string]hints.Item{},
	}}
	b.native = declared(c.natives, c.headers)
	b.build()
	return b.file, r, nil
}

// builder makes a names file of a program.
type builder struct {
	*program
	report *Report
	docs   bool
	file   hints.File
	native *tables // of the C++ sources
}

func (b *builder) build() {
	found := b.sites()
	callers := map[string]map[*module]bool{}
	for function, sites := range found {
		if at := strings.LastIndexByte(function, '.'); at > 0 {
			for _, s := range sites {
				if callers[function[:at]] == nil {
					callers[function[:at]] = map[*module]bool{}
				}
				callers[function[:at]][s.in] = true
			}
		}
	}
	if b.iface != nil {
		b.alike(found, callers)
		for name := range b.native.exported {
			if b.iface.exports[name] && found[name] == nil {
				found[name] = []site{}
			}
		}
		for name, it := range b.iface.items {
			if it.noted && found[name] == nil {
				found[name] = []site{}
			}
		}
		for name := range b.native.registered {
			if it := b.iface.items[name]; it.typed && found[name] == nil {
				found[name] = []site{}
			}
		}
	}
	for _, function := range slices.Sorted(maps.Keys(found)) {
		if b.iface != nil && len(b.iface.overloads[function]) > 0 {
			b.overloaded(function, found[function])
		} else {
			b.function(function, found[function])
		}
	}
	if b.iface != nil {
		b.fieldWidths()
	}
	if b.docs {
		b.classes()
		b.namespaces(callers)
	}
	b.count()
}

// overloaded adds what sites say about the overloads of a method: a call is one of the overload with as many
// parameters, if there is only one. A def documents all.
func (b *builder) overloaded(name string, sites []site) {
	count := map[int]int{}
	for _, overload := range b.iface.overloads[name] {
		count[len(b.iface.items[overload].params)]++
	}
	for _, overload := range b.iface.overloads[name] {
		n := len(b.iface.items[overload].params)
		b.function(overload, slices.DeleteFunc(slices.Clone(sites), func(s site) bool {
			names, counted := s.names()
			return !counted || len(names) != n || count[n] > 1
		}))
	}
	if b.docs {
		b.addDoc(name, docOf(name, sites))
	}
}

// function adds what its sites say about a function, method or constructor.
func (b *builder) function(name string, sites []site) {
	it := item{name: name}
	known := b.iface != nil
	if known {
		var ok bool
		if it, ok = b.iface.items[name]; !ok || it.kind == "type" || it.kind == "field" {
			b.leaveOut(name, "the libraries have no such function")
			return
		}
		if !it.bound || it.kind == "init" {
			return
		}
	}
	c := choose(it.name, sites, it, known)
	if known && it.typed {
		c.names = b.cppNames(name, it, c.names)
	}
	if known && it.typed && !c.fits && given(c.names) < len(it.params) && counted(sites) {
		b.leaveOut(name, fmt.Sprintf("it has %s, and no call in the sources has as many arguments", console.Count(len(it.params), "parameter")))
	}
	var disputed []string
	for _, i := range slices.Sorted(maps.Keys(c.disputed)) {
		if c.names[i] == "" { // C++ names the others
			disputed = append(disputed, c.disputed[i])
		}
	}
	if len(disputed) > 0 {
		b.leaveOut(name, "calls disagree: "+strings.Join(disputed, "; "))
	}
	out := hints.Item{}
	if known && !it.typed {
		c.names = nil // it takes any number of arguments
	}
	if slices.ContainsFunc(c.names, func(n string) bool { return n != "" }) {
		out.Params = c.names
	}
	b.types(&out, it, known, c)
	b.defaults(name, &out, it, known, c)
	if known && it.typed {
		b.widths(name, &out, it, c.names)
	}
	if b.docs {
		best := c.best
		if len(best) == 0 {
			best = sites
		}
		out.Doc = b.doc(name, cmp.Or(docOf(it.name, best), b.native.docs[it.name]))
	}
	b.put(name, out)
}

// counted reports whether a site has a number of arguments that a reader sees.
func counted(sites []site) bool {
	return slices.ContainsFunc(sites, func(s site) bool { _, ok := s.names(); return ok })
}

// types adds the types of parameters and of the result on which all sites agree that say one.
func (b *builder) types(out *hints.Item, it item, known bool, c chosen) {
	if !known || !it.typed {
		return
	}
	for i, name := range c.names {
		if name == "" || !loose(it.params[i].Type) {
			continue
		}
		says := map[string]bool{}
		for _, s := range c.best {
			if s.declares {
				continue
			}
			skip := len(s.call.Args) - len(c.names)
			text := b.passed(s, s.call.Args[i+skip])
			if text != "" {
				text = b.iface.narrows(it.params[i].Type, text)
			}
			says[text] = true
		}
		if text := only(says); text != "" {
			if out.Types == nil {
				out.Types = map[string]string{}
			}
			out.Types[name] = text
		}
	}
	if !loose(it.returns) {
		return
	}
	says := map[string]bool{}
	for _, s := range c.best {
		if text := b.returned(s); text != "" {
			says[b.iface.narrows(it.returns, text)] = true
		}
	}
	out.Returns = only(says)
}

// only returns the only element of a set, "" if it has more or none.
func only(set map[string]bool) string {
	if len(set) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(set))[0]
}

// classes adds the documentation of types and of their fields.
func (b *builder) classes() {
	for _, m := range b.sorted() {
		for i := range m.Classes {
			c := &m.Classes[i]
			key := b.keys[c]
			if key == "" {
				key = b.wraps[c]
			}
			if key == "" || b.iface != nil && !b.iface.items[b.iface.typeName(key)].bound {
				continue
			}
			b.addDoc(b.iface.typeName(key), c.Doc)
			for _, f := range c.Fields {
				if b.keys[c] != "" && f.Doc != "" && b.isItem(key+"."+f.Name) {
					b.addDoc(key+"."+f.Name, f.Doc)
				}
			}
		}
	}
}

// namespaces adds the documentation of namespaces.
func (b *builder) namespaces(callers map[string]map[*module]bool) {
	for _, m := range b.sorted() {
		if m.namespace == "" || b.file.Namespaces[m.namespace] != "" {
			continue
		}
		if doc := b.namespaceDoc(m, callers[m.namespace]); doc != "" && (b.iface == nil || b.iface.namespaces[m.namespace]) {
			b.file.Namespaces[m.namespace] = doc
		}
	}
}

// addDoc adds documentation to an item that has none.
func (b *builder) addDoc(name, doc string) {
	it := b.file.Items[name]
	if it.Doc == "" {
		it.Doc = b.doc(name, doc)
		b.put(name, it)
	}
}

// doc returns documentation as a names file holds it.
func (b *builder) doc(name, doc string) string {
	text, cut := clean(doc)
	if cut {
		b.leaveOut(name, fmt.Sprintf("its documentation has more than %d bytes and was cut", hints.MaxDoc))
	}
	return text
}

// put adds an item that says something.
func (b *builder) put(name string, it hints.Item) {
	if len(it.Params)+len(it.Types) > 0 || it.Doc != "" || it.Returns != "" || it.Type != "" {
		b.file.Items[name] = it
	}
}

func (b *builder) leaveOut(name, why string) {
	b.report.LeftOut = append(b.report.LeftOut, Note{name, why})
}

// count fills the report.
func (b *builder) count() {
	r := b.report
	for _, it := range b.file.Items {
		r.Types += len(it.Types)
		r.Defaults += len(it.Default)
		if it.Returns != "" {
			r.Results++
		}
		if it.Doc != "" {
			r.Docs++
		}
	}
	if b.iface == nil {
		for _, it := range b.file.Items {
			if it.Params != nil {
				r.Functions.add(it.Params, len(it.Params))
				r.Params.addParams(it.Params, len(it.Params))
			}
		}
		return
	}
	for _, name := range b.iface.all {
		it := b.iface.items[name]
		if !it.bound || !it.typed || len(it.params) == 0 {
			continue
		}
		names := b.file.Items[name].Params
		r.Params.addParams(names, len(it.params))
		map[string]*Count{"function": &r.Functions, "method": &r.Methods, "constructor": &r.Constructors}[it.kind].add(names, len(it.params))
	}
}

func (c *Count) add(names []string, n int) {
	c.All++
	switch named := given(names); {
	case named == n:
		c.Named++
	case named > 0:
		c.Partly++
	}
}

func (c *Count) addParams(names []string, n int) {
	c.All += n
	c.Named += given(names)
}

// given counts the names that are not empty.
func given(names []string) int {
	n := 0
	for _, name := range names {
		if name != "" {
			n++
		}
	}
	return n
}
