package report

import (
	"encoding/xml"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/schema"
)

// garden is the text of a small interface.
const garden = `{
"format": 1, "abi": {"major": 0, "minor": 1, "patch": 16},
"libraries": [{"file": "libgarden.so", "role": "bound"}],
"functions": [
	{"name": "garden.water", "source": "global", "library": "libgarden.so", "doc": "Waters a rose.\n\n- one\n- two\n\nParameters\n----------\nrose : Rose\n    Which one.",
		"signature": {"params": [{"type": {"type": "garden.Rose"}}], "return": {"type": "garden.beds.Bed"}}},
	{"name": "garden.Plant", "source": "global", "library": "libgarden.so",
		"signature": {"params": [], "return": {"type": "garden.Plant"}}},
	{"name": "area", "source": "module", "library": "libgarden.so"}],
"types": [
	{"key": "ffi.Object", "library": "libgarden.so"},
	{"key": "garden.Plant", "ancestors": ["ffi.Object"], "library": "libgarden.so", "total_size": 32},
	{"key": "garden.beds.Bed", "ancestors": ["ffi.Object"], "library": "libgarden.so", "total_size": 24},
	{"key": "garden.Rose", "ancestors": ["ffi.Object", "garden.Plant"], "library": "libgarden.so", "total_size": 40,
		"fields": [{"name": "plant", "schema": {"type": "garden.Plant"}, "offset": 32, "size": 8, "alignment": 8, "flags": 1, "static_type_index": 64}],
		"methods": [
			{"name": "__ffi_init__", "flags": 4, "signature": {"params": [{"type": {"type": "garden.Plant"}}], "return": {"type": "garden.Rose"}}},
			{"name": "cut", "flags": 0, "signature": {"params": [{"type": {"type": "garden.Rose"}}], "return": {"type": "int"}}},
			{"name": "graft", "flags": 4, "signature": {"params": [{"type": {"type": "garden.Rose"}}], "return": {"type": "garden.Rose"}}}]}]}`

// pageOf returns the page of a schema.
func pageOf(t *testing.T, s schema.Schema) string {
	t.Helper()
	names, err := bindings.NamesInGo(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := NewListing(s, s).renderHTML(&out, names); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPage(t *testing.T) {
	s, err := schema.Decode([]byte(garden))
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, s)
	shown := textOf(t, page)
	for _, want := range []string{
		// The signatures of the registry and of Go, each with its links.
		`water(garden.Rose[#type-garden.Rose]) -> garden.beds.Bed[#type-garden.beds.Bed]`,
		`func Water(rose RoseRef[#type-garden.Rose]) (*beds.Bed[#type-garden.beds.Bed], error)`,
		`area(packed)`, `func Area(args ...any) (tvmffi.Any, error)`,
		`plant: garden.Plant[#type-garden.Plant]`,
		`func (*Rose) Plant() *Plant[#type-garden.Plant]`,
		`func (*Rose) SetPlant(v PlantRef[#type-garden.Plant]) error`,
		`Rose(garden.Plant[#type-garden.Plant]) -> garden.Rose`,
		`func NewRose(plant PlantRef[#type-garden.Plant]) (*Rose, error)`,
		`func (*Rose) Cut() (int64, error)`, `func RoseGraft(rose RoseRef) (*Rose, error)`,
		`derived from ffi.Object[#type-ffi.Object] › garden.Plant[#type-garden.Plant]`,
		`derived types: garden.Rose[#type-garden.Rose]`,
		`2 types; Go package garden`, `made by the function garden.Plant[#function-garden.Plant]`, `Go package garden/beds`,
		"Waters a rose.\none\ntwo\n", "Parameters\nrose\n: Rose\nWhich one.\n", "package tvmffi has it",
		"taken by: garden.water[#function-garden.water]", "taken by: garden.Rose[#constructor-garden.Rose.__ffi_init__]",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page lacks %q:\n%s", want, shown)
		}
	}
	inOrder(t, shown, "2 types; Go package garden\n", "ffi#\n", "garden.beds#\n", "without a namespace#\n") // large ones first
	inOrder(t, shown, "garden.Rose\n#", "Constructor\n", "Fields\n", "Methods\n", "Static methods\n")
	if strings.Contains(page, initName+"(") || strings.Contains(page, ">"+initName) {
		t.Errorf("the page shows %s", initName)
	}
	for _, bad := range []string{"http:", "https:", "src=", "url(", "@import"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q: it must not need the network", bad)
		}
	}
}

// TestPage_notBound: an item without Go code says why.
func TestPage_notBound(t *testing.T) {
	s, err := schema.Decode([]byte(garden))
	if err != nil {
		t.Fatal(err)
	}
	c := project.NewConfig(t.TempDir(), "")
	c.Package, c.Out, c.Skip = "garden", "garden", []string{"garden.water"}
	names, err := bindings.NamesInGo(s, c)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := NewListing(s, s).renderHTML(&out, names); err != nil {
		t.Fatal(err)
	}
	if shown := textOf(t, out.String()); !strings.Contains(shown, "Not bound: in the skip list") || strings.Contains(shown, "func Water") {
		t.Errorf("the page does not say that garden.water is skipped:\n%s", shown)
	}
}

