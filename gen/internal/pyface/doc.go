package pyface

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// docstring writes a text as a docstring.
func docstring(indent, text string) string {
	text = strings.TrimSpace(face.Clean(text))
	if text == "" {
		return ""
	}
	text = strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		if i > 0 && line != "" {
			line = indent + line
		}
		lines[i] = line
	}
	last := lines[len(lines)-1]
	end := `"""`
	if len(lines) > 1 {
		end = "\n" + indent + end
	} else if strings.HasSuffix(last, `"`) || strings.HasSuffix(last, `\`) {
		end = " " + end
	}
	return indent + `"""` + strings.Join(lines, "\n") + end + "\n"
}

// bracketed is a link of a Go doc comment to a declaration.
var bracketed = regexp.MustCompile(`\[\*?([\pL_][\pL\pN_]*(?:\.[\pL_][\pL\pN_]*){0,2})\]`)

// text writes a doc comment of Go for readers of Python: names of Go that begin it or that it
// links to become those of Python, and code is indented by spaces.
func (w *writer) text(doc, goName, name string) string {
	if rest, ok := strings.CutPrefix(doc, goName); ok && goName != "" && (rest == "" || strings.ContainsAny(rest[:1], " ,.:;\n'")) {
		doc = name + rest
	}
	lines := strings.Split(doc, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "\t"):
			lines[i] = strings.ReplaceAll(line, "\t", "    ")
		case strings.HasPrefix(line, "# "):
			lines[i] = line[2:] + "\n" + strings.Repeat("-", len(line)-2)
		default:
			lines[i] = bracketed.ReplaceAllStringFunc(line, func(found string) string {
				target := strings.Trim(found, "[]*")
				return "``" + cmp.Or(w.links[target], target) + "``"
			})
		}
	}
	return strings.Join(lines, "\n")
}

// link finds the names of Python for those of Go.
func (w *writer) link() {
	for _, c := range w.lib.Classes {
		w.links[c.Name] = w.names[c]
		for _, f := range c.Fields {
			w.links[c.Name+"."+f.GoName] = w.names[c] + "." + inClass(f.Name)
		}
	}
	w.lib.EachFunction(func(c *face.Class, f *face.Function) {
		switch {
		case c == nil:
			w.links[f.GoName] = w.names[f]
		case f != c.Constructor:
			w.links[c.Name+"."+f.GoName] = w.names[c] + "." + inClass(f.Name)
		}
	})
}

// section writes a section in the style of numpydoc.
func section(title string, lines ...string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + title + "\n" + strings.Repeat("-", len(title)) + "\n" + strings.Join(lines, "\n")
}

// functionDoc returns the docstring of a function. It does not repeat the signature.
func (w *writer) functionDoc(f *face.Function, d def, params []parameter) string {
	doc := cmp.Or(w.text(f.Doc, f.GoName, d.name), d.name+" is the Go func "+f.GoName+".")
	if d.async {
		doc += "\n\nThis form is for asyncio. If the task is cancelled, the context of Go ends."
	}
	doc += parameterDocs(params)
	if len(f.Results) == 1 && f.Results[0].Name != "" {
		doc += section("Returns", resultNames(f.Results)...)
	}
	return doc
}

// parameterDocs describes the parameters of which more is known than their types.
func parameterDocs(params []parameter) string {
	var lines []string
	for _, p := range params {
		doc := p.doc
		if p.Type.Lent {
			doc = "one dimension, " + elementName(p.Type.Elems[0]) + "; only a list, or an array that is read-only or has gaps, is copied"
		}
		lines = append(lines, described(p.name, doc)...)
	}
	return section("Parameters", lines...)
}

// described returns the lines of a section for something that has a doc.
func described(name, doc string) []string {
	if doc == "" {
		return nil
	}
	return []string{name, "    " + strings.ReplaceAll(doc, "\n", "\n    ")}
}

// elementName returns the name of a type of elements of NumPy and others.
func elementName(t *face.Type) string {
	name := "int"
	switch {
	case t.Kind == crossing.KindBool:
		return "bool"
	case t.Kind == crossing.KindFloat:
		name = "float"
	case t.Unsigned:
		name = "uint"
	}
	return name + strconv.Itoa(t.Bits)
}
