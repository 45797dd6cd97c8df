package pynames

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// Noted reports whether a library that is bound notes the width of an int, as kernels of the CuTe DSL and of TVM do. Then Read
// needs no sources.
func Noted(s schema.Schema) bool {
	for _, it := range newIface(s).items {
		if it.noted && it.bound {
			return true
		}
	}
	return false
}

// widths adds the widths of the ints among the parameters and in the result: those that a kernel notes, or those of the C++
// sources, if all declarations agree. names are those of the parameters, if the sources say any.
func (b *builder) widths(function string, out *hints.Item, it item, names []string) {
	all := b.declarations(function, it)
	for i, p := range it.params {
		name := p.Name
		if i < len(names) {
			name = cmp.Or(names[i], name)
		}
		t := p.Type.Normalized()
		wide := t
		if p.Note != "" && it.noted {
			wide = p.Noted()
		} else {
			wide = b.agreed(function, cmp.Or(name, fmt.Sprintf("parameter %d", i)), t, all, func(d declaration) []string {
				if i < len(d.inner) {
					return []string{d.types[i], d.inner[i]}
				}
				return d.types[i : i+1]
			})
		}
		switch {
		case !hints.HasWidth(wide) || out.Types[name] != "":
		case name == "":
			b.leaveOut(function, fmt.Sprintf("parameter %d is %s, and has no name: name it under functions, with its type", i, wide))
		case !b.holds(out, name, wide):
			b.leaveOut(function, fmt.Sprintf("%s is %s, and its default %s or a value of its enum is out of range", name, wide, out.Default[name]))
		default:
			setIn(&out.Types, name, wide.String())
		}
	}
	if out.Returns == "" {
		t := it.returns.Normalized()
		wide := b.agreed(function, "the result", t, all, func(d declaration) []string { return []string{d.result} })
		if hints.HasWidth(wide) && b.enumFits(out.Enum[hints.Returns], wide) {
			out.Returns = wide.String()
		}
	}
}

// holds reports whether the default and the enum of a parameter are in the range of a type.
func (b *builder) holds(out *hints.Item, name string, t schema.TypeSchema) bool {
	if v, has := out.Default[name]; has {
		if _, _, ok := b.iface.types.Constant(t, v.Value); !ok {
			return false
		}
	}
	return b.enumFits(out.Enum[name], t)
}

func (b *builder) enumFits(enum string, t schema.TypeSchema) bool {
	for _, v := range b.file.Enums[enum].Values {
		if _, _, ok := b.iface.types.Constant(t, v.Value); !ok {
			return false
		}
	}
	return true
}

// agreed returns t with the widths on which all declarations agree that say one. of returns the texts of the types through which
// the value goes. It notes where declarations disagree.
func (b *builder) agreed(item, what string, t schema.TypeSchema, all []declaration, of func(declaration) []string) schema.TypeSchema {
	says := map[string]schema.TypeSchema{}
	for _, d := range all {
		var least schema.TypeSchema
		known := false
		for i, text := range of(d) {
			c, ok := parseCPP(text)
			if !ok {
				continue
			}
			wide, ok := b.native.aliases.widths(t, c)
			known = known || ok
			if i == 0 || least.Name == "" {
				least = wide
			} else if ok {
				least = narrower(least, wide)
			}
		}
		if known {
			says[least.String()] = least
		}
	}
	if len(says) > 1 {
		b.leaveOut(item, fmt.Sprintf("the C++ sources disagree on the width: %s is %s", what, strings.Join(slices.Sorted(maps.Keys(says)), " or ")))
	}
	if len(says) != 1 {
		return t
	}
	for _, wide := range says {
		t = wide
	}
	return t
}

// fieldWidths adds the widths of fields. One of another size than the library has is that of another version.
func (b *builder) fieldWidths() {
	for _, name := range slices.Sorted(maps.Keys(b.native.fields)) {
		it := b.iface.items[name]
		if it.kind != "field" || !it.bound {
			continue
		}
		var all []declaration
		for _, text := range b.native.fields[name] {
			all = append(all, declaration{result: text})
		}
		wide := b.agreed(name, "the field", it.returns.Normalized(), all, func(d declaration) []string { return []string{d.result} })
		if !hints.HasWidth(wide) {
			continue
		}
		if n, ok := hints.IntegerOf(wide); ok && bits(n) != 8*it.size {
			b.leaveOut(name, fmt.Sprintf("the C++ sources say %s, and the field of the library has %d bytes", wide, it.size))
			continue
		}
		item := b.file.Items[name]
		item.Type = wide.String()
		b.put(name, item)
	}
}

// bits returns the number of bits of an int.
func bits(n hints.Integer) int {
	bits := 8
	for bits < 64 && n.Most>>bits != 0 {
		bits *= 2
	}
	return bits
}
