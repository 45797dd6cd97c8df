// Package libraries loads the files of libraries, libtvm_ffi first, and says what to do when
// that fails. It stands on package registry, and on packages callbacks and find. A file uses
// only those above it:
//
//	memorylimit.go  the limit of memory that the environment sets
//	loadtext.go     what the messages of loaders say
//	loaded.go       which libraries the process has
//	mixed.go        libraries that do not fit libtvm_ffi
//	reason.go       what to do about a library that does not load
//	core.go         libtvm_ffi
//	file.go         other files
//	library.go      the set of files behind a generated package
package libraries
