package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/docstring"
	"github.com/tvmffi-go/tvmffi/schema"
)

// page is the data for the template of ls --html.
type page struct {
	Title, Summary string
	Namespaces     []*namespace
	Flaws          []schema.Flaw
}

// namespace holds the functions and types whose names begin alike.
type namespace struct {
	ID, Name, Title, Count string
	Packages               []string // the Go packages
	Doc                    []docPart
	Functions              []pageItem
	Types                  []pageType
}

// pageType is a type with its members.
type pageType struct {
	pageItem
	Parents, Children []span
	Takers            []span // functions and methods with a parameter of the type
	Maker             string // the anchor of the function with its name, or ""
	Groups            []group
}

// Short is the name without the namespace.
func (t pageType) Short() string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }

// group is a part of the members of a type, under a heading.
type group struct {
	Title string
	Items []pageItem
}

// pageItem is an item with an anchor.
type pageItem struct {
	ID, Name string // Name is the full one, for the search
	Head     []span
	Go       [][]span
	Notes    []string
	Doc      []docPart
	Small    string
}

// span is a piece of code. Link is the anchor of the type that it names, or "".
type span struct{ Text, Link string }

// docPart is the text before the first section of a doc, or a section.
type docPart struct {
	Title   string
	Entries []docstring.Entry
	Blocks  []docBlock
}

// docBlock is a paragraph, a list, or lines that keep their form.
type docBlock struct {
	Text, Code string
	List       []string
}

// pager makes a page of a listing.
type pager struct {
	*Listing
	names      bindings.GoNames
	onPage     map[string]bool // by the keys of types
	ids        map[string]bool
	children   map[string][]string // keys of derived types
	takers     map[string][]span
	namespaces map[string]*namespace
}

// newPage arranges what l shows by namespaces.
func (l *Listing) newPage(names bindings.GoNames) page {
	s := l.shown
	p := pager{l, names, map[string]bool{}, map[string]bool{}, map[string][]string{}, map[string][]span{}, map[string]*namespace{}}
	for _, t := range s.Types {
		p.onPage[t.Key] = true
		if n := len(t.Ancestors); n > 0 {
			p.children[t.Ancestors[n-1]] = append(p.children[t.Ancestors[n-1]], t.Key)
		}
	}
	p.findTakers(s)
	for _, f := range s.Functions {
		n := p.namespace(f.Name)
		item := p.function(f)
		n.Functions = append(n.Functions, item)
		n.adds(p.names.Of(gen.KindFunction, f.Name))
	}
	for _, t := range slices.SortedFunc(slices.Values(s.Types), func(a, b schema.Type) int { return cmp.Compare(a.Key, b.Key) }) {
		n := p.namespace(t.Key)
		n.Types = append(n.Types, p.typ(t))
		n.adds(p.names.Of(gen.KindType, t.Key))
	}
	title := libraryNames(s, schema.RoleBound)
	if len(title) == 0 {
		title = libraryNames(s, schema.RoleCore)
	}
	out := page{
		Title:   strings.Join(title, ", "),
		Summary: fmt.Sprintf("%s; libtvm_ffi %d.%d.%d", Size(s), s.ABI.Major, s.ABI.Minor, s.ABI.Patch),
		Flaws:   s.Flaws,
	}
	for _, n := range slices.SortedFunc(maps.Values(p.namespaces), bySize) {
		n.count()
		out.Namespaces = append(out.Namespaces, n)
	}
	return out
}

