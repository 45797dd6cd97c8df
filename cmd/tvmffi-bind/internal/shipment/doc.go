// Package shipment makes the folder that a program needs on another machine: the program, the libraries that its bindings load,
// what these need themselves, and the licences of all of them.
//
// A built program says what it is made of: the go command writes the modules into it, see [runtime/debug.BuildInfo], and each
// package of bindings has a variable with the descriptions of its libraries. The linker keeps that variable if the program can
// load them, and leaves it out otherwise. So neither the sources nor a run of the program are necessary.
//
// The libraries are those that the program would find where it lies. What they need is looked up where the loader of their
// system looks, and copied to a place in which it looks from the folder. What only the system's folders have stays there: the
// other machine must have it.
package shipment
