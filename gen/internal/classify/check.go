package classify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// Finish completes the entries, and refuses parts of the configuration that match no item of the
// schema, or more than one.
func (p *Items) Finish() error {
	p.checkUse()
	if len(p.Errs) > 0 {
		return errors.Join(p.Errs...)
	}
	for _, e := range p.Entries {
		e.Doc = p.hintedDoc(e)
	}
	slices.SortStableFunc(p.Entries, func(a, b *plan.Entry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

func (p *Items) checkUse() {
	ids := map[string][]string{}
	for _, e := range p.Entries {
		ids[e.Name] = append(ids[e.Name], e.ID())
	}
	known := slices.Sorted(maps.Keys(ids))
	p.checkNamespaces()
	p.checkFunctions(known)
	for _, name := range slices.Sorted(maps.Keys(p.Config.Enums)) {
		if member, err := p.Config.Enums[name].Check(); err != nil {
			path := []string{"enums", name}
			if member != "" {
				path = append(path, "values", member)
			}
			p.failAt(err, path...)
		}
	}
	check := func(list, key string) {
		matches := slices.Compact(slices.Sorted(slices.Values(ids[key])))
		if len(matches) > 1 {
			p.failAt(fmt.Errorf("it matches more than one item; write one of %s", strings.Join(matches, ", ")), list, key)
			return
		}
		if !p.Used[list+" "+key] {
			p.failAt(fmt.Errorf("it matches no bound item; remove the line or correct the name%s", nearest.Question(key[strings.IndexByte(key, ':')+1:], known)), list, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Config.Rename)) {
		check("rename", key)
	}
	for _, key := range p.Config.Skip {
		check("skip", key)
	}
	p.checkExternal()
	if len(p.Errs) == 0 && len(p.Types) == 0 && len(p.Functions) == 0 {
		p.Errs = append(p.Errs, errors.New("nothing to generate: everything that matches is skipped, owned by another package or part of the runtime"))
	}
}

// checkExternal refuses entries of External that stand for no type.
func (p *Items) checkExternal() {
	imported := slices.Sorted(maps.Keys(p.Config.Imported))
	for _, key := range slices.Sorted(maps.Keys(p.Config.External)) {
		prefix, pattern := plan.CutPattern(key)
		switch {
		case !pattern && p.Keys[key] == nil && !p.Used["external "+key]:
			p.failAt(fmt.Errorf("there is no type of this name, and no signature mentions it; remove the line or correct the key%s", nearest.Question(key, slices.Sorted(maps.Keys(p.Keys)))), "external", key)
		case pattern && !slices.ContainsFunc(imported, func(k string) bool { return strings.HasPrefix(k, prefix) }):
			p.failAt(fmt.Errorf("%s binds no type of this namespace; remove the line, or correct the key or the import path", p.Config.External[key]), "external", key)
		}
	}
}

// checkNamespaces refuses prefixes, a root and packages that match nothing.
func (p *Items) checkNamespaces() {
	check := func(ns string, path ...string) {
		if !slices.ContainsFunc(p.Entries, func(e *plan.Entry) bool { return strings.HasPrefix(e.Name, ns+".") }) {
			p.failAt(fmt.Errorf("no item that can be bound is in the namespace %q; list the items with \"tvmffi-bind ls\"%s", ns, nearest.Question(ns, p.namespaces())), path...)
		}
	}
	for _, prefix := range p.Config.Prefixes {
		check(prefix, "prefixes")
	}
	if p.Config.Root != "" {
		check(p.Config.Root, "root")
	}
	for _, ns := range slices.Sorted(maps.Keys(p.Config.Packages)) {
		check(ns, "packages", ns)
	}
}

// namespaces lists the namespaces of the schema, sorted.
func (p *Items) namespaces() []string {
	found := map[string]bool{}
	add := func(name string) {
		for name = plan.Namespace(name); name != "" && !found[name]; name = plan.Namespace(name) {
			found[name] = true
		}
	}
	for _, f := range p.Schema.Functions {
		add(f.Name)
	}
	for _, t := range p.Schema.Types {
		add(t.Key)
	}
	return slices.Sorted(maps.Keys(found))
}

// checkFunctions refuses entries of the configuration that match nothing or say nothing.
func (p *Items) checkFunctions(known []string) {
	for _, key := range slices.Sorted(maps.Keys(p.Config.Functions)) {
		item := p.Config.Functions[key]
		switch unfit := p.unfit[key]; {
		case unfit != nil && !p.fits[key]:
			p.Errs = append(p.Errs, unfit)
		case !p.Used["functions "+key]:
			p.failAt(fmt.Errorf("it matches no bound item; remove the line or correct the name%s",
				nearest.Question(key[strings.IndexByte(key, ':')+1:], known)), "functions", key)
		case reflect.DeepEqual(item, hints.Item{}):
			p.failAt(errors.New("the entry is empty; give params, types, returns, default, enum, brief, doc or name"), "functions", key)
		}
	}
}

// failAt refuses an entry of the configuration.
func (p *Items) failAt(err error, path ...string) {
	p.Errs = append(p.Errs, &plan.ConfigError{Path: path, Err: err})
}
