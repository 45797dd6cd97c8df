// Package project is what tvmffi-bind knows about the project of its user: the configuration tvmffi.yaml, the lock
// beside it, the Go module around a folder, and the programs that init and demo start with.
//
// Libraries are found and read by package probe, bindings are made by package bindings. Here are only files that
// people write or keep under version control.
package project
