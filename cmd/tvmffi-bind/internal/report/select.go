package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Own returns the part of s that the bound libraries add.
func Own(s schema.Schema) schema.Schema {
	own, _ := Select(s, "", false) // an empty pattern is valid
	return own
}

// Size returns the number of functions and types in s, such as "8 functions, 3 types".
func Size(s schema.Schema) string {
	return console.Count(len(s.Functions), "function") + ", " + console.Count(len(s.Types), "type")
}

// Select returns the functions and types of s that match the pattern and that the bound
// libraries add. If all is set, items of the other libraries are selected too.
func Select(s schema.Schema, pattern string, all bool) (schema.Schema, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return schema.Schema{}, fmt.Errorf("%q is not a valid pattern: %w", pattern, err)
	}
	bound := map[string]bool{}
	for _, l := range s.Libraries {
		bound[l.File] = all || l.Role == schema.RoleBound
	}
	wanted := func(library, name string) bool {
		return (all || bound[library]) && matches(pattern, name)
	}
	out := s
	out.Functions, out.Types, out.Flaws = nil, nil, nil
	for _, f := range s.Functions {
		if wanted(f.Library, f.Name) {
			out.Functions = append(out.Functions, f)
		}
	}
	for _, t := range s.Types {
		if wanted(t.Library, t.Key) {
			out.Types = append(out.Types, t)
		}
	}
	for _, f := range s.Flaws {
		if wanted(f.Library, f.Name) {
			out.Flaws = append(out.Flaws, f)
		}
	}
	return out, nil
}

// matches reports whether name contains pattern or, if that has glob characters,
// matches it whole.
func matches(pattern, name string) bool {
	if strings.ContainsAny(pattern, "*?[") {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	}
	return strings.Contains(name, pattern)
}

// ItemNames returns the names of the functions and types in s.
func ItemNames(s schema.Schema) []string {
	var names []string
	for _, f := range s.Functions {
		names = append(names, f.Name)
	}
	for _, t := range s.Types {
		names = append(names, t.Key)
	}
	return names
}

// libraryNames lists the libraries of s that have one of the roles.
func libraryNames(s schema.Schema, roles ...schema.Role) []string {
	var names []string
	for _, l := range s.Libraries {
		if slices.Contains(roles, l.Role) {
			names = append(names, l.File)
		}
	}
	return names
}

// BoundNames returns the file names of the bound libraries of s, separated by commas.
func BoundNames(s schema.Schema) string {
	return strings.Join(libraryNames(s, schema.RoleBound), ", ")
}
