// Package plan holds the values that the stages of the generator pass on, and the spelling of names.
//
// # Stages
//
// Each stage is a package below gen/internal. It makes its value of the value before it, and
// imports no later stage. Package gen runs them.
//
//	schema.Schema, Config
//	  classify  classify.Items: what gets a Go form, with what hints add, and an Entry for each item
//	  place     place.Places: the Packages, and the Objects, Funcs and Aliases in them
//	  types     types.Types: a GoType for each type expression, a Call for each signature
//	  members   Fields, Methods, Statics, Makers and Forwards in the packages
//	  names     all Go names, Imports and Files
//	  docs      Docs with links
//	  emit      the bytes of a File
//
// An Entry goes along from classify to names; each stage writes into it what it decides. The errors
// of the configuration are reported at the end, by classify.Items.Finish.
package plan
