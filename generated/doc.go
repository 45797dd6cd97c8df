// Package generated holds the bindings of libtvm_ffi and of its testing library in
// packages below it, and tests of the generator with whole libraries.
package generated
