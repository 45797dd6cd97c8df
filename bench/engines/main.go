// Command engines is the benchmark of the engines: the committed bindings of XGrammar
// and TVM, and the packages on top of them, as users call them.
// Usage: engines DATA XGRAMMAR REMOTE LIBTVM_FFI TVM_RUNTIME; bench/run -engines writes DATA and
// sets the variables by which the bindings of TVM find its libraries. "engines serve" is
// the server of RPC.
package main

import (
	"os"

	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

func main() {
	disco.Main(nil) // the sessions of RPC too
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		serveRemote()
		return
	}
	data, library := os.Args[1], os.Args[2]
	grammar(data, library)
	machine(data)
	defer remote(os.Args[3])()
	defer workers()()
	serve()
}
