// Package face describes what a Go package exports in terms that belong to no language.
// The writers of the faces for Python, C++ and Rust read it; they do not see go/types.
//
// Of makes the description. A writer has a Table with a row for each Kind.
package face

import "github.com/tvmffi-go/tvmffi/internal/crossing"

// Library is everything that a Go package offers to other languages.
type Library struct {
	// Name is the name of the shared library, lib<Name>.so, and of the modules of
	// other languages.
	Name string
	// Prefix precedes the names of functions in the registry, such as "stats.".
	Prefix string
	// Path is the import path of the Go package.
	Path string
	// Doc is the doc comment of the Go package.
	Doc string
	// Functions are sorted by name. Those of included packages come with them.
	Functions []*Function
	// Classes are in the order of the source, a parent before its children.
	Classes []*Class
	// Enums and Errors are sorted by name.
	Enums  []*Enum
	Errors []*Error
}

// Function is a function, a method or a constructor.
type Function struct {
	// Name is the name that other languages see, such as "add_one".
	Name string
	// GoName is the name of the Go func, for docs and for names in other styles.
	GoName string
	// Doc is the doc comment, in the words of Go: it begins with GoName.
	Doc string
	// Params are the parameters, without the receiver and without a context.
	Params []Param
	// Results are empty for a func without results, or with an error only. Two or more
	// reach other languages as a tuple.
	Results []Result
	// Fails is set if the Go func returns an error. Every call can fail, because of its
	// arguments or a panic.
	Fails bool
	// Context is set if the Go func receives a context.Context: a caller can interrupt
	// it, and it has an asynchronous form.
	Context bool
	// Packed is set for a function that takes any arguments of any types. It has no
	// Params.
	Packed bool
	// Symbol is the name of the C symbol without its prefix __tvm_ffi_. It is empty for
	// methods, which the type table has.
	Symbol string
	// Global is the name in the registry. It is empty for methods.
	Global string
}

// Param is a parameter.
type Param struct {
	// Name is the name in Go. It is arg0, arg1 and so on if Go has none. It may be a
	// reserved word of another language.
	Name string
	Type *Type
	// Default is the value that a caller may leave out, or nil. If a parameter has one,
	// all that follow have one too, or are variadic.
	Default *Value
	// Variadic is set for the last parameter of "args ...T". Type is the type of one
	// argument.
	Variadic bool
}

// Result is a result.
type Result struct {
	// Name is the name in Go, or empty. If one result of a func has a name, all have.
	Name string
	Type *Type
}

// Value is a default.
type Value struct {
	// Kind is KindInt, KindFloat, KindBool, KindString, KindDuration, KindDataType or KindNone.
	Kind crossing.Kind
	// Text is a decimal number, of nanoseconds for KindDuration, a number with a point or an exponent, NaN, +Inf, -Inf, true, false, or the string itself,
	// unquoted. It is empty for KindNone.
	Text string
}

// Class is an object type.
type Class struct {
	// Name is the name in Go, such as "Point".
	Name string
	// Key is the type key, such as "stats.Point".
	Key string
	Doc string
	// Parent is the class of this library that it derives from, or nil. ParentKey is the
	// key of a parent that belongs to another library, or empty.
	Parent    *Class
	ParentKey string
	// Fields are those of the class itself, without those of its parent.
	Fields []Field
	// Constructor is the func of the directive constructor, or nil: the fields are the
	// parameters.
	Constructor *Function
	// Methods are in the order of the source. They include the methods below.
	Methods []*Function
	// Properties are methods without parameters that other languages read like fields.
	Properties []*Function
	// Opaque is set for a class whose state only Go sees. It has no fields, and only
	// Constructor and functions of Go make objects of it.
	Opaque bool
	Final  bool
	Frozen bool
	KwOnly bool
	// Repr, Equal, Hash and Compare say that Go has a method for it.
	Repr, Equal, Hash, Compare bool
	// Structural is set if objects with equal contents are equal.
	Structural bool
	// Close, Len, String and All are the methods Close() [error], Len() int,
	// String() string and All() iter.Seq of the Methods, or nil. They have no context.
	Close, Len, String, All *Function
}

// Field is a field of a class.
type Field struct {
	// Name is the name that other languages see; GoName is the one in Go.
	Name, GoName string
	Doc          string
	Type         *Type
	// Default is the value of a field that the constructor need not be given. HasDefault
	// is set without it if the value has no text, as None of an optional object.
	Default    *Value
	HasDefault bool
	ReadOnly   bool
	KwOnly     bool
	// NoInit is set for a field that the constructor does not take, NoRepr for one that is not shown.
	NoInit, NoRepr bool
}

// Enum is a named type of Go with constants.
type Enum struct {
	// Name is the name in Go, and Path the same behind the import path of its package.
	Name, Path string
	Doc        string
	// Kind is KindInt or KindString. Unsigned is set for an integer of 64 bits without a sign.
	Kind     crossing.Kind
	Unsigned bool
	// Members are in the order of the source, with different names.
	Members []Member
}

// Member is a constant.
type Member struct {
	// GoName is the name in Go, such as "ColorRed". Name is the same without the name of
	// the type before or after it, in capital letters: "RED".
	GoName, Name string
	Doc          string
	Value        Value
}

// Error is a Go error type that other languages raise and catch.
type Error struct {
	// Name is the name in Go, such as "NotFoundError".
	Name string
	// Kind is the kind of the error in TVM-FFI, such as "stats.NotFoundError".
	Kind string
	// Base is the kind that it derives from, such as "KeyError", or empty.
	Base string
	Doc  string
	// Fields are the fields with tags. An error type that is a string or an integer has
	// one field, "value", without a name in Go.
	Fields []Field
}

// Type is a type.
type Type struct {
	Kind crossing.Kind
	// Elems are the types that a Kind is made of: those of what a container, a tuple or an iterator holds, of the value that may
	// be None, and of the numbers of a complex number or a time. Of a KindCallable they are the result and the parameters.
	Elems []*Type
	// Bits and Unsigned describe KindInt and KindFloat.
	Bits     int
	Unsigned bool
	Class    *Class
	Enum     *Enum
	Record   *Record
	// Lent is set for a KindTensor that is a slice in Go: one dimension, elements of
	// Elems[0], memory that is not copied.
	Lent bool
}

// Record describes the values of a KindRecord.
type Record struct {
	// Name is the name of the struct in Go.
	Name   string
	Fields []Field
}
