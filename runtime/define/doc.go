// Package define makes object types of Go structs. C++, Python and Rust construct, read, copy,
// compare and print their objects without entering Go. Generated packages have the types of
// libraries; [tvmffi.Register] registers plain Go functions.
//
// # Start here
//
// [Object] describes a type once, in a package variable: its key, and its docs, methods and
// defaults as [TypeOption] values. The tags of the struct name the fields; an object does not hold
// fields without one, which are zero in each copy that Go gets. [Type.New] makes an
// object, an [Instance]. [Instance.Value] returns all fields as a struct, and a [TypeField],
// which [FieldOf] makes, reads and writes one. The package example shows a whole type.
//
// [Opaque] makes a type of an ordinary struct. Other languages see only its methods.
//
// # The type
//
// The first use of a type registers it, with the registry locked; until then nothing happens. If a
// default is a [tvmffi.Valuer], its FFIValue must not wait for another goroutine that uses the
// library. A mistake in the description,
// such as a field that no language can read, is an error of the first use. Options add to the
// description: [Method] and [StaticMethod] add methods, [Parent] and [ParentKey] derive from
// another type, [Default] and [DefaultFunc] make fields optional, [Converter] accepts other types
// of arguments, [EqualBy], [HashBy], [CompareBy] and [Repr] replace the library's operations on
// the fields, [Structural] takes part in structural comparison, and [State] keeps a Go value
// beside the fields.
//
// # Memory
//
// The object header takes 24 bytes. Fields follow in order with natural alignment, and the size is
// rounded up to 8. A child begins where its parent ends. A C++ struct with the same fields and key
// reads the memory directly.
//
//	int64, int                           8 bytes; takes int, bool
//	uint64, uint                         8 bytes; takes int, bool, and a BigInt for what int64 lacks
//	int8 to int32, uint8 to uint32       as in Go; takes int, bool; refuses what does not fit
//	float64, float32                     8 or 4 bytes; takes float, int, bool
//	bool                                 1 byte; takes bool, int
//	string, []byte                       an Any of 16 bytes; takes string, bytes
//	DataType, Device, Pointer            4 or 8 bytes; takes the same type
//	any, Any                             an Any of 16 bytes; takes everything
//	a pointer to one of these            an Any of 16 bytes; takes the same, and None
//	object types, slices, maps, funcs,   a pointer of 8 bytes; takes objects of the type;
//	structs of other types               nil is None if the field is optional
//	structs with tags but without a type a pointer of 8 bytes to a Map
//	a pointer to a slice, map or struct  the same pointer; takes None, too
//
// The values of slices, maps, structs and pointers to them are copied when Go reads or writes the
// field. A value that contains itself is an error. An Instance is shared.
//
// # Limits
//
// A process can have 1024 distinct setters (fields of one type share a setter) and 512 types, or
// 512 and 256 without assembly. A field of type Array refuses a List. Setters do not check the
// elements of a container: Go does when it reads them. If a type was derived in Python, a callback that enters Go frees the
// [State] of its objects. With libtvm_ffi up to 0.1.13, MakeObjectFromPackedArgs ignores the error
// of a setter. Before 0.1.11 there are no constructors: the runtime registers a Go func instead,
// so constructing an object enters Go.
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
