package codec

import (
	"reflect"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// goType is a type of package reflect as package crossing sees it.
type goType struct{ reflect.Type }

// KindOf returns the kind as which values of a type cross, and KindNone for a type whose values do not.
func KindOf(t reflect.Type) crossing.Kind {
	kind, _ := crossing.Classify(goType{t})
	return kind
}

// Name returns the path of the package and the name without type arguments.
func (t goType) Name() (path, name string) {
	name, _, _ = strings.Cut(t.Type.Name(), "[")
	return t.PkgPath(), name
}

// Elem returns the type of which t is made.
func (t goType) Elem() crossing.GoType { return goType{t.Type.Elem()} }
