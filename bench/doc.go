// Command bench builds the library of the benchmark and its peers, measures them
// in turn, and prints one table. bench/README.md describes each row.
//
// # Files
//
//	main.go         the flags, and a full run
//	build.go        builds libraries, programs and Python environments
//	peers.go        the programs that measure, and how they take turns
//	items.go        the rows and their targets
//	table.go        tables and verdicts
//	count.go        the instructions of an operation; step_*.go steps through them
//	picture.go      the picture of the results
//	recorded.go     reads the tables of earlier runs
//	generator.go    the generator
//	startup.go      what importing a generated package costs
//	launch.go       launches of kernels
//	pack.go         a folder with the tests that run on a GPU
//	engines.go      XGrammar and TVM: rows, targets and tables
//	serve.go        the servers of chat completions, ours and one in Python
//	serveload.go    their clients
//	enginefiles.go  their libraries and peers
//	enginedata.go   the vocabulary, the schema and the document of XGrammar
package main
