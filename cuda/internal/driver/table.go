package driver

import (
	"cmp"
	"iter"
)

// Func names a function of the driver API.
type Func int

// The functions that this module calls.
const (
	Init Func = iota
	DriverGetVersion
	GetErrorName
	GetErrorString
	DeviceGet
	DeviceGetCount
	DeviceGetName
	DeviceTotalMem
	DeviceGetUUID
	DeviceGetAttribute
	DeviceGetPCIBusID
	DeviceCanAccessPeer
	DeviceGetDefaultMemPool
	DevicePrimaryCtxRetain
	DevicePrimaryCtxRelease
	CtxGetCurrent
	CtxSetCurrent
	CtxSynchronize
	CtxEnablePeerAccess
	MemGetInfo
	MemAlloc
	MemFree
	MemAllocAsync
	MemFreeAsync
	MemAllocManaged
	MemHostAlloc
	MemFreeHost
	MemPoolTrimTo
	MemPoolSetAttribute
	MemPoolGetAttribute
	MemPoolCreate
	MemPoolDestroy
	MemPoolSetAccess
	MemAllocFromPoolAsync
	MemcpyHtoDAsync
	MemcpyDtoHAsync
	MemcpyDtoDAsync
	MemcpyPeerAsync
	MemsetD8Async
	MemsetD16Async
	MemsetD32Async
	StreamCreateWithPriority
	StreamDestroy
	StreamSynchronize
	StreamQuery
	StreamWaitEvent
	StreamBeginCapture
	StreamEndCapture
	StreamIsCapturing
	LaunchHostFunc
	EventCreate
	EventDestroy
	EventRecord
	EventSynchronize
	EventQuery
	EventElapsedTime
	ModuleLoadDataEx
	ModuleUnload
	ModuleGetFunction
	ModuleGetGlobal
	FuncGetAttribute
	FuncSetAttribute
	FuncGetParamInfo
	LaunchKernel
	LaunchKernelEx
	OccupancyMaxActiveBlocksPerMultiprocessor
	OccupancyMaxPotentialBlockSize
	OccupancyMaxActiveClusters
	GraphInstantiateWithFlags
	GraphLaunch
	GraphExecDestroy
	GraphDestroy

	// Memory: copies, the host, what an address is, advice.
	MemsetD2D32Async
	MemHostRegister
	MemHostUnregister
	MemHostGetDevicePointer
	PointerGetAttributes

	// Memory of other processes.

	// Virtual memory and multicast.

	// Graphs.

	// Streams and contexts.
	ThreadExchangeStreamCaptureMode
	StreamGetPriority
	StreamGetFlags
	CtxGetStreamPriorityRange
	DeviceGetUUIDv2

	functions int = iota
)

// entry describes one signature of a function: the name without version, the
// symbol that the driver exports for it ("" if it is the name), and the CUDA
// version, as cuGetProcAddress takes it, that brought this signature.
type entry struct {
	name, symbol string
	since        int
}

