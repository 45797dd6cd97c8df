// Package crossing says what crosses between Go and other languages. It holds data only, so that the generator, the
// runtime and the reader of schemas can all stand on it: a package above looks a row up, and does with it what is its own.
package crossing
