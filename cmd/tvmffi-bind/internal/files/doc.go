// Package files compares what a run of tvmffi-bind wants on disk with what is there, shows the difference, and makes
// all changes or none, one run at a time.
//
// Its callers decide what the files contain and which of them the tool may replace.
package files
