// Package machine says what a bug report needs to know about a machine, and keeps names of people and secrets out of it:
//
//   - system.go: the kernel, the C library and the C++ runtime;
//   - bindings.go: the libraries that the programs of a module would load;
//   - variables.go: the environment variables that change what happens;
//   - private.go: what is hidden in all of these.
package machine

// Fact is a line of a report.
type Fact struct{ Name, Value string }
