//go:build (linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || ((darwin || windows) && (amd64 || arm64))

// Package platform is empty. It has a file only for the platforms on which the runtime can
// work, so that on all others the go command refuses the import with the path of the
// package, which is a sentence for the user, instead of with errors of purego. The table
// "Where it works" of the README says what is tested.
package platform
