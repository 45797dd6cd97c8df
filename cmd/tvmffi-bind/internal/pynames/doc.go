// Package pynames reads from the Python and C++ sources of a TVM-FFI library what its registry does not say: the
// names of parameters, docs, and narrower types. C++ says only the names.
//
// The sources are data. A child process parses them with the module ast of the Python of this machine, and
// prints what they say. Nothing of the library is imported or run. The other files find out which function of
// the registry a call means, and choose between the calls of one function.
//
// # Files
//
//   - Input: source.go collects Python files from wheels and folders, within limits.
//   - Facts: extract.py is the program of the child process, python.go runs it, facts.go is its output.
//   - Meaning: program.go resolves names across modules, sites.go finds the calls of each function, iface.go
//     describes the libraries.
//   - C++: native.go finds what a source exports and registers, and the declarations of these functions.
//   - Choice: choose.go keeps names, types.go types, docs.go docs.
//   - Output: read.go makes the names file, report.go says what was found.
package pynames
