// Package generated holds the bindings of libtvm_ffi and of its testing library in
// packages below it, and here the tests of what the generator makes of whole
// libraries.
package generated
