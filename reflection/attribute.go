package reflection

import (
	"iter"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The names of the type attributes that libtvm_ffi knows.
const (
	AttrNew               = "__ffi_new__"                 // makes an empty object
	AttrInit              = "__ffi_init__"                // the constructor
	AttrConvert           = "__ffi_convert__"             // converts a value to the type
	AttrConvertTypeSchema = "__ffi_convert_type_schema__" // what it converts from
	AttrShallowCopy       = "__ffi_shallow_copy__"        // copies an object
	AttrTypeFinal         = "__ffi_type_final__"          // true if nothing may be derived
	AttrRepr              = "__ffi_repr__"                // prints an object
	AttrHash              = "__ffi_hash__"                // recursive hash
	AttrEq                = "__ffi_eq__"                  // recursive equality
	AttrCompare           = "__ffi_compare__"             // recursive order
	AttrAnyHash           = "__any_hash__"                // the hash as a key of a map
	AttrAnyEqual          = "__any_equal__"               // equality as a key of a map
	AttrEnum              = "__ffi_enum__"                // the state of an enum
	AttrDataToJSON        = "__data_to_json__"            // saves what fields do not show
	AttrDataFromJSON      = "__data_from_json__"          // and reads it
	AttrStructuralEqual   = "__s_equal__"                 // structural equality
	AttrStructuralHash    = "__s_hash__"                  // structural hash
	AttrStructuralVisit   = "__s_visit__"                 // visits the parts of an object
	AttrStructuralMutate  = "__s_mutate__"                // rewrites them
)

// knownAttributes are all names above, in this order.
var knownAttributes = []string{
	AttrNew, AttrInit, AttrConvert, AttrConvertTypeSchema, AttrShallowCopy, AttrTypeFinal, AttrRepr, AttrHash, AttrEq,
	AttrCompare, AttrAnyHash, AttrAnyEqual, AttrEnum, AttrDataToJSON, AttrDataFromJSON,
	AttrStructuralEqual, AttrStructuralHash, AttrStructuralVisit, AttrStructuralMutate,
}

// Attribute returns the value of an attribute of the type and whether it has one.
// Attributes are not inherited. An object has its own reference.
func (t *Type) Attribute(name string) (tvmffi.Any, bool) {
	v, ok := objects.Attribute(t.info.TypeIndex, name)
	if !ok {
		return tvmffi.Any{}, false
	}
	return takeAny(v), true
}

// Attributes ranges over the type's attributes whose names are constants of this package,
// such as [AttrInit]; the library cannot list others. Objects have their own references.
func (t *Type) Attributes() iter.Seq2[string, tvmffi.Any] {
	return func(yield func(string, tvmffi.Any) bool) {
		for _, name := range knownAttributes {
			if v, ok := t.Attribute(name); ok && !yield(name, v) {
				return
			}
		}
	}
}

// RegisterAttribute gives the type an attribute of any name until the process ends. It is
// an error if the type already has it; to change a value later, register a List or a
// Dict.
func (t *Type) RegisterAttribute(name string, v any) error {
	if name == "" {
		return errorf(failure.KindValue, "the name of an attribute of %s is empty", t.key)
	}
	value, err := codec.Encode(v)
	if err == nil {
		err = value.CheckEscape()
	}
	if err != nil {
		return errorf(kindOf(err), "attribute %s of %s: %w", name, t.key, err)
	}
	if value.Owned {
		defer objects.ReleaseValue(value.Value)
	}
	if value.Value.TypeIndex == abi.TypeNone {
		return errorf(failure.KindType, "attribute %s of %s: None stands for no attribute", name, t.key)
	}
	err = registry.RegisterAttribute(t.info.TypeIndex, name, value.Value)
	keepTemp(value)
	return err
}

// Final reports whether no type may derive from the type. It is false with older
// libraries.
func (t *Type) Final() bool {
	v, ok := capi.TypeAttribute(t.info.TypeIndex, AttrTypeFinal)
	return ok && v.TypeIndex == abi.TypeBool && v.Bits != 0
}
