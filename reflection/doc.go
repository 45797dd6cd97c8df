// Package reflection describes and uses types, objects, fields and methods of the loaded
// TVM-FFI libraries without generated code. It is to these libraries what package reflect
// is to Go.
//
// # Start here
//
// Load the library first, by [tvmffi.LoadLibrary] or by the Load of a generated package. Then
// [TypeByKey] finds a type, [Type.New] or [Type.Construct] makes an object, and [ValueOf]
// reads and writes its fields and calls its methods. The package example does these steps.
//
// # Types
//
// [TypeByKey], [TypeOf] and [Types] return a [Type]: its parent, its fields and its ancestors'
// fields, its methods, attributes, constructor, enum entries and documentation.
// There is one *Type for each type, so == compares them.
//
// # Objects
//
// [ValueOf] reads and writes fields and calls methods by name; [Get] reads a field
// as a Go type:
//
//	rose, err := roseType.Construct("red", reflection.Kwargs{"petals": 40})
//	petals, err := reflection.Get[int64](rose, "petals")
//	err = reflection.ValueOf(rose).Set("height", 1.5)
//
// A [Field] is found once and then reads about as fast as generated code, without
// an allocation: petals.Int(rose). [Type.Construct] calls the constructor of a
// type, with arguments by position and by name; [Type.New] sets the fields one by
// one, read-only ones too.
//
// A number that is too wide for its field is an error; the library would truncate it
// silently.
//
// # Graphs
//
// [Walk] ranges over all values that an object reaches through fields and containers,
// with the [Path] of each, such as <root>.layers[2]["bias"]. Cycles end, and deep graphs
// do not use up the stack. [Value.Fields] ranges over the fields of one object, like
// TVM's attribute visitor.
//
// # Ownership and threads
//
// Objects that a function returns have their own references; [tvmffi.Object.Release] or
// the collector drops them. Objects in a loop are borrowed until its next step.
// Everything may be used from any goroutine, but objects have no locks: writing a field
// while another goroutine reads it is a data race.
//
// # Schemas
//
// [Read] describes all functions and types of libraries as data, for generators; see the
// package schema. It calls no function of the libraries, except those that exist to be read, such as
// __tvm_ffi__metadata_NAME, and typed functions of C++ without metadata whose machine code shows
// that they refuse a call with too many arguments before they do anything else. Loading foreign code may crash the process. A tool should read unknown
// libraries in a child process, as tvmffi-bind does.
//
// # Files
//
//	the model of a library  read.go, types.go, reported.go
//	types and fields        type.go, field.go, attribute.go, enum.go
//	objects                 value.go, construct.go
//	graphs of objects       walk.go, path.go
package reflection