var table = [functions]entry{
	Init:                     {"cuInit", "", 2000},
	DriverGetVersion:         {"cuDriverGetVersion", "", 2020},
	GetErrorName:             {"cuGetErrorName", "", 6000},
	GetErrorString:           {"cuGetErrorString", "", 6000},
	DeviceGet:                {"cuDeviceGet", "", 2000},
	DeviceGetCount:           {"cuDeviceGetCount", "", 2000},
	DeviceGetName:            {"cuDeviceGetName", "", 2000},
	DeviceTotalMem:           {"cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020},
	DeviceGetUUID:            {"cuDeviceGetUuid", "", 9020},
	DeviceGetAttribute:       {"cuDeviceGetAttribute", "", 2000},
	DeviceGetPCIBusID:        {"cuDeviceGetPCIBusId", "", 4010},
	DeviceCanAccessPeer:      {"cuDeviceCanAccessPeer", "", 4000},
	DeviceGetDefaultMemPool:  {"cuDeviceGetDefaultMemPool", "", 11020},
	DevicePrimaryCtxRetain:   {"cuDevicePrimaryCtxRetain", "", 7000},
	DevicePrimaryCtxRelease:  {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
	CtxGetCurrent:            {"cuCtxGetCurrent", "", 4000},
	CtxSetCurrent:            {"cuCtxSetCurrent", "", 4000},
	CtxSynchronize:           {"cuCtxSynchronize", "", 2000},
	CtxEnablePeerAccess:      {"cuCtxEnablePeerAccess", "", 4000},
	MemGetInfo:               {"cuMemGetInfo", "cuMemGetInfo_v2", 3020},
	MemAlloc:                 {"cuMemAlloc", "cuMemAlloc_v2", 3020},
	MemFree:                  {"cuMemFree", "cuMemFree_v2", 3020},
	MemAllocAsync:            {"cuMemAllocAsync", "", 11020},
	MemFreeAsync:             {"cuMemFreeAsync", "", 11020},
	MemAllocManaged:          {"cuMemAllocManaged", "", 6000},
	MemHostAlloc:             {"cuMemHostAlloc", "", 2020},
	MemFreeHost:              {"cuMemFreeHost", "", 2000},
	MemPoolTrimTo:            {"cuMemPoolTrimTo", "", 11020},
	MemPoolSetAttribute:      {"cuMemPoolSetAttribute", "", 11020},
	MemPoolGetAttribute:      {"cuMemPoolGetAttribute", "", 11020},
	MemPoolCreate:            {"cuMemPoolCreate", "", 11020},
	MemPoolDestroy:           {"cuMemPoolDestroy", "", 11020},
	MemPoolSetAccess:         {"cuMemPoolSetAccess", "", 11020},
	MemAllocFromPoolAsync:    {"cuMemAllocFromPoolAsync", "", 11020},
	MemcpyHtoDAsync:          {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020},
	MemcpyDtoHAsync:          {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020},
	MemcpyDtoDAsync:          {"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020},
	MemcpyPeerAsync:          {"cuMemcpyPeerAsync", "", 4000},
	MemsetD8Async:            {"cuMemsetD8Async", "", 3020},
	MemsetD16Async:           {"cuMemsetD16Async", "", 3020},
	MemsetD32Async:           {"cuMemsetD32Async", "", 3020},
	StreamCreateWithPriority: {"cuStreamCreateWithPriority", "", 5050},
	StreamDestroy:            {"cuStreamDestroy", "cuStreamDestroy_v2", 4000},
	StreamSynchronize:        {"cuStreamSynchronize", "", 2000},
	StreamQuery:              {"cuStreamQuery", "", 2000},
	StreamWaitEvent:          {"cuStreamWaitEvent", "", 3020},
	StreamBeginCapture:       {"cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010},
	StreamEndCapture:         {"cuStreamEndCapture", "", 10000},
	StreamIsCapturing:        {"cuStreamIsCapturing", "", 10000},
	LaunchHostFunc:           {"cuLaunchHostFunc", "", 10000},
	EventCreate:              {"cuEventCreate", "", 2000},
	EventDestroy:             {"cuEventDestroy", "cuEventDestroy_v2", 4000},
	EventRecord:              {"cuEventRecord", "", 2000},
	EventSynchronize:         {"cuEventSynchronize", "", 2000},
	EventQuery:               {"cuEventQuery", "", 2000},
	EventElapsedTime:         {"cuEventElapsedTime", "", 2000},
	ModuleLoadDataEx:         {"cuModuleLoadDataEx", "", 2010},
	ModuleUnload:             {"cuModuleUnload", "", 2000},
	ModuleGetFunction:        {"cuModuleGetFunction", "", 2000},
	ModuleGetGlobal:          {"cuModuleGetGlobal", "cuModuleGetGlobal_v2", 3020},
	FuncGetAttribute:         {"cuFuncGetAttribute", "", 2020},
	FuncSetAttribute:         {"cuFuncSetAttribute", "", 9000},
	FuncGetParamInfo:         {"cuFuncGetParamInfo", "", 12040},
	LaunchKernel:             {"cuLaunchKernel", "", 4000},
	LaunchKernelEx:           {"cuLaunchKernelEx", "", 11060},
	OccupancyMaxActiveBlocksPerMultiprocessor: {"cuOccupancyMaxActiveBlocksPerMultiprocessor", "", 6050},
	OccupancyMaxPotentialBlockSize:            {"cuOccupancyMaxPotentialBlockSize", "", 6050},
	OccupancyMaxActiveClusters:                {"cuOccupancyMaxActiveClusters", "", 11070},
	GraphInstantiateWithFlags:                 {"cuGraphInstantiateWithFlags", "", 11040},
	GraphLaunch:                               {"cuGraphLaunch", "", 10000},
	GraphExecDestroy:                          {"cuGraphExecDestroy", "", 10000},
	GraphDestroy:                              {"cuGraphDestroy", "", 10000},

	// Memory: copies, the host, what an address is, advice.
	MemsetD2D32Async:        {"cuMemsetD2D32Async", "", 3020},
	MemHostRegister:         {"cuMemHostRegister", "cuMemHostRegister_v2", 6050},
	MemHostUnregister:       {"cuMemHostUnregister", "", 4000},
	MemHostGetDevicePointer: {"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2", 3020},
	PointerGetAttributes:    {"cuPointerGetAttributes", "", 7000},

	// Memory of other processes.

	// Virtual memory and multicast.

	// Graphs.

	// Streams and contexts.
	ThreadExchangeStreamCaptureMode: {"cuThreadExchangeStreamCaptureMode", "", 10010},
	StreamGetPriority:               {"cuStreamGetPriority", "", 5050},
	StreamGetFlags:                  {"cuStreamGetFlags", "", 5050},
	CtxGetStreamPriorityRange:       {"cuCtxGetStreamPriorityRange", "", 5050},
	DeviceGetUUIDv2:                 {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
}

// All returns the functions of the table.
func All() iter.Seq[Func] {
	return func(yield func(Func) bool) {
		for f := range Func(functions) {
			if !yield(f) {
				return
			}
		}
	}
}

// Symbol returns the name that a driver exports the function by.
func (f Func) Symbol() string { return cmp.Or(table[f].symbol, table[f].name) }

// String returns the name of the function without its version.
func (f Func) String() string { return table[f].name }

// Since returns the first CUDA version whose driver has the function, such as
// "11.6".
func (f Func) Since() string { return VersionText(table[f].since) }
