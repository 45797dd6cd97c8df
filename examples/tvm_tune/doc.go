//go:build bindings

// This program tunes a product of matrices for the processor of this machine with MetaSchedule of Apache
// TVM. TVM searches; what the search calls is Go: the builder, the runner, the cost model and the
// measure callback. No Python takes part in it.
//
// # Files
//
//   - main.go: the options, and what the program does, in order; start reading here
//   - matmul.go: what is tuned, and the processor that it is tuned for
//   - tune.go: the search: its space of schedules, its database, its callbacks
//   - builder.go, compile.go: candidates become shared libraries, several at a time
//   - runner.go, device.go: candidates are measured by an RPC server, one at a time
//   - model.go, experience.go: the cost model
//   - progress.go, compare.go: what is shown while the search runs, and at its end
//   - must.go: errors while something is described
package main
