package schema

// FormatVersion is the version of the JSON form that Encode writes and Decode
// accepts.
const FormatVersion = 1

// Schema describes the interface of a set of libraries.
type Schema struct {
	// Format is FormatVersion.
	Format int `json:"format"`
	// ABI is the version that libtvm_ffi reported (TVMFFIGetVersion).
	ABI Version `json:"abi"`
	// Libraries lists the loaded libraries in load order; libtvm_ffi is first.
	Libraries []Library `json:"libraries"`
	// Functions is sorted by source, then by name.
	Functions []Function `json:"functions"`
	// Types is sorted parents first, then by key.
	Types []Type `json:"types"`
	// Flaws lists what the registry holds but no schema can describe, such as a
	// type whose fields lie outside the object. Such items are not bound.
	Flaws []Flaw `json:"flaws,omitempty"`
}

// Flaw is a function or type that could not be described.
type Flaw struct {
	// Kind is "function" or "type".
	Kind string `json:"kind"`
	// Name is the name of the item; bytes that are not UTF-8 are escaped.
	Name    string `json:"name"`
	Library string `json:"library,omitempty"`
	Reason  string `json:"reason"`
}

// Version is a version of the TVM-FFI C ABI.
type Version struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
	Patch int `json:"patch"`
}

// Role says why a library was loaded.
type Role string

// The roles of a library.
const (
	RoleCore       Role = "core"       // libtvm_ffi itself
	RoleBound      Role = "bound"      // bindings are generated for it
	RoleDependency Role = "dependency" // loaded because a bound library needs it
)

// Library identifies one shared library. It never holds a path of the machine
// that read it.
type Library struct {
	// File is the base name of the file, such as libgarden.so.
	File string `json:"file"`
	Role Role   `json:"role"`
	// SHA256 is the hash of the file in lower-case hexadecimal digits.
	SHA256 string `json:"sha256,omitempty"`
	// Package and PackageVersion name the Python distribution that the file
	// belongs to, and PathInPackage its path there, if it lies in an installed one.
	Package        string `json:"package,omitempty"`
	PackageVersion string `json:"package_version,omitempty"`
	PathInPackage  string `json:"path_in_package,omitempty"`
	// Needs lists the libraries of the schema that the file is linked with, libtvm_ffi
	// included. It is empty if that is unknown: then it may need each library before it.
	Needs []string `json:"needs,omitempty"`
}

// Source says how a function is reached.
type Source string

// The sources of functions.
const (
	SourceGlobal Source = "global" // the global function registry
	SourceModule Source = "module" // a symbol __tvm_ffi_<name> of a library
)

// Function is a function of the registry or of a module.
type Function struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	// Library is the File of the library that added the function.
	Library string `json:"library,omitempty"`
	// Signature is nil for a packed function: it takes and returns anything.
	Signature *Signature `json:"signature,omitempty"`
	// Reported is true when the signature was read from the text with which the
	// function refuses a call without arguments, not from metadata.
	Reported bool `json:"reported,omitempty"`
	// Flaw says why the metadata cannot be read. Signature and Metadata are empty
	// then: the function can be called like a packed one.
	Flaw string `json:"flaw,omitempty"`
	Doc  string `json:"doc,omitempty"`
	// Metadata holds what the metadata says beside the type schema: values are
	// bool, int64, float64 or string.
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Signature is the type of a function.
type Signature struct {
	Params []Param    `json:"params"`
	Return TypeSchema `json:"return"`
}

// Param is one parameter. Metadata never names parameters; reported signatures do.
type Param struct {
	Name string     `json:"name,omitempty"`
	Type TypeSchema `json:"type"`
	// Note is the rest of a reported parameter, such as "Tensor([n0], float32)".
	Note string `json:"note,omitempty"`
}

// TypeSchema is a type expression of the registry: a name with arguments, or a
// function type.
type TypeSchema struct {
	// Name is the name as the registry spells it: "int", "ffi.Array",
	// "std::optional", "garden.Plant".
	Name string `json:"type"`
	// Args are the type arguments of containers, Optional, Variant and Tuple.
	// A container without arguments holds Any.
	Args []TypeSchema `json:"args,omitempty"`
	// Func is the signature when Name is ffi.Function (or std::function) and the
	// function is typed; nil for a packed function.
	Func *Signature `json:"func,omitempty"`
}

// Type is a registered type.
type Type struct {
	Key string `json:"key"`
	// Ancestors lists the keys from the root to the direct parent; empty for
	// ffi.Object and for the types that are not objects.
	Ancestors []string `json:"ancestors,omitempty"`
	Library   string   `json:"library,omitempty"`
	Doc       string   `json:"doc,omitempty"`
	// TotalSize is the size of the object in bytes with its header, 0 if unknown.
	TotalSize int `json:"total_size,omitempty"`
	// StructuralEqHashKind is TVMFFISEqHashKind, 0 if unsupported.
	StructuralEqHashKind int `json:"structural_eq_hash_kind,omitempty"`
	// HasMetadata and HasCreator repeat what TVMFFITypeInfo holds.
	HasMetadata bool     `json:"has_metadata,omitempty"`
	HasCreator  bool     `json:"has_creator,omitempty"`
	Fields      []Field  `json:"fields,omitempty"`
	Methods     []Method `json:"methods,omitempty"`
	// Attributes lists the names of the type attributes, sorted.
	Attributes []string `json:"attributes,omitempty"`
	// Accepts is what the library converts to this type where a parameter has it: the
	// attribute __ffi_convert_type_schema__. It is nil if the library says nothing.
	Accepts *TypeSchema `json:"accepts,omitempty"`
}

// Field is a field that a type has itself, not one of its ancestors.
type Field struct {
	Name string     `json:"name"`
	Type TypeSchema `json:"schema"`
	Doc  string     `json:"doc,omitempty"`
	// Offset, Size and Alignment are in bytes. Offset counts from the object's
	// header; it is negative where a C++ class has another base in front of it.
	Offset    int   `json:"offset"`
	Size      int   `json:"size"`
	Alignment int   `json:"alignment"`
	Flags     Flags `json:"flags"`
	// StaticTypeIndex is TVMFFIFieldInfo.field_static_type_index.
	StaticTypeIndex int            `json:"static_type_index"`
	Metadata        map[string]any `json:"metadata,omitempty"`
}

// Method is a method of a type. The first parameter of the signature of an
// instance method is the object itself; static methods do not have it. Overloads
// are methods of one name whose Params differ.
type Method struct {
	Name      string         `json:"name"`
	Signature *Signature     `json:"signature,omitempty"` // nil: packed
	Flaw      string         `json:"flaw,omitempty"`      // like the Flaw of a Function
	Doc       string         `json:"doc,omitempty"`
	Flags     Flags          `json:"flags"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// Flags are the bits of TVMFFIFieldFlagBitMask, shared by fields and methods.
type Flags int64

// The bits of Flags (tvm/ffi/c_api.h, TVMFFIFieldFlagBitMask).
const (
	FlagWritable Flags = 1 << iota
	FlagHasDefault
	FlagIsStaticMethod
	FlagSEqHashIgnore
	FlagDefPattern
	FlagDefaultFromFactory
	FlagReprOff
	FlagCompareOff
	FlagHashOff
	FlagInitOff
	FlagKwOnly
	FlagSetterIsFunction
	FlagDefSimple
)
