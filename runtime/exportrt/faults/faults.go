// Package faults is the C code that keeps Go's handlers of faults, such as that of SIGSEGV, in front
// of those that the host installs before and after a shared library of Go is loaded. So a nil dereference in Go is
// an error in every order, and a fault in other code reaches the handlers of the host.
//
// The main package of the library imports it. It does nothing outside Linux.
package faults
