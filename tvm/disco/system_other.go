//go:build !linux || tvmffi_portable

package disco

import (
	"net"
	"net/netip"
)

// supported is false where the workers of one process are not distinguished, and for the portable call
// path, where a session sometimes does not end.
const supported = false

func threadID() int { return 0 }

func widen(uintptr) {}

func acknowledgeAtOnce(*net.TCPConn) {}

func listensAt([4]byte) (at netip.AddrPort) { return at }
