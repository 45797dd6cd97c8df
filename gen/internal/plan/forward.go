package plan

import "slices"

// describeForwards plans the forwards of the aliases of a package.
func describeForwards(pkg *Package) {
	for _, a := range pkg.Aliases {
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
