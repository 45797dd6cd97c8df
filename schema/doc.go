// Package schema is the language-neutral description of what TVM-FFI libraries
// offer: functions, object types, and where they come from. It is pure data:
// reading it needs no library, no foreign code and no network.
//
// # Start here
//
// "tvmffi-bind dump" writes a [Schema] as JSON and [Decode] reads it. A Schema lists each
// [Function] with its [Signature] and each [Type] with its fields and methods. [Diff] compares
// two schemas; each [Change] says whether callers break. [ParseSignature] and [ParseType] read
// the notation of error messages.
//
// # What belongs here
//
// The model and everything that needs nothing else: its JSON form, the text forms of
// signatures, the metadata formats of TVM-FFI, comparison and hashes. Reading a loaded
// library is the task of package reflection, reading its file the task of internal/symbols,
// and names in Go are the task of package gen. Besides the standard library, this package
// imports only internal/jsonlines.
//
// # Files
//
//	the model                     schema.go, init.go (constructors), names.go (registry names)
//	the JSON form                 codec.go, jsontree.go (a strict reader), core.go (libtvm_ffi)
//	signatures in metadata        metadata.go
//	signatures as text            text.go, reported.go (in error messages)
//	checks                        validate.go
//	comparison                    diff.go, moved.go, fingerprint.go
package schema
