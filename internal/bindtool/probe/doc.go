// Package probe finds the libraries that a configuration or the flags name, and reads or calls them in a child process:
// the tool itself with a hidden command, because foreign code may end the process that loads it.
//
// Everything that loads a library belongs here, and nothing else in the tool does so. What is made of the schema that
// comes back does not.
package probe
