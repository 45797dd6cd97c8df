// Package objects holds the objects of the library as Go sees them: who owns a reference and
// when it ends, and the objects that are built in Go without a call. Nothing here makes an error.
package objects