// bySize puts large namespaces first, and the items without one last.
func bySize(a, b *namespace) int {
	last := func(n *namespace) int {
		if n.Name == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(last(a)-last(b), len(b.Functions)+len(b.Types)-len(a.Functions)-len(a.Types), cmp.Compare(a.Name, b.Name))
}

// count says how much n holds.
func (n *namespace) count() {
	var counts []string
	if len(n.Functions) > 0 {
		counts = append(counts, console.Count(len(n.Functions), "function"))
	}
	if len(n.Types) > 0 {
		counts = append(counts, console.Count(len(n.Types), "type"))
	}
	n.Count = strings.Join(counts, ", ")
}

// namespace returns the one that an item is in: what precedes the last dot.
func (p *pager) namespace(name string) *namespace {
	name = name[:max(strings.LastIndexByte(name, '.'), 0)]
	if p.namespaces[name] == nil {
		p.namespaces[name] = &namespace{
			ID: p.id("namespace", name), Name: name, Title: cmp.Or(name, "without a namespace"),
			Doc: docParts(p.names.Of(bindings.KindNamespace, name).Doc),
		}
	}
	return p.namespaces[name]
}

// adds records the package of an item of n.
func (n *namespace) adds(g bindings.GoItem) {
	if g.Package != "" && !slices.Contains(n.Packages, g.Package) {
		n.Packages = append(n.Packages, g.Package)
	}
}

// id returns the anchor of an item. A second item of the same kind and name gets a number. No
// other item has a name that ends like that.
func (p *pager) id(kind, name string) string {
	base := kind + "-" + spaceless(name)
	id := base
	for n := 2; p.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	p.ids[id] = true
	return id
}

// spaceless makes a name fit for an anchor.
func spaceless(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

// link returns the anchor of a type, or "" if the page does not have it.
func (p *pager) link(key string) string {
	if !p.onPage[key] {
		return ""
	}
	return "type-" + spaceless(key)
}

func (p *pager) function(f schema.Function) pageItem {
	item := p.item(gen.KindFunction, f.Name, "", f.Name[strings.LastIndexByte(f.Name, '.')+1:], signatureText(f.Signature))
	item.document(f.Doc)
	item.flaw(f.Flaw)
	if f.Source == schema.SourceModule {
		item.Small = strings.TrimPrefix(item.Small+"; exported by "+f.Library, "; ")
	}
	return item
}

// item begins an item with its signature in the registry and in Go. params are those of a method, which tell overloads
// apart.
func (p *pager) item(kind gen.Kind, name, params, short, signature string) pageItem {
	item := pageItem{ID: p.id(string(kind), name), Name: name, Head: append([]span{{short, ""}}, p.linked(signature)...)}
	g := p.names.Of(kind, name+params)
	item.Doc = docParts(g.Doc)
	for _, line := range g.Lines {
		var spans []span
		for _, s := range line {
			link := ""
			if kind == gen.KindFunction || s.Type != name && !strings.HasPrefix(name, s.Type+".") {
				link = p.link(s.Type) // the others are below their type
			}
			spans = append(spans, span{s.Text, link})
		}
		item.Go = append(item.Go, spans)
	}
	if g.Runtime {
		item.Small = g.Missing
	} else if g.Missing != "" {
		item.Notes = append(item.Notes, "Not bound: "+g.Missing)
	}
	return item
}

// document adds the doc of the library, if there is no other.
func (i *pageItem) document(doc string) {
	if len(i.Doc) == 0 {
		i.Doc = docParts(doc)
	}
}

// flaw notes that the metadata cannot be read.
func (i *pageItem) flaw(flaw string) {
	if flaw != "" {
		i.Notes = append(i.Notes, "Packed, because of its "+flaw)
	}
}

var registryName = regexp.MustCompile(`[A-Za-z_][\w.]*`)

// linked finds the names of types in a signature of the registry.
func (p *pager) linked(text string) []span {
	var spans []span
	end := 0
	for _, at := range registryName.FindAllStringIndex(text, -1) {
		if link := p.link(text[at[0]:at[1]]); link != "" {
			spans = append(spans, span{text[end:at[0]], ""}, span{text[at[0]:at[1]], link})
			end = at[1]
		}
	}
	return append(spans, span{text[end:], ""})
}

// typ makes a type with its members: constructors, fields, methods, static methods.
func (p *pager) typ(t schema.Type) pageType {
	out := pageType{pageItem: p.item(gen.KindType, t.Key, "", t.Key, "")}
	out.document(t.Doc)
	for _, key := range t.Ancestors {
		out.Parents = append(out.Parents, span{key, p.link(key)})
	}
	for _, key := range p.children[t.Key] {
		out.Children = append(out.Children, span{key, p.link(key)})
	}
	out.Takers = p.takers[t.Key]
	if n := len(out.Takers); n > maxTakers+1 {
		out.Takers = append(out.Takers[:maxTakers:maxTakers], span{fmt.Sprintf("and %d more", n-maxTakers), ""})
	}
	if maker := string(gen.KindFunction) + "-" + spaceless(t.Key); p.ids[maker] {
		out.Maker = maker
	}
	var constructors, fields, methods, statics []pageItem
	if text, ok := p.constructorText(&t); ok {
		constructors = append(constructors, p.constructor(t.Key, "", text))
	}
	for _, m := range t.Methods {
		var item pageItem
		if m.Name == initName {
			item = p.constructor(t.Key, m.Params(), signatureText(m.Signature))
		} else {
			item = p.item(gen.KindMethod, t.Key+"."+m.Name, m.Params(), m.Name, signatureText(m.Signature))
		}
		item.document(m.Doc)
		item.flaw(m.Flaw)
		switch {
		case m.Name == initName:
			constructors = append(constructors, item)
		case m.Flags&schema.FlagIsStaticMethod != 0:
			statics = append(statics, item)
		default:
			methods = append(methods, item)
		}
	}
	for _, f := range t.Fields {
		item := p.item(gen.KindField, t.Key+"."+f.Name, "", f.Name, ": "+f.Type.String())
		item.document(f.Doc)
		item.Small = access(f)
		fields = append(fields, item)
	}
	for _, g := range []group{{"Constructors", constructors}, {"Fields", fields}, {"Methods", methods}, {"Static methods", statics}} {
		if len(g.Items) == 1 && g.Title == "Constructors" {
			g.Title = "Constructor"
		}
		if len(g.Items) > 0 {
			out.Groups = append(out.Groups, g)
		}
	}
	return out
}

// maxTakers is how many functions and methods the page lists below a type.
const maxTakers = 12

// findTakers finds the functions and methods that take each type.
func (p *pager) findTakers(s schema.Schema) {
	add := func(owner, name, id string, sig *schema.Signature) {
		if sig == nil {
			return
		}
		seen := map[string]bool{owner: true} // its methods are below a type
		for _, param := range sig.Params {
			for _, key := range registryName.FindAllString(param.Type.String(), -1) {
				taker := span{strings.TrimSuffix(name, "."+initName), id + "-" + spaceless(name)}
				if p.onPage[key] && !seen[key] && !slices.Contains(p.takers[key], taker) { // overloads have one name
					p.takers[key] = append(p.takers[key], taker)
				}
				seen[key] = true
			}
		}
	}
	for _, f := range s.Functions {
		add("", f.Name, string(gen.KindFunction), f.Signature)
	}
	for _, t := range s.Types {
		for _, m := range t.Methods {
			kind := gen.KindMethod
			if m.Name == initName {
				kind = gen.KindConstructor
			}
			add(t.Key, t.Key+"."+m.Name, string(kind), m.Signature)
		}
	}
}

// initName is the constructor in the registry.
const initName = "__ffi_init__"

// constructor makes the item of a constructor, which has the name of its type.
func (p *pager) constructor(key, params, signature string) pageItem {
	item := p.item(gen.KindConstructor, key+"."+initName, params, key[strings.LastIndexByte(key, '.')+1:], signature)
	item.Name = key
	return item
}

// docParts reads a doc.
func docParts(text string) []docPart {
	doc := docstring.Parse(text)
	parts := []docPart{{Blocks: docBlocks(doc.Text)}}
	for _, s := range doc.Sections {
		parts = append(parts, docPart{s.Title, s.Entries, docBlocks(s.Text)})
	}
	if len(parts[0].Blocks) == 0 {
		parts = parts[1:]
	}
	return parts
}

// docBlocks gathers the items of lists.
func docBlocks(paragraphs []docstring.Paragraph) []docBlock {
	var blocks []docBlock
	for _, p := range paragraphs {
		if n := len(blocks); p.Item && n > 0 && blocks[n-1].List != nil {
			blocks[n-1].List = append(blocks[n-1].List, p.Text)
		} else if p.Item {
			blocks = append(blocks, docBlock{List: []string{p.Text}})
		} else {
			blocks = append(blocks, docBlock{Text: p.Text, Code: strings.Join(p.Code, "\n")})
		}
	}
	return blocks
}
