package kernel

import "strings"

// Symbol is the name of the kernel as a function of a shared library: that in the
// registry without the namespace. It may not be a C symbol; export refuses it then.
func (k *Kernel) Symbol() string { return k.Register[strings.LastIndexByte(k.Register, '.')+1:] }

// duplicates refuses two things of one name.
func (p *planner) duplicates() {
	names, registered := map[string]int{}, map[string]int{}
	for i, k := range p.pkg.Kernels {
		if k.Plan == nil {
			continue
		}
		if j, ok := names[k.GoName]; ok {
			p.fail(i, "name", -1, "kernels[%d] is called %s too: give one another name", j, k.GoName)
		} else {
			names[k.GoName] = i
		}
		k.register()
		if j, ok := registered[k.Register]; ok {
			p.fail(i, "register", -1, "kernels[%d] is registered as %s too: give one another name with register", j, k.Register)
		} else {
			registered[k.Register] = i
		}
	}
}
