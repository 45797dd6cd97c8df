// Package core is the machine under the runtime: the C functions of libtvm_ffi,
// objects and their reference counts, the type table, call frames and callbacks.
//
// It knows nothing of the public types of package tvmffi. What it needs from
// there it asks for through failure.Errors.
package core
