// Package archtest holds the tests of the repository as a whole: which package
// may import which, what a user of the runtime alone depends on, and the rules
// that every file follows. It has no code of its own.
package archtest
