// Package maptable reads the entries of a Map or a Dict: from the table where it lies, or through
// the iterator of the library, many in one crossing. It stands on package registry.
package maptable
