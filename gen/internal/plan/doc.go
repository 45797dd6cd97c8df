// Package plan decides everything about the generated code: which items of a
// schema get a Go form, in which packages, under which names, with which types.
// Package emit only writes the plan.
//
// # Stages
//
// Each stage makes its value of the value before it, and calls nothing of a later stage.
//
//	classify  a schema and a Config   Items: what gets a Go form, with what hints add
//	place     Items                   Places: the packages, and the Objects and Funcs in them
//	types     Places                  Types: gives type expressions their Go types
//	members   Types                   fields, methods, constructors and calls in the packages
//	names     packages with members   all Go names, and the files
//	docs      packages with names     docs with links
//	check     Items                   Entries, and the errors of the configuration
//
// # Files
//
//	values    plan.go, entry.go, values_items.go, values_call.go, values_types.go
//	words     names.go
//	classify  classify.go, hints.go, check.go
//	place     places.go, packages.go, graph.go, libraries.go
//	types     resolve.go, gotypes.go, variants.go, call.go
//	members   objects.go, functions.go, makers.go, forward.go
//	names     naming.go, claim.go, scope.go, variantnames.go, helpers.go, params.go, files.go
//	docs      docs.go
package plan
