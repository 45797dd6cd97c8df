// Package packaging makes Python packages of Go libraries: wheels for pip, and an editable form
// for those who change the Go code.
package packaging
