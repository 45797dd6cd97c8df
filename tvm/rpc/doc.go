// Package rpc runs functions on other machines by TVM's RPC: a server, a client and a tracker in
// Go, which also work with TVM's Python package. A server runs code for anyone who can reach its
// port: see Security.
//
// # Start here
//
// A machine that has a device runs a [Server]. Its main calls [Main] first, because each
// session runs in its own process, which is the same program:
//
//	func main() {
//		rpc.Main(nil)
//		server, err := rpc.Listen(rpc.Config{Addr: "127.0.0.1:9090"})
//		...
//		err = server.Serve(ctx)
//	}
//
// A program on another machine dials it, uploads a library for the server's platform, and calls
// its functions with tensors on the server:
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
// Closing the session makes the server free again. [TrackerClient.Do] runs a job, again if its server is lost. If the
// tracker ends, sessions go on, and servers register again when it is back. [Server.Stats] and [Tracker.Stats] count.
//
// # Where a session runs
//
// A session runs in its own process, because a client uploads native code: if it crashes, the
// server and the other sessions go on, and the client gets an error. The end of the process also
// frees everything that a vanished client has not released. A session starts in 20 to 40
// milliseconds. Servers and clients need Linux; elsewhere their error is errors.ErrUnsupported.
//
// The process is the program that runs, also after an update has removed or replaced its file. Without /proc that is an
// error, which says to restart the server. Libraries of the session come from the disk: an update that replaces a library
// under the same name must restart the server.
//
// # Security
//
// The protocol has neither encryption nor authentication: a key only keeps wrong clients away.
// Anyone who can connect can upload a library and run it with the server's rights. So a server
// listens on the loopback interface unless its Config names another address. Between machines, set
// the TLS of the Config and of the DialOptions, with certificates for clients too, or use a tunnel (SSH,
// WireGuard): Python's clients and the tracker have no TLS. Run the server as an unprivileged user.
//
// A client that sends half a message, or reads nothing, loses its session after the PeerTimeout of the Config. Beyond
// loopback, a relay in the server stands between a client and its session. It also ends a client that has no work. MaxMessage, MaxWaiting and MaxMemory of a Config, and
// MaxConnections of a TrackerConfig, limit mistaken clients; they do not stop the code that a hostile one uploads.
//
// # Errors
//
// An error that code on the server raises is a *tvmffi.Error of kind "RPCError"; the session goes
// on. If the connection fails, the error is a [*ConnectionError].
// The end of a server or a session is noticed at once, a vanished machine after the PeerTimeout
// of the options. The end of a call's context ends the session. A call without a deadline waits
// as long as the function computes.
//
// # Texts and numbers
//
// TVM's protocol sends a string up to its first zero byte, in both directions, and integers as int64. [Function.Call]
// and the names of files refuse what would be cut, and say what to pass. Results cannot be checked: a function whose text
// may have a zero byte returns bytes.
//
// The methods of a nil pointer panic, as in package net/http: those of a [*Server] without [Listen], for example.
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
//	child.go        a session in its own process
//	relay.go        limits the messages of a session, and counts their bytes
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
//	system_*.go     descriptors that Go and C++ share, and what processes need of the system
package rpc
