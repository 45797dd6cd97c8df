package driver

// The handles of streams that the driver has itself. 0 is the first of them too.
const (
	StreamLegacy    = 1 // CU_STREAM_LEGACY, the default stream
	StreamPerThread = 2 // CU_STREAM_PER_THREAD
)

// The flags of CUstream_flags and CUevent_flags.
const (
	StreamNonBlocking  = 1
	EventBlockingSync  = 1
	EventDisableTiming = 2
)

// The numbers of CUstreamCaptureMode. Beside a thread-local capture other threads may go on with
// calls that a capture does not allow.
const (
	CaptureThreadLocal = 1
	CaptureRelaxed     = 2
)

// AttachGlobal is CU_MEM_ATTACH_GLOBAL: all devices use managed memory.
const AttachGlobal = 1

// The flags of CU_MEMHOSTALLOC and CU_MEMHOSTREGISTER. Registered memory has
// no write-combined flag, and its flag of that number means memory of another device.
const (
	HostPortable      = 1
	HostMapped        = 2
	HostWriteCombined = 4
	HostReadOnly      = 8
)

// MemoryTypeDevice is CU_MEMORYTYPE_DEVICE.
const MemoryTypeDevice = 2

// The numbers of CUpointer_attribute.
const (
	PointerMemoryType = 2  // 0 for memory that the driver does not know
	PointerManaged    = 8  // 1 for managed memory
	PointerDevice     = 9  // its device
	PointerStart      = 11 // where its allocation begins
	PointerSize       = 12 // how large that is
)

// The numbers of memory pools.
const (
	AllocationPinned = 1 // CU_MEM_ALLOCATION_TYPE_PINNED: memory that stays where it is, the only kind
	LocationDevice   = 1 // CU_MEM_LOCATION_TYPE_DEVICE
	AccessReadWrite  = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
)

// PoolProperties is CUmemPoolProps.
type PoolProperties struct {
	Allocation, Handles    int32
	LocationType, Location int32
	Security               uintptr
	MaxSize                uint64
	_                      [56]byte
}

// MemoryAccess is CUmemAccessDesc.
type MemoryAccess struct {
	LocationType, Location int32
	Flags                  uint32
}

// The numbers of CUdevice_attribute that checks of launches and properties read.
const (
	DeviceMaxThreadsPerBlock           = 1
	DeviceMaxBlockDimX                 = 2
	DeviceMaxBlockDimY                 = 3
	DeviceMaxBlockDimZ                 = 4
	DeviceMaxGridDimX                  = 5
	DeviceMaxGridDimY                  = 6
	DeviceMaxGridDimZ                  = 7
	DeviceMaxSharedMemoryPerBlock      = 8 // bytes, without opt-in
	DeviceWarpSize                     = 10
	DeviceMaxRegistersPerBlock         = 12
	DeviceClockRate                    = 13 // kHz
	DeviceMultiprocessorCount          = 16
	DeviceL2CacheSize                  = 38 // bytes
	DeviceMaxThreadsPerMultiprocessor  = 39
	DeviceComputeCapabilityMajor       = 75
	DeviceComputeCapabilityMinor       = 76
	DeviceMaxSharedMemoryPerSM         = 81 // bytes
	DeviceCooperativeLaunch            = 95
	DeviceMaxSharedMemoryPerBlockOptIn = 97 // bytes
	DeviceMemoryPoolsSupported         = 115
	DeviceClusterLaunch                = 120
)

// The numbers of CUjit_option.
const (
	JITMaxRegisters      = 0
	JITInfoLog           = 3
	JITInfoLogSize       = 4
	JITErrorLog          = 5
	JITErrorLogSize      = 6
	JITOptimizationLevel = 7
	JITDebugInfo         = 11
	JITLineInfo          = 13
)

// The numbers of CUfunction_attribute.
const (
	FuncMaxThreads         = 0
	FuncShared             = 1
	FuncConst              = 2
	FuncLocal              = 3
	FuncRegisters          = 4
	FuncDynamic            = 8
	FuncNonPortableCluster = 14
)

// The numbers of CUlaunchAttributeID.
const (
	LaunchCooperative  = 2
	LaunchCluster      = 4
	LaunchProgrammatic = 6
	LaunchPriority     = 8
)

// LaunchAttribute is CUlaunchAttribute.
type LaunchAttribute struct {
	ID    uint32
	_     uint32
	Value [16]uint32 // CUlaunchAttributeValue
}

// LaunchConfig is CUlaunchConfig.
type LaunchConfig struct {
	Grid, Block [3]uint32
	Shared      uint32
	Stream      uintptr
	Attributes  uintptr // of LaunchAttribute
	Count       uint32  // of these
}
