package plan

import "slices"

// A Forward keeps a constructor or a static method of a type beside the alias of the
// type.
type Forward struct {
	GoName string // "" if the name is taken
	To     *Func
	Call   *Call // the parameters of To, with names for this package; nil: packed
	Doc    Doc
}

// describeForwards plans the forwards of all aliases.
func (p *planner) describeForwards() {
	for _, pkg := range p.dirs {
		for _, a := range pkg.aliases {
			for _, f := range a.Object.Statics {
				forward := &Forward{To: f}
				if f.Call != nil {
					c := *f.Call
					c.Params = slices.Clone(c.Params)
					forward.Call = &c
				}
				a.Forwards = append(a.Forwards, forward)
			}
		}
	}
}

// nameForwards names the forwards of a package. A name that is taken belongs to a function
// of the namespace itself, which the library prefers.
func (pkg *Package) nameForwards() {
	for _, a := range pkg.aliases {
		for _, f := range a.Forwards {
			name := "New" + a.GoName
			if !f.To.Constructor {
				name = join(a.GoName, Camel(f.To.Name))
			} else if len(a.Object.Makers) > 0 {
				name += f.To.raw()
			}
			if _, taken := pkg.scope.holder(name); taken || a.GoName == "" || f.To.GoName == "" {
				continue
			}
			pkg.scope.add("the constructor of "+a.Object.Key, name)
			f.GoName = name
		}
	}
}

// AliasOf returns the name that a type of another package has here too, "" if there is
// none.
func (pkg *Package) AliasOf(o *Object) string {
	for _, a := range pkg.aliases {
		if a.Object == o {
			return a.GoName
		}
	}
	return ""
}
