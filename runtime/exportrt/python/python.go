// Package python is the C code by which the Python package of an exported library calls its
// functions. It calls the library without code of Python where the arguments are plain values, and
// leaves everything else to the function of Python that such a function stands for.
//
// The main package of the library imports it. The library has no such code if it is built without
// cgo, which leaves it no symbols at all, or for Windows.
package python
