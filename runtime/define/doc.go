// Package define makes object types of Go structs. C++, Python and Rust construct, read, copy,
// compare and print their objects without entering Go. Generated packages have the types of
// libraries; [tvmffi.Register] registers plain Go functions.
//
// # Start here
//
// [Object] describes a type once, in a package variable: its key, and its docs, methods and
// defaults as [TypeOption] values. The tags of the struct name the fields. [Type.New] makes an
// object, an [Instance]. [Instance.Value] returns all fields as a struct, and a [TypeField],
// which [FieldOf] makes, reads and writes one. The package example shows a whole type.
//
// [Opaque] makes a type of an ordinary struct. Other languages see only its methods.
//
// # The type
//
// The first use of a type registers it; until then nothing happens. A mistake in the description,
// such as a field that no language can read, is an error of the first use. Options add to the
// description: [Method] and [StaticMethod] add methods, [Parent] and [ParentKey] derive from
// another type, [Default] and [DefaultFunc] make fields optional, [Converter] accepts other types
// of arguments, [EqualBy], [HashBy], [CompareBy] and [Repr] replace the library's operations on
// the fields, [Structural] takes part in structural comparison, and [State] keeps a Go value
// beside the fields.
//
// # Ownership and threads
//
// An Instance is an object like any other: Release or the garbage collector ends it. Any
// goroutine may use it. A goroutine must not write a field while another one reads it.
//
// # Files
//
//	describing a type        define.go, opaque.go, options.go, definition.go, defaults.go
//	registering it           register.go, layout.go, methods.go, constructor.go
//	its fields in memory     field.go, record.go, typefield.go
//	state beside the fields  state.go
package define
