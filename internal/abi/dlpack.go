package abi

// DLDataType is DLDataType of DLPack.
type DLDataType struct {
	Code  uint8
	Bits  uint8
	Lanes uint16
}

// The codes of DLDataType.
const (
	DLInt               = 0
	DLUInt              = 1
	DLFloat             = 2
	DLOpaqueHandle      = 3
	DLBfloat            = 4
	DLComplex           = 5
	DLBool              = 6
	DLFloat8E3M4        = 7
	DLFloat8E4M3        = 8
	DLFloat8E4M3B11FNUZ = 9
	DLFloat8E4M3FN      = 10
	DLFloat8E4M3FNUZ    = 11
	DLFloat8E5M2        = 12
	DLFloat8E5M2FNUZ    = 13
	DLFloat8E8M0FNU     = 14
	DLFloat6E2M3FN      = 15
	DLFloat6E3M2FN      = 16
	DLFloat4E2M1FN      = 17
)

// DLDevice is DLDevice of DLPack.
type DLDevice struct {
	Type int32
	ID   int32
}

// HasAddresses reports whether the data pointers of d are addresses to which an offset may
// be added. On other devices they are handles.
func (d DLDevice) HasAddresses() bool {
	return d.Type <= DLCUDAHost || d.Type == DLCUDAManaged || d.Type == DLROCM || d.Type == DLROCMHost
}

// The device types of DLPack.
const (
	DLCPU         = 1
	DLCUDA        = 2
	DLCUDAHost    = 3
	DLOpenCL      = 4
	DLVulkan      = 7
	DLMetal       = 8
	DLVPI         = 9
	DLROCM        = 10
	DLROCMHost    = 11
	DLExtDev      = 12
	DLCUDAManaged = 13
	DLOneAPI      = 14
	DLWebGPU      = 15
	DLHexagon     = 16
	DLMAIA        = 17
	DLTrn         = 18
)

// DLTensor is DLTensor of DLPack. The cell of a Tensor object is one.
type DLTensor struct {
	Data   uintptr
	Device DLDevice
	NDim   int32
	DType  DLDataType
	// Shape and Strides point to NDim int64 values; strides count elements.
	Shape      uintptr
	Strides    uintptr
	ByteOffset uint64
}

// DLPackVersion is DLPackVersion of DLPack.
type DLPackVersion struct {
	Major uint32
	Minor uint32
}

// DLManagedTensor is the unversioned exchange struct of DLPack.
type DLManagedTensor struct {
	Tensor  DLTensor
	Context uintptr
	Deleter uintptr
}

// DLManagedTensorVersioned is the versioned exchange struct of DLPack.
type DLManagedTensorVersioned struct {
	Version DLPackVersion
	Context uintptr
	Deleter uintptr
	Flags   uint64
	Tensor  DLTensor
}

// The bits of DLManagedTensorVersioned.Flags.
const (
	DLFlagReadOnly = 1 << 0
	DLFlagIsCopied = 1 << 1
	// DLFlagSubBytePadded says that an element smaller than a byte occupies a whole one.
	DLFlagSubBytePadded = 1 << 2
)

// The DLPack version that this module writes and the major version it accepts.
const (
	DLPackMajor = 1
	DLPackMinor = 3
)
