package cuda

import (
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Limit is a number of CUlimit: how much of a resource the kernels of a device may use. A number
// without a constant here goes to the driver, which may know it.
type Limit int32

// The limits. Sizes are bytes.
const (
	// LimitStack is the stack of each thread of a kernel. The driver makes it larger
	// where a kernel needs more.
	LimitStack Limit = 0
	// LimitPrintf is the buffer of printf in kernels. It can be set until a kernel with
	// printf was launched.
	LimitPrintf Limit = 1
	// LimitHeap is the heap of malloc in kernels. It can be set until a kernel with
	// malloc was launched.
	LimitHeap Limit = 2
	// LimitSyncDepth is how many levels of launches by kernels may wait for each other.
	// Devices of compute capability 9.0 and later do not have it.
	LimitSyncDepth Limit = 3
	// LimitPendingLaunches is how many launches by kernels may be under way.
	LimitPendingLaunches Limit = 4
	// LimitL2Fetch is how much the L2 cache fetches at once, 0 to 128. It is a hint.
	LimitL2Fetch Limit = 5
	// LimitPersistingL2 is the part of the L2 cache that keeps the memory of an
	// [AccessWindow]. The attribute MaxPersistingL2 is the most. It is a hint.
	LimitPersistingL2 Limit = 6
)

// limitNames are the names of the limits, by number.
var limitNames = [...]string{"LimitStack", "LimitPrintf", "LimitHeap", "LimitSyncDepth", "LimitPendingLaunches", "LimitL2Fetch", "LimitPersistingL2"}

// String returns the name of the constant, such as "LimitStack".
func (l Limit) String() string {
	if l >= 0 && int(l) < len(limitNames) {
		return limitNames[l]
	}
	return fmt.Sprintf("Limit(%d)", int32(l))
}

// of names a limit in errors of the driver. A number without a constant goes to the driver
// too, which may be newer.
func (l Limit) of(d Device) string {
	if l >= 0 && int(l) < len(limitNames) {
		return fmt.Sprintf("%s of %s", l, d)
	}
	return fmt.Sprintf("%s of %s, which is not one of %s", l, d, strings.Join(limitNames[:], ", "))
}

// Limit returns a limit of the device.
func (d Device) Limit(l Limit) (value int64, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, err
	}
	g, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer g.leave(&err)
	return g.limit(l)
}

// SetLimit changes a limit of the device for the whole process and returns what the
// driver has made of it: the driver rounds, and keeps the value within the range of the
// device.
func (d Device) SetLimit(l Limit, value int64) (set int64, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, err
	}
	if value < 0 {
		return 0, valueError("%s of %s: %d is negative", l, d, value)
	}
	g, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer g.leave(&err)
	if err := g.call(driver.CtxSetLimit, uintptr(l), uintptr(value)); err != nil {
		return 0, about(err, "%s: %d", l.of(d), value)
	}
	return g.limit(l)
}

func (g *guard) limit(l Limit) (int64, error) {
	if err := g.call(driver.CtxGetLimit, g.out(0), uintptr(l)); err != nil {
		return 0, about(err, "%s", l.of(g.s.device))
	}
	return int64(g.result(0)), nil
}
