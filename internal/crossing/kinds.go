package crossing

import (
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Kind is a kind of values: one of the ABI, one that only type expressions have, or one of Go that crosses as another.
type Kind uint8

// The kinds of values. Frames of calls have a method for each from KindBool to KindPointer.
const (
	// KindNone is None, void or (): there is no value. Only results have this kind.
	KindNone Kind = iota
	// KindAny is a value of any type. A union of Go is one: it does not list its types.
	KindAny
	KindBool
	KindInt
	KindFloat
	KindString
	KindBytes
	KindDataType
	KindDevice
	// KindPointer is an address.
	KindPointer
	KindBigInt
	// KindArray, KindList, KindMap and KindDict are containers that cross by reference.
	KindArray
	KindList
	KindMap
	KindDict
	KindShape
	KindTensor
	KindModule
	// KindFunction is a function that takes any arguments.
	KindFunction
	KindError
	// KindObject is any object, or one whose type is not known.
	KindObject
	// KindOptional is a value of one type, or None.
	KindOptional
	KindTuple

	// KindComplex is a complex number: a tuple of two floats.
	KindComplex
	// KindDuration is a time.Duration: an integer of nanoseconds.
	KindDuration
	// KindTime is a time.Time: a tuple of three ints, the seconds since 1970 in UTC, nanoseconds, and the seconds by which
	// its zone is east of UTC.
	KindTime
	// KindSequence is a slice or an array of Go: a copied Array. Any sequence is a valid argument.
	KindSequence
	// KindMapping is a map of Go: a copied Map.
	KindMapping
	// KindSet is a map of Go to struct{}: a copied Array of its keys.
	KindSet
	// KindRecord is a struct with tags but without a directive: a Map of strings.
	KindRecord
	// KindClass is an object of a certain type.
	KindClass
	// KindEnum is one of the constants of a type of Go.
	KindEnum
	// KindCallable is a function with certain parameters and a result.
	KindCallable
	// KindIterator yields values. It is a function without parameters that returns a tuple of one value, or None at the end.
	KindIterator

	// Exported is the number of kinds that exported libraries have, which are those above.
	Exported

	// KindVariant is a value of one of several types.
	KindVariant Kind = iota - 1
	// KindMoved is an object whose reference the callee takes.
	KindMoved
	// KindOpaque is an object that only Python knows.
	KindOpaque
	// KindUnchanged says that a function which rewrites values leaves one as it is.
	KindUnchanged
	// KindUnchangedOr is a value of a type, or KindUnchanged.
	KindUnchangedOr
	// KindExpected is the result of a C++ function that returns its error.
	KindExpected

	// Kinds is the number of kinds.
	Kinds
)

// Class says what a value consists of.
type Class uint8

// The classes of values.
const (
	// Form is that of a type whose values are of other kinds, such as Optional.
	Form Class = iota
	// Scalar is that of a value without an object.
	Scalar
	// Text is that of strings and bytes: some are objects, and all have no parts.
	Text
	// Leaf is that of an object without parts that others see.
	Leaf
	// Sequence is that of an object with elements.
	Sequence
	// Mapping is that of an object with keys and values.
	Mapping
	// Fields is that of an object with fields.
	Fields
)

// Row says what a kind is.
type Row struct {
	// Name is the word for the kind in names of Go and in errors.
	Name string
	// Key is the name in type expressions; of objects it is the key of the type. It is empty for a kind of Go.
	Key   string
	Class Class
	// Index is the type index of its values, unless Class is Form.
	Index abi.TypeIndex
	// Mutable is set for a container that may change.
	Mutable bool
	// Args is the least and the greatest number of types in an expression; -1 is any number. A Mapping has none or both.
	Args [2]int
	// More are other values of the kind, which have names and indices of their own.
	More []Value
	// Same are names of C++ and Python for the same values. Canonical texts have Key in their place.
	Same []string
	// Cpp is the name in messages of C++, if it differs from Key.
	Cpp string
	// Plain is the word for a value in errors for callers in any language, if it is not Key without "ffi.".
	Plain string
	// Words are names that hints may use in place of Key.
	Words []string
	// Value, Pointer and Given are types of Go: those that are used as they are, by their pointer, and those that Go passes
	// and never receives. A name without a path is of package tvmffi.
	Value, Pointer, Given []string
	// Param is the name of a parameter that has none.
	Param string
	// Wire is the kind as which a kind of Go crosses, and Of the numbers in that, if it is a tuple.
	Wire Kind
	Of   []Kind
}

// Value is a form of the values of a kind.
type Value struct {
	Name  string
	Class Class
	Index abi.TypeIndex
}

// Rows are the kinds.
var Rows = [Kinds]Row{
	KindNone:  {Name: "None", Key: "None", Class: Scalar, Index: abi.TypeNone, Cpp: "void"},
	KindAny:   {Name: "Any", Key: "Any", Cpp: "AnyView", Value: []string{"Any", "Variant"}, Param: "value"},
	KindBool:  {Name: "Bool", Key: "bool", Class: Scalar, Index: abi.TypeBool, Param: "flag"},
	KindInt:   {Name: "Int", Key: "int", Class: Scalar, Index: abi.TypeInt, Words: []string{"int64"}, Param: "n"},
	KindFloat: {Name: "Float", Key: "float", Class: Scalar, Index: abi.TypeFloat, Param: "f"},
	KindString: {Name: "String", Key: "ffi.String", Class: Text, Index: abi.TypeStr, Same: []string{"std::string", "str"}, Plain: "string", Words: []string{"String", "str"}, Param: "s",
		More: []Value{{"ffi.SmallStr", Text, abi.TypeSmallStr}, {"const char*", Text, abi.TypeRawStr}}},
	KindBytes: {Name: "Bytes", Key: "ffi.Bytes", Class: Text, Index: abi.TypeBytes, Cpp: "bytes", Plain: "bytes", Words: []string{"Bytes", "bytes"}, Param: "data",
		More: []Value{{"ffi.SmallBytes", Text, abi.TypeSmallBytes}, {"TVMFFIByteArray*", Text, abi.TypeByteArrayPtr}}},
	KindDataType: {Name: "DataType", Key: "DataType", Class: Scalar, Index: abi.TypeDataType, Words: []string{"dtype"}, Value: []string{"DataType"}, Param: "dtype"},
	KindDevice:   {Name: "Device", Key: "Device", Class: Scalar, Index: abi.TypeDevice, Value: []string{"Device"}, Param: "device"},
	KindPointer:  {Name: "Pointer", Key: "void*", Class: Scalar, Index: abi.TypeOpaquePtr, Plain: "pointer", Value: []string{"Pointer"}, Param: "ptr"},
	KindBigInt:   {Name: "BigInt", Key: "ffi.BigInt", Class: Leaf, Index: abi.TypeBigInt, Cpp: "BigInt", Pointer: []string{"math/big.Int"}, Param: "n"},
	KindArray: {Name: "Array", Key: "ffi.Array", Class: Sequence, Index: abi.TypeArray, Args: [2]int{0, 1}, Same: []string{"std::vector", "std::array"}, Cpp: "Array",
		Words: []string{"Array"}, Pointer: []string{"Array"}, Given: []string{"ArrayArg", "ArrayLike", "Values"}, Param: "items"},
	KindList: {Name: "List", Key: "ffi.List", Class: Sequence, Index: abi.TypeList, Mutable: true, Args: [2]int{0, 1}, Cpp: "List",
		Words: []string{"List"}, Pointer: []string{"List"}, Param: "list"},
	KindMap: {Name: "Map", Key: "ffi.Map", Class: Mapping, Index: abi.TypeMap, Args: [2]int{0, 2}, Same: []string{"std::map", "std::unordered_map"}, Cpp: "Map",
		Words: []string{"Map"}, Pointer: []string{"Map"}, Given: []string{"MapArg", "MapLike", "Pairs"}, Param: "entries"},
	KindDict: {Name: "Dict", Key: "ffi.Dict", Class: Mapping, Index: abi.TypeDict, Mutable: true, Args: [2]int{0, 2}, Cpp: "Dict",
		Words: []string{"Dict"}, Pointer: []string{"Dict"}, Param: "dict"},
	KindShape: {Name: "Shape", Key: "ffi.Shape", Class: Leaf, Index: abi.TypeShape, Words: []string{"Shape"}, Pointer: []string{"Shape"}, Param: "shape"},
	KindTensor: {Name: "Tensor", Key: "ffi.Tensor", Class: Leaf, Index: abi.TypeTensor, Plain: "Tensor", Words: []string{"Tensor"}, Pointer: []string{"Tensor"}, Param: "tensor",
		More: []Value{{"DLTensor*", Scalar, abi.TypeDLTensorPtr}}},
	KindModule: {Name: "Module", Key: "ffi.Module", Class: Leaf, Index: abi.TypeModule, Words: []string{"Module"}, Pointer: []string{"Module"}, Param: "module"},
	KindFunction: {Name: "Function", Key: "ffi.Function", Class: Leaf, Index: abi.TypeFunction, Args: [2]int{0, -1}, Same: []string{"std::function"},
		Words: []string{"Function"}, Value: []string{"Packed"}, Pointer: []string{"Function"}, Param: "function"},
	KindError: {Name: "Error", Key: "ffi.Error", Class: Leaf, Index: abi.TypeError, Words: []string{"Error"}, Pointer: []string{"Error"}, Param: "cause"},
	KindObject: {Name: "Object", Key: "ffi.Object", Class: Fields, Index: abi.TypeObject, Words: []string{"Object"},
		Value: []string{"ObjectRef"}, Pointer: []string{"Object", "Opaque"}, Param: "object"},
	KindOptional: {Name: "Optional", Key: "Optional", Args: [2]int{1, 1}, Same: []string{"std::optional"}},
	KindTuple:    {Name: "Tuple", Key: "Tuple", Args: [2]int{0, -1}, Same: []string{"std::tuple"}, Param: "tuple"},

	KindComplex:  {Name: "Complex", Wire: KindTuple, Of: []Kind{KindFloat, KindFloat}},
	KindDuration: {Name: "Duration", Wire: KindInt, Value: []string{"time.Duration"}},
	KindTime:     {Name: "Time", Wire: KindTuple, Of: []Kind{KindInt, KindInt, KindInt}, Value: []string{"time.Time"}},
	KindSequence: {Name: "Sequence", Wire: KindArray},
	KindMapping:  {Name: "Mapping", Wire: KindMap},
	KindSet:      {Name: "Set", Wire: KindArray},
	KindRecord:   {Name: "Record", Wire: KindMap},
	KindClass:    {Name: "Class", Wire: KindObject, Pointer: []string{Runtime + "/define.Instance"}},
	KindEnum:     {Name: "Enum", Wire: KindAny},
	KindCallable: {Name: "Func", Wire: KindFunction, Param: "callback"},
	KindIterator: {Name: "Iterator", Wire: KindFunction, Given: []string{"iter.Seq", "iter.Seq2"}},

	KindVariant:     {Name: "Variant", Key: "Variant", Args: [2]int{1, -1}, Same: []string{"std::variant"}, Param: "value"},
	KindMoved:       {Name: "Moved", Key: "ObjectRValueRef", Class: Scalar, Index: abi.TypeObjectRValueRef, Args: [2]int{0, 1}, Cpp: "RValueRef"},
	KindOpaque:      {Name: "Opaque", Key: "ffi.OpaquePyObject", Class: Leaf, Index: abi.TypeOpaquePyObject},
	KindUnchanged:   {Name: "Unchanged", Key: "ffi.Unchanged", Class: Scalar, Index: abi.TypeUnchanged},
	KindUnchangedOr: {Name: "UnchangedOr", Key: "UnchangedOr", Args: [2]int{1, 1}},
	KindExpected:    {Name: "Expected", Key: "Expected", Args: [2]int{1, 2}},
}

// String returns the name of a kind, such as Int.
func (k Kind) String() string { return Rows[k].Name }

// Values returns the forms of the values of a kind: none for a Form.
func (k Kind) Values() []Value {
	r := &Rows[k]
	if r.Class == Form {
		return nil
	}
	return append([]Value{{r.Key, r.Class, r.Index}}, r.More...)
}

// Container reports whether values of the class hold values without names.
func (c Class) Container() bool { return c == Sequence || c == Mapping }

// ClassOf returns the class of a value by its type index. An object of a type that is not in the table has fields.
func ClassOf(t abi.TypeIndex) Class {
	if i := uint32(t - abi.TypeAny); i < uint32(len(classes)) {
		return classes[i].class
	}
	return Fields
}

// Mutable reports whether a value of an index is a container that may change.
func Mutable(t abi.TypeIndex) bool {
	i := uint32(t - abi.TypeAny)
	return i < uint32(len(classes)) && classes[i].mutable
}

// classes has what calls ask about values, from TypeAny to the last kind, in few lines of the cache.
var classes = func() (all [2 + abi.TypeBigInt]struct {
	class   Class
	mutable bool
}) {
	for i := range all {
		if (abi.TypeAny + abi.TypeIndex(i)).IsObject() {
			all[i].class = Fields
		}
	}
	for i := range Rows {
		r := &Rows[i]
		if r.Class != Form {
			all[r.Index-abi.TypeAny].class, all[r.Index-abi.TypeAny].mutable = r.Class, r.Mutable
		}
		for _, v := range r.More {
			all[v.Index-abi.TypeAny].class = v.Class
		}
	}
	return all
}()

// NameOf returns the name of a value that is not an object, "" for others.
func NameOf(t abi.TypeIndex) string {
	if t.IsObject() {
		return ""
	}
	for i := range Rows {
		r := &Rows[i]
		if r.Index == t && r.Class != Form {
			return r.Key
		}
		for _, v := range r.More {
			if v.Index == t {
				return v.Name
			}
		}
	}
	return ""
}

// Named returns the kind of a name in a type expression. Like its siblings it reports false for a name that is not one of a
// kind, such as the key of an object type.
func Named(name string) (Kind, bool) {
	return named.find(name, func(r *Row) []string {
		names := append([]string{r.Key}, r.Same...)
		for _, v := range r.More {
			names = append(names, v.Name)
		}
		return names
	})
}

// NamedInCpp returns the kind of a name in a message of C++.
func NamedInCpp(name string) (Kind, bool) {
	return inCpp.find(name, func(r *Row) []string { return []string{r.Cpp} })
}

// NamedInHints returns the kind of a word of hints.
func NamedInHints(name string) (Kind, bool) {
	return inHints.find(name, func(r *Row) []string { return r.Words })
}

// NamedInGo returns the kind of a type of Go with a name of its own. Tuples, whose names have a number, are not among them.
func NamedInGo(path, name string) (Kind, bool) {
	return inGo.find(GoName(path, name), func(r *Row) []string { return slices.Concat(r.Value, r.Pointer, r.Given) })
}

// GoName returns the name of a type in Rows.
func GoName(path, name string) string {
	if path == Runtime {
		return name
	}
	return path + "." + name
}

// index finds kinds by names of theirs.
type index struct {
	once  sync.Once
	kinds map[string]Kind
}

var named, inCpp, inHints, inGo index

func (x *index) find(name string, names func(r *Row) []string) (Kind, bool) {
	x.once.Do(func() {
		x.kinds = map[string]Kind{}
		for k := range Kinds {
			for _, name := range names(&Rows[k]) {
				x.kinds[name] = k
			}
		}
		delete(x.kinds, "")
	})
	k, ok := x.kinds[name]
	return k, ok
}

// Canonical returns the name that stands for name in canonical texts.
func Canonical(name string) string {
	if k, ok := Named(name); ok && slices.Contains(Rows[k].Same, name) {
		return Rows[k].Key
	}
	return name
}

// Container reports whether a name in a type expression is that of a container.
func Container(name string) bool {
	k, _ := Named(name)
	return Rows[k].Class.Container()
}