// TestPage_outline: a screen reader reads headings by their level and links by their label.
func TestPage_outline(t *testing.T) {
	s, err := schema.Decode([]byte(garden))
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, s)
	level, headings := 0, 0
	for _, m := range regexp.MustCompile(`<h([1-6])`).FindAllStringSubmatch(page, -1) {
		next, _ := strconv.Atoi(m[1])
		if next > level+1 {
			t.Errorf("a heading of level %d follows one of level %d", next, level)
		}
		level = next
		headings++
	}
	labels := map[string]bool{}
	for _, m := range regexp.MustCompile(`class="anchor" href="#([^"]+)" aria-label="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if labels[m[2]] && !strings.HasPrefix(m[1], "constructor-") && !strings.HasPrefix(m[1], "type-") { // a type has the name of its makers
			t.Errorf("two links have the label %s", m[2])
		}
		labels[m[2]] = true
	}
	if headings < 10 || len(labels) < 10 {
		t.Errorf("%d headings, %d labels", headings, len(labels))
	}
}

func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		i := strings.Index(text, p)
		if i < 0 {
			t.Errorf("%q does not follow in %q", p, text)
			return
		}
		text = text[i:]
	}
}

// textOf returns the text of the body. Links are followed by their target, and a block is a line.
// It fails for anchors that are missing or stand twice.
func textOf(t *testing.T, page string) string {
	t.Helper()
	ids := map[string]bool{}
	var links []string
	var out strings.Builder
	link := ""
	d := decoder(page)
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch x := token.(type) {
		case xml.StartElement:
			for _, a := range x.Attr {
				switch a.Name.Local {
				case "id":
					if ids[a.Value] || strings.ContainsAny(a.Value, " \n") {
						t.Errorf("the anchor %q is not unique, or has a space", a.Value)
					}
					ids[a.Value] = true
				case "href":
					link = a.Value
					links = append(links, a.Value)
				}
			}
		case xml.CharData:
			out.WriteString(strings.Trim(string(x), "\n"))
		case xml.EndElement:
			switch {
			case x.Name.Local == "a" && !strings.HasSuffix(out.String(), "#"):
				out.WriteString("[" + link + "]")
			case slices.Contains([]string{"p", "div", "h2", "h3", "h4", "h5", "pre", "li", "a", "dt", "dd"}, x.Name.Local), x.Name.Local == "code" && !strings.HasSuffix(out.String(), "package garden"):
				out.WriteString("\n")
			}
		}
	}
	for _, l := range links {
		target, err := url.PathUnescape(strings.TrimPrefix(l, "#"))
		if err != nil || !ids[target] {
			t.Errorf("the link %q leads nowhere", l)
		}
	}
	if len(links) < 10 {
		t.Errorf("the page has %d links", len(links))
	}
	return out.String()
}

// decoder reads the body of a page without its script.
func decoder(page string) *xml.Decoder {
	_, body, _ := strings.Cut(page, "<body>")
	before, rest, _ := strings.Cut(body, "<script>")
	_, after, _ := strings.Cut(rest, "</script>")
	d := xml.NewDecoder(strings.NewReader("<body>" + before + after))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	return d
}

// Names of a library may be anything. Two items may have one name.
func TestPage_hostile(t *testing.T) {
	const bad = `a."><script>alert(1)</script> b`
	s := schema.Schema{
		Libraries: []schema.Library{{File: "libbad.so", Role: schema.RoleBound}},
		Functions: []schema.Function{
			{Name: bad, Source: schema.SourceGlobal, Library: "libbad.so", Doc: bad},
			{Name: "f", Source: schema.SourceGlobal, Library: "libbad.so"}, {Name: "f", Source: schema.SourceModule, Library: "libbad.so"}},
		Types: []schema.Type{{Key: bad, Ancestors: []string{bad}, Doc: bad, Fields: []schema.Field{{Name: bad, Doc: bad}, {Name: bad}}}},
		Flaws: []schema.Flaw{{Kind: "type", Name: bad, Reason: bad}},
	}
	var out strings.Builder
	if err := NewListing(s, s).renderHTML(&out, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "<script>"); n != 1 {
		t.Errorf("the page has %d scripts:\n%s", n, out.String())
	}
	textOf(t, out.String())
}

// TestPage_contrast computes the contrast of text as WCAG 2 defines it. Level AA asks for 4.5.
func TestPage_contrast(t *testing.T) {
	light, dark, ok := strings.Cut(pageText, "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("the style sheet has no dark colours")
	}
	dark, _, _ = strings.Cut(dark, "\n}")
	variable := regexp.MustCompile(`--(\w+): #([0-9a-f]{6});`)
	for theme, css := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range variable.FindAllStringSubmatch(css, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for _, text := range []string{"text", "soft", "link", "flaw"} {
			for _, ground := range []string{"page", "box", "target"} {
				a, b := colours[text], colours[ground]
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); colours[text] == 0 || ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.1f, want 4.5 at least", theme, text, ground, ratio)
				}
			}
		}
	}
	rules := regexp.MustCompile(`[^-]color: (#\w+|[a-z]+);`).FindAllString(pageText, -1)
	if len(rules) > 0 {
		t.Errorf("colours that are not variables: %q", rules)
	}
}

// luminance is the relative luminance of a colour.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestAnchors has names that are equal without spaces, and one that ends like a number.
func TestAnchors(t *testing.T) {
	p := pager{ids: map[string]bool{}}
	var got []string
	for _, name := range []string{"a b", "a_b-2", "a_b", "a\tb", "a_b-2"} {
		got = append(got, p.id("method", name))
	}
	want := []string{"method-a_b", "method-a_b-2", "method-a_b-3", "method-a_b-4", "method-a_b-2-2"}
	if !slices.Equal(got, want) {
		t.Errorf("the anchors are %q, want %q", got, want)
	}
}
