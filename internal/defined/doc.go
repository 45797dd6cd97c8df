// Package defined holds object types made in Go: their entries in the type table, the layout of
// their objects, and the C functions behind their fields. Package runtime/define decides what
// they are. It stands on package fields, and knows no calls.
package defined
