package cuda

import (
	"encoding/hex"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Available returns nil if the machine has a working driver and a device, otherwise
// an error for which errors.Is(err, ErrUnavailable) holds.
func Available() error {
	_, err := start()
	return err
}

// DriverVersion returns the CUDA version that the driver supports, such as 12040
// for CUDA 12.4.
func DriverVersion() (int, error) {
	if err := Available(); err != nil {
		return 0, err
	}
	return driver.Version(), nil
}

// DriverPath returns the file of the driver that was loaded.
func DriverPath() (string, error) {
	if err := Available(); err != nil {
		return "", err
	}
	return driver.Path(), nil
}

// DeviceCount returns the number of devices, at least 1 if there is no error.
func DeviceCount() (int, error) {
	states, err := start()
	return len(states), err
}

// Attribute returns the value of an attribute of the device.
func (d Device) Attribute(a Attribute) (int, error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, err
	}
	return s.attribute(a)
}

// Properties holds the properties of a device that most programs need.
type Properties struct {
	Name string
	// UUID is the identifier that nvidia-smi prints: "GPU-..." or, for an instance of a device
	// that is split by MIG, "MIG-...". A driver before CUDA 11.4 reports that of the whole device
	// for an instance too.
	UUID                      string
	PCIBusID                  string // domain:bus:device.function
	TotalMemory               int64  // bytes
	Major, Minor              int    // compute capability
	Multiprocessors           int
	WarpSize                  int
	MaxThreadsPerBlock        int
	MaxThreadsPerSM           int
	MaxBlock, MaxGrid         Dim3
	SharedMemoryPerBlock      int // bytes, without opt-in
	SharedMemoryPerBlockOptIn int // bytes, the most that a kernel can get
	SharedMemoryPerSM         int // bytes
	RegistersPerBlock         int
	L2Cache                   int // bytes
	ClockRate                 int // kHz
	MemoryPools               bool
	Clusters                  bool
	CooperativeLaunch         bool
}

// Properties reads the properties of the device. It needs no context.
func (d Device) Properties() (p Properties, err error) {
	s, err := stateOf(d)
	if err != nil {
		return p, err
	}
	l, err := s.limits()
	if err != nil {
		return p, err
	}
	get := func(a Attribute) int {
		if err != nil {
			return 0
		}
		var v int
		v, err = s.attribute(a)
		return v
	}
	b := new(struct {
		name, bus [256]byte
		total     uint64
	})
	// The functions without a length ignore the third argument.
	for _, c := range []struct {
		f      driver.Func
		out    unsafe.Pointer
		second uintptr
	}{
		{driver.DeviceGetName, unsafe.Pointer(&b.name), uintptr(len(b.name))},
		{driver.DeviceGetPCIBusID, unsafe.Pointer(&b.bus), uintptr(len(b.bus))},
		{driver.DeviceTotalMem, unsafe.Pointer(&b.total), s.handle},
	} {
		if rc := driver.Call(c.f, uintptr(c.out), c.second, s.handle); rc != 0 {
			return p, failed(rc, c.f, d.String())
		}
	}
	uuid, err := s.uuid()
	if err != nil {
		return p, err
	}
	p = Properties{
		Name: text(b.name[:]), PCIBusID: text(b.bus[:]), TotalMemory: int64(b.total),
		UUID: uuid, Major: l.major, Minor: l.minor, MaxThreadsPerBlock: l.threads,
		MaxBlock:             Dim3{uint32(l.block[0]), uint32(l.block[1]), uint32(l.block[2])},
		MaxGrid:              Dim3{uint32(l.grid[0]), uint32(l.grid[1]), uint32(l.grid[2])},
		SharedMemoryPerBlock: l.shared, SharedMemoryPerBlockOptIn: l.sharedMax,
		Multiprocessors: get(driver.DeviceMultiprocessorCount), WarpSize: get(driver.DeviceWarpSize), MaxThreadsPerSM: get(driver.DeviceMaxThreadsPerMultiprocessor),
		SharedMemoryPerSM: get(driver.DeviceMaxSharedMemoryPerSM), RegistersPerBlock: get(driver.DeviceMaxRegistersPerBlock), L2Cache: get(driver.DeviceL2CacheSize),
		ClockRate: get(driver.DeviceClockRate), MemoryPools: get(driver.DeviceMemoryPoolsSupported) != 0, Clusters: l.cluster, CooperativeLaunch: l.coop,
	}
	if err != nil {
		return Properties{}, err
	}
	return p, nil
}

// uuid returns the identifier of the device or of the MIG instance.
func (s *state) uuid() (string, error) {
	read := func(f driver.Func) (id [16]byte, err error) {
		out := new([16]byte)
		rc := driver.Call(f, uintptr(unsafe.Pointer(out)), s.handle)
		return *out, failed(rc, f, s.device.String())
	}
	id, err := read(driver.DeviceGetUUID)
	if err != nil {
		return "", err
	}
	kind := "GPU-"
	if driver.Has(driver.DeviceGetUUIDv2) {
		own, err := read(driver.DeviceGetUUIDv2)
		if err != nil {
			return "", err
		}
		if own != id {
			id, kind = own, "MIG-"
		}
	}
	h := hex.EncodeToString(id[:])
	return kind + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}

// text reads a C string from a buffer.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// MemoryInfo returns the free and the total memory of the device, in bytes.
func (d Device) MemoryInfo() (free, total int64, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, 0, err
	}
	err = s.with(func(g *guard) error {
		if err := g.call(driver.MemGetInfo, g.out(0), g.out(1)); err != nil {
			return about(err, "%s", d)
		}
		free, total = int64(g.result(0)), int64(g.result(1))
		return nil
	})
	return free, total, err
}
