// Package plan decides everything about the generated code: which items of a
// schema get a Go form, in which packages, under which names, with which types.
// Package emit only writes the plan.
//
// # Files
//
//	the plan                plan.go, entry.go, files.go
//	what users know of them  hints.go
//	which items get a form  classify.go, resolve.go, gotypes.go, variants.go
//	what each item becomes  objects.go, ctor.go, makers.go, functions.go, call.go, helpers.go
//	packages                packages.go, places.go, graph.go, forward.go, libraries.go
//	names                   names.go (words), naming.go (who wants which), claim.go (who gets which), scope.go
//	docs with links         docs.go
package plan
