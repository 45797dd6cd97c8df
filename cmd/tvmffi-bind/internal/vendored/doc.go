// Package vendored makes "go mod vendor" copy what generated code imports, wherever this program is a tool. That command
// copies the imports of all files of a tool, whatever their build constraints are, so the imports stand in a file that no
// build has. Without them, a module with a folder vendor could not make its first bindings: it would lack the packages
// that only the bindings import.
package vendored
