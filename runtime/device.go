package tvmffi

import (
	"math"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Device identifies a device (DLDevice) by its type and by its number among the devices
// of that type, from 0.
type Device struct{ Type, ID int32 }

// The device types of DLPack.
const (
	DeviceCPU         int32 = abi.DLCPU
	DeviceCUDA        int32 = abi.DLCUDA
	DeviceCUDAHost    int32 = abi.DLCUDAHost // memory of the host, pinned by CUDA
	DeviceOpenCL      int32 = abi.DLOpenCL
	DeviceVulkan      int32 = abi.DLVulkan
	DeviceMetal       int32 = abi.DLMetal
	DeviceVPI         int32 = abi.DLVPI
	DeviceROCM        int32 = abi.DLROCM
	DeviceROCMHost    int32 = abi.DLROCMHost // memory of the host, pinned by ROCm
	DeviceExtDev      int32 = abi.DLExtDev
	DeviceCUDAManaged int32 = abi.DLCUDAManaged // memory that the host and the device share
	DeviceOneAPI      int32 = abi.DLOneAPI
	DeviceWebGPU      int32 = abi.DLWebGPU
	DeviceHexagon     int32 = abi.DLHexagon
	DeviceMAIA        int32 = abi.DLMAIA
	DeviceTrn         int32 = abi.DLTrn
)

// CPU is the host.
var CPU = Device{Type: abi.DLCPU}

// CUDA returns the CUDA device with the given number. A number beyond int32 becomes the nearest one, which no
// machine has, so its first use fails.
func CUDA(id int) Device {
	return Device{Type: abi.DLCUDA, ID: int32(min(max(id, math.MinInt32), math.MaxInt32))}
}

// String returns the name of the device, such as "cuda:1".
func (d Device) String() string {
	return abi.DeviceTypeName(d.Type) + ":" + strconv.Itoa(int(d.ID))
}

// IsHost reports whether the host can read and write the memory of d.
func (d Device) IsHost() bool {
	return d.Type == abi.DLCPU || d.Type == abi.DLCUDAHost || d.Type == abi.DLCUDAManaged || d.Type == abi.DLROCMHost
}

// ParseDevice parses the name of a device: a type, such as "cpu" or "cuda", and after a
// colon the number, which may be left out if it is 0. It ignores everything after a
// space. The error is of kind ErrValue.
func ParseDevice(name string) (Device, error) {
	text, _, _ := strings.Cut(name, " ")
	kind, id, numbered := strings.Cut(text, ":")
	if strings.Contains(id, ":") {
		return Device{}, failure.Errorf(failure.KindValue, "Invalid device: %s", text)
	}
	t, ok := abi.ParseDeviceType(kind)
	d := Device{Type: t}
	if !ok {
		return Device{}, failure.Errorf(failure.KindValue, "Unknown device: %s", kind)
	}
	if !numbered {
		return d, nil
	}
	i, err := strconv.ParseUint(id, 10, 31)
	if err != nil {
		return Device{}, failure.Errorf(failure.KindValue, "Invalid device index: %s", id)
	}
	d.ID = int32(i)
	return d, nil
}

// Pointer is an address that only C interprets (void*), such as a stream. It is not a Go
// pointer and keeps nothing alive.
type Pointer struct{ Address uintptr }

// bits returns d as the payload of an abi.Any.
func (d Device) bits() uint64 { return uint64(uint32(d.Type)) | uint64(uint32(d.ID))<<32 }

func deviceOf(bits uint64) Device { return Device{int32(bits), int32(bits >> 32)} }
