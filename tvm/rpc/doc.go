// Package rpc runs functions on other machines by the RPC of TVM: a server, a client and a
// tracker in Go, which also work with the ones of TVM's Python package. A server runs code for
// anyone who can reach its port: see Security.
//
// # Start here
//
// A machine that has a device runs a [Server]. Its main calls [ServeChild] first, because each
// session runs in a process of its own, which is the same program:
//
//	func main() {
//		rpc.ServeChild()
//		server, err := rpc.Listen(rpc.Config{Addr: "127.0.0.1:9090"})
//		...
//		err = server.Serve(ctx)
//	}
//
// A program on another machine dials it, uploads a library for the server's platform, and calls
// the functions of that library with tensors that lie on the server:
//
//	session, err := rpc.Dial(ctx, "127.0.0.1:9090", rpc.DialOptions{})
//	defer session.Close()
//	err = session.Upload(ctx, "kernels.so", library)
//	module, err := session.LoadModule(ctx, "kernels.so")
//	addOne, err := module.Function(ctx, "add_one")
//	x, err := session.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 1024)
//	_, err = addOne.Call(ctx, x, y)
//
// [Module.Timer] measures a function on the server, without the network.
//
// # Many servers
//
// A [Tracker] knows which servers are free. A server registers itself if its Config names a
// tracker; a client asks for one by key and priority, and gets a session:
//
//	client := rpc.TrackerClient{Addr: "10.0.0.1:9190"}
//	session, err := client.Request(ctx, "raspberry-pi", 1)
//
// Closing the session makes the server free again. If the tracker ends, sessions go on, and
// servers register again when it is back.
//
// # Where a session runs
//
// A session runs in a process of its own, because what a client uploads is native code: if it
// crashes, the server and the other sessions go on, and the client gets an error. The end of the
// process also frees what a client that vanished has not released. Starting it takes
// 20 to 40 milliseconds for each session. [InProcess] takes one, for clients that are trusted.
//
// # Security
//
// The protocol has neither encryption nor authentication: a key only keeps wrong clients away.
// Who can connect can upload a library and run it with the rights of the server. So a server
// listens at the loopback interface unless its Config names another address. Use a tunnel
// (SSH, WireGuard) between machines, and a user without rights for the server. MaxWaiting,
// MaxArchive and MaxMemory of a Config, and MaxConnections of a TrackerConfig, limit what
// mistaken clients can use; they do not stop hostile ones.
//
// # Errors
//
// An error that code on the server raises is a *tvmffi.Error of kind "RPCError"; the session
// goes on. [RemoteMessage] gives its text. If the connection cannot begin or ends, the error is
// a [*ConnectionError]: a server or a session that ended is noticed at once, a machine that
// vanished after the PeerTimeout of the options, and a context that ends ends the session. A
// call without a deadline waits for as long as the function computes.
//
// # Files
//
//	client.go       Dial, Session
//	handover.go     gives a connection that Go dialed to the client of TVM's library
//	remote.go       functions, modules, files and tensors of a server
//	timer.go        measures functions on a server
//	config.go       Config
//	server.go       Server: accepts clients, checks keys, counts sessions
//	session.go      the life of a session on the server
//	child.go        a session in a process of its own
//	child_*.go      what that needs of the system
//	environment.go  the functions that TVM's library expects of a server
//	link.go         links object files that a client uploads
//	accept.go       the loop that accepts connections
//	register.go     keeps a server registered at its tracker
//	keys.go         keys for clients that come from a tracker
//	tracker.go      Tracker: connections of servers and clients
//	market.go       brings offers and requests together
//	tracker_client.go  TrackerClient: Request, Summary
//	tracker_wire.go    messages to and from a tracker
//	wire.go         the greeting, byte by byte
//	errors.go       errors
//	socket_*.go     descriptors that Go and C++ share
package rpc
