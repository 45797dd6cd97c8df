// Package emit writes a plan as Go source. It decides nothing: every name, type and
// body comes from package plan.
//
// # Files
//
//	any file  file.go, docs.go
//	bindings  emit.go, handshake.go, objects.go, ctors.go, funcs.go
//	exports   export.go, exportcall.go, exportcontext.go, exportfunc.go, exportclass.go,
//	          exportmain.go
//	kernels   kernel.go, kernelchecks.go, kernellaunch.go
package emit
