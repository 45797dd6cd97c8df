// Package console is what every command of tvmffi-bind uses to talk to its user: the standard streams, progress,
// colours, JSON, refusals, errors of usage, and what the tool says about itself (its version, how to run it).
//
// The input, the decisions and the files of a command do not belong here. The package imports no other package of the
// module.
package console
