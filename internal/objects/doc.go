// Package objects holds the objects of the library as Go sees them: who owns a reference and
// when it ends, and the objects that are built in Go without a call. Nothing here makes an error.
//
// # Files
//
//	references             object.go, borrow.go
//	the end of references  recent.go, inherit.go, releaser.go, track*.go
//	objects built in Go    nodes.go, peers.go, array.go, tensor.go, boundfunc.go
//	memory behind tensors  foreign.go
//	the data of an Any     value.go
package objects
