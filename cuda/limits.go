package cuda

import (
	"strconv"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

func (p *primary) attribute(a Attribute) (int, error) {
	v := new(int32)
	if rc := driver.Call(driver.DeviceGetAttribute, uintptr(unsafe.Pointer(v)), uintptr(a), p.handle); rc != 0 {
		return 0, failed(rc, driver.DeviceGetAttribute, "attribute "+strconv.Itoa(int(a))+" of "+p.device.String())
	}
	return int(*v), nil
}

// limits are what launches are checked against.
type limits struct {
	threads           int
	block, grid       [3]int
	shared, sharedMax int // without and with opt-in
	major, minor      int
	cluster, coop     bool
}

func (p *primary) readLimits() (*limits, error) {
	var err error
	l := new(limits)
	get := func(a Attribute) int {
		if err != nil {
			return 0
		}
		var v int
		v, err = p.attribute(a)
		return v
	}
	l.threads = get(driver.DeviceMaxThreadsPerBlock)
	l.block = [3]int{get(driver.DeviceMaxBlockDimX), get(driver.DeviceMaxBlockDimY), get(driver.DeviceMaxBlockDimZ)}
	l.grid = [3]int{get(driver.DeviceMaxGridDimX), get(driver.DeviceMaxGridDimY), get(driver.DeviceMaxGridDimZ)}
	l.shared, l.sharedMax = get(driver.DeviceMaxSharedMemoryPerBlock), get(driver.DeviceMaxSharedMemoryPerBlockOptIn)
	l.major, l.minor = get(driver.DeviceComputeCapabilityMajor), get(driver.DeviceComputeCapabilityMinor)
	l.coop = get(driver.DeviceCooperativeLaunch) != 0
	if err == nil {
		// Drivers older than clusters do not know the attribute.
		v, e := p.attribute(driver.DeviceClusterLaunch)
		l.cluster = e == nil && v != 0
	}
	l.sharedMax = max(l.shared, l.sharedMax)
	return l, err
}
