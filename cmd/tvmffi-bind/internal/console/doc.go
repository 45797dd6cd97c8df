// Package console is what every command of tvmffi-bind uses to talk to its user: the standard streams, progress,
// colours, JSON, refusals, errors of usage, and what the tool says about itself (its version, how to run it).
//
// What a command reads, decides or writes to disk does not belong here. It imports no other package of the
// module.
package console
