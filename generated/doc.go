// Package generated holds the bindings of libtvm_ffi, of its testing library, of XGrammar and
// of the runtime of TVM in packages below it, and tests of the generator with whole libraries.
package generated
