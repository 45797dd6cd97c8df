// Package disktest stops a program at a chosen change of the disk: it kills the program, or the disk is full from then on.
//
// A change is a system call that alters a folder: it creates, writes, renames, flushes or removes something there. The changes
// of a run are numbered, so a test chooses a moment by a number and not by a time. The program and the processes that it starts
// are real, and so is the disk. Only Linux can do that.
package disktest
