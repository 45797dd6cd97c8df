// Package hints says what the interface of a library does not say about itself: the names
// of parameters, narrower types, and documentation. It is pure data, like package schema.
//
// A names file holds hints that "tvmffi-bind names" read from the Python sources of a
// library. The key functions of tvmffi.yaml holds the user's. Package gen applies
// both to a schema.
package hints
