// Package probe finds the libraries that a configuration or the flags name, and reads or calls them in a child process:
// the tool itself with a hidden command, because foreign code may end the process that loads it.
//
// Everything that loads a library belongs here; no other package of the tool does. Work on the schema does not belong
// here.
package probe
