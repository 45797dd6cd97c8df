package docs

import (
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// options documents the options of a package, and lists them in the docs of its functions.
func (d *documenter) options() {
	for _, f := range d.pkg.AllFuncs() {
		if f.Call == nil || f.Call.Options == nil || f.GoName == "" {
			continue
		}
		var all []string
		for i, o := range f.Call.Options.Funcs {
			all = append(all, d.link(d.pkg, o.GoName)+" "+defaultText(f, i))
		}
		f.Doc.About = append(f.Doc.About, "Options and their defaults: "+strings.Join(all, ", ")+".")
	}
	for _, o := range d.pkg.Options {
		var texts []string // the defaults
		users := map[string][]string{}
		given := ""
		for _, f := range o.Users {
			i := slices.Index(f.Call.Options.Funcs, o)
			text := defaultText(f, i)
			given = f.Call.Params[f.Call.Options.First+i].Given
			if users[text] == nil {
				texts = append(texts, text)
			}
			users[text] = append(users[text], d.link(d.pkg, f.Path()))
		}
		o.Doc.Intro = "sets the parameter " + given + "."
		var parts []string
		for _, text := range texts {
			parts = append(parts, list(users[text], "and", maxListed, "function")+", where the default is "+text)
		}
		o.Doc.About = append(o.Doc.About, "It is an option of "+strings.Join(parts, ", and of ")+".")
	}
}

// defaultText returns the default of an option of a function in Go.
func defaultText(f *plan.Func, i int) string {
	p := f.Call.Params[f.Call.Options.First+i]
	if p.Default.Member != "" && p.Type.Enum != nil {
		at := slices.IndexFunc(p.Type.Enum.Members, func(m plan.Member) bool { return m.Name == p.Default.Member })
		return p.Type.Enum.Members[at].GoName
	}
	return p.Default.Text
}
