// Package bindings makes Go packages in memory: it runs the generator on a configuration, checks that the files compile
// together with the user's files, and compares them with the disk.
//
// It prints nothing but progress and writes nothing: package files writes, package report says what was made.
package bindings
