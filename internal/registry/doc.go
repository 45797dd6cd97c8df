// Package registry turns the names of libtvm_ffi's registry into entries: global functions and
// their metadata, type indices, attributes and methods of types, and the signatures that
// bindings compare. It stands on package values, and knows no library files.
package registry
