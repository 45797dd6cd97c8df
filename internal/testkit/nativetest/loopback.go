package nativetest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
)

// Loopback returns an address of this host for a listener that chooses its port. Nobody else uses the address, so a
// listener that is closed can be opened again at its port, and until then connections to it are refused. The system gives
// the ports of 127.0.0.1 to other processes.
func Loopback() string {
	if runtime.GOOS != "linux" { // other systems have one address
		return "127.0.0.1:0"
	}
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(254), rand.N(256), 1+rand.N(254))
}
