//go:build !linux

package silence

import (
	"net"
	"time"
)

// Limit does nothing.
func Limit(net.Conn, time.Duration) error { return nil }
