package schema

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// core has the schema of libtvm_ffi for each release whose items files leave out.
//
//go:embed core/*.json
var core embed.FS

// document is the JSON form of a schema.
type document struct {
	Schema
	// Core is a release of libtvm_ffi. Its functions and types belong to the schema too.
	Core string `json:"core,omitempty"`
}

// withoutCore leaves out the items of libtvm_ffi if they equal a known release.
func (s Schema) withoutCore() (document, error) {
	d := document{Schema: s}
	file := s.core()
	if file == "" {
		return d, nil
	}
	releases, err := core.ReadDir("core")
	if err != nil {
		return d, err
	}
	functions, otherFunctions := split(s.Functions, func(f Function) bool { return f.Library == file })
	types, otherTypes := split(s.Types, func(t Type) bool { return t.Library == file })
	for _, r := range releases {
		version := strings.TrimSuffix(r.Name(), ".json")
		known, err := coreItems(version, file)
		if err != nil {
			return d, err
		}
		if reflect.DeepEqual(functions, known.Functions) && reflect.DeepEqual(types, known.Types) {
			d.Core, d.Functions, d.Types = version, otherFunctions, otherTypes
		}
	}
	return d, nil
}

// whole returns the schema with the items of libtvm_ffi.
func (d document) whole() (Schema, error) {
	s := d.Schema
	if d.Core == "" {
		return s, nil
	}
	file := s.core()
	if file == "" {
		return s, errors.New("schema: \"core\" names a release of libtvm_ffi, but no library has the role \"core\"")
	}
	known, err := coreItems(d.Core, file)
	s.Functions = append(s.Functions, known.Functions...)
	s.Types = append(s.Types, known.Types...)
	return s, err
}

// core returns the file name of libtvm_ffi, "" if bindings are generated for it too.
func (s Schema) core() string {
	i := slices.IndexFunc(s.Libraries, func(l Library) bool { return l.Role == RoleCore })
	if i < 0 {
		return ""
	}
	return s.Libraries[i].File
}

// coreItems returns the items of a release of libtvm_ffi, as if a library of that file name had them.
func coreItems(version, file string) (Schema, error) {
	data, err := core.ReadFile(path.Join("core", version+".json"))
	if err != nil {
		return Schema{}, fmt.Errorf("schema: the items of libtvm_ffi %q are left out, and this tool does not know them; update tvmffi-bind, or write the file again with \"tvmffi-bind dump\"", version)
	}
	s, err := Decode(data)
	for i := range s.Functions {
		s.Functions[i].Library = file
	}
	for i := range s.Types {
		s.Types[i].Library = file
	}
	return s, err
}

func split[T any](list []T, first func(T) bool) (yes, no []T) {
	no = []T{}
	for _, item := range list {
		if first(item) {
			yes = append(yes, item)
		} else {
			no = append(no, item)
		}
	}
	return yes, no
}
