package cuda

import (
	"strconv"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Device is the number of a CUDA device, from 0, in the order of
// CUDA_VISIBLE_DEVICES.
type Device int

// String returns "cuda:" and the number.
func (d Device) String() string { return "cuda:" + strconv.Itoa(int(d)) }

// TVMFFI returns the device as TVM-FFI describes it.
func (d Device) TVMFFI() tvmffi.Device { return tvmffi.CUDA(int(d)) }

// Attribute is a number of CUdevice_attribute in cuda.h. [Properties] has those that most programs
// need.
type Attribute int32
