// Package disco runs calls on many workers at once: the threads of a process, processes of one host,
// or processes of several hosts. It is a typed interface to Disco, TVM's distributed runtime.
//
//	func main() {
//		disco.Main(func() error { // first: the workers are processes of this same program
//			return tvmffi.Register("demo.square", func(x int64) int64 { return x * x })
//		})
//		s, err := disco.Processes(ctx, 4, disco.Options{})
//		if err != nil { ... }
//		defer s.Close()
//		d, err := s.Call(s.Function("demo.square"), 7) // on all workers; does not wait
//		v, err := d.Get(ctx, 3)                        // 49, from worker 3
//	}
//
// # Calls
//
// [Session.Call] sends a call to all workers and returns a [DRef], which stands for the result on
// each of them. A DRef may be an argument of another call: each worker takes its own value. So the
// values stay where they are, until [DRef.Get] asks for one. [Session.Sync] waits for all workers.
//
// # Errors
//
// A function that fails, or panics, in a worker fails that call alone. The error comes to the
// controller as a [*WorkerError], which names the worker and the function, and has the kind and the
// text of the error. If a process ends, the error is an [*ExitError], and the session can only be
// closed. Other sessions go on.
//
// This holds for the methods of this package. With the functions of generated/tvm/disco, an error in
// worker 0, a thread of the controller, ends the process.
//
// # Collective operations
//
// TVM has these for GPUs only. This package adds them for tensors in CPU memory: [Session.Broadcast],
// [Session.Scatter], [Session.GatherToWorker0], [Session.Allgather] and [Session.Allreduce]. Modules
// compiled by TVM find them too, as runtime.disco.allreduce and the like, if Session.Call calls the
// module. They are for development and tests: all numbers go through the process of worker 0, by a unix socket
// without a file, or TCP between hosts. Operations between two workers are missing. [Session.InitCCL] chooses another
// library.
//
// # Hosts
//
// [Sockets] waits for nodes: other processes of the same program, usually on other hosts, that call
// [Join]. The wire is TVM's own, so with Options.Plain a node may be Python's, and Join works with a controller of
// Python. A participant of a session may run any function of the program, and load code from files, and Disco has
// neither a secret nor encryption: see Sockets for what to use instead.
//
// # What ends
//
// [Session.Close] ends everything that a session has started. A worker exits when its controller
// exits: at once if idle, otherwise after about a second.
//
// Disco needs libtvm_runtime_extra, and Linux without the build tag tvmffi_portable. Elsewhere the error is
// errors.ErrUnsupported.
//
// # Files
//
//	main.go        Main, and what a process of a worker does
//	session.go     Session, its beginning and end
//	launch.go      the processes of one host, for Disco
//	process.go     one process, and what it prints
//	call.go        calls and their results
//	worker.go      what a worker does with a call
//	commands.go    what it does for the methods of Session
//	hosted.go      copies between the controller and worker 0
//	encode.go      values on their way to the controller
//	failure.go     errors on their way to the controller
//	collective.go  the collective operations, on the side of the controller
//	cpu.go         the same on CPUs: the hub that all workers use, and what they do with the numbers
//	sockets.go     Sockets, the controller of several hosts
//	join.go        Join, one of the other hosts
//	node.go        the connection between hosts, and a host as the controller sees it
//	system_*.go    what depends on the system
package disco
