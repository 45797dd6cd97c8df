//go:build !tvmffi_portable

package disco

import (
	"net"
	"net/netip"
	"testing"
)

// TestListensAt finds a listener, but neither its connections nor one that is closed.
func TestListensAt(t *testing.T) {
	l, err := net.Listen("tcp", "127.88.77.66:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	place := l.Addr().(*net.TCPAddr).AddrPort()
	if at := listensAt(place.Addr().As4()); at != place {
		t.Errorf("the listener at %v was found at %v", place, at)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	l.Close()
	if at := listensAt(place.Addr().As4()); at != (netip.AddrPort{}) {
		t.Errorf("a closed listener was found at %v", at)
	}
}
