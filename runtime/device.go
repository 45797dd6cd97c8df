package tvmffi

import (
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Device is a device (DLDevice): its type and its number among the devices of
// that type.
type Device struct{ Type, ID int32 }

// CPU is the host.
var CPU = Device{Type: abi.DLCPU}

// CUDA returns the CUDA device with the given number.
func CUDA(id int) Device { return Device{Type: abi.DLCUDA, ID: int32(id)} }

// deviceNames are the names of the device types of DLPack.
var deviceNames = map[int32]string{
	abi.DLCPU: "cpu", abi.DLCUDA: "cuda", abi.DLCUDAHost: "cuda_host", abi.DLOpenCL: "opencl", abi.DLVulkan: "vulkan",
	abi.DLMetal: "metal", abi.DLVPI: "vpi", abi.DLROCM: "rocm", abi.DLROCMHost: "rocm_host", abi.DLExtDev: "ext_dev",
	abi.DLCUDAManaged: "cuda_managed", abi.DLOneAPI: "oneapi", abi.DLWebGPU: "webgpu", abi.DLHexagon: "hexagon",
	abi.DLMAIA: "maia", abi.DLTrn: "trn",
}

// String returns the name of the device, such as "cuda:1".
func (d Device) String() string {
	name, ok := deviceNames[d.Type]
	if !ok {
		name = "device" + strconv.Itoa(int(d.Type))
	}
	return name + ":" + strconv.Itoa(int(d.ID))
}

// ParseDevice reads the name of a device: a type, and a number after a colon if
// it is not 0.
func ParseDevice(name string) (Device, error) {
	kind, id, numbered := strings.Cut(name, ":")
	for t, n := range deviceNames {
		if n != kind {
			continue
		}
		if !numbered {
			return Device{Type: t}, nil
		}
		i, err := strconv.ParseInt(id, 10, 32)
		if err != nil || i < 0 || strings.HasPrefix(id, "+") {
			return Device{}, errorf(core.KindValue, "device %q: %q is no number of a device", name, id)
		}
		return Device{Type: t, ID: int32(i)}, nil
	}
	return Device{}, errorf(core.KindValue, "unknown device %q", name)
}

// Pointer is an address that means something to C only (void*), such as a
// stream. It is no Go pointer: it keeps nothing alive.
type Pointer struct{ Address uintptr }

// bits returns the payload of a value that holds d.
func (d Device) bits() uint64 { return uint64(uint32(d.Type)) | uint64(uint32(d.ID))<<32 }

func deviceOf(bits uint64) Device { return Device{int32(bits), int32(bits >> 32)} }
