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
	Memcpy2DAsync
	Memcpy3DAsync
	Memcpy3DPeerAsync
	MemsetD2D8Async
	MemsetD2D16Async
	MemsetD2D32Async
	MemHostRegister
	MemHostUnregister
	MemHostGetDevicePointer
	PointerGetAttributes
	MemGetAddressRange
	MemPrefetchAsync
	MemAdvise
	MemRangeGetAttribute

	// Memory of other processes.
	IpcGetMemHandle
	IpcOpenMemHandle
	IpcCloseMemHandle
	IpcGetEventHandle
	IpcOpenEventHandle
	MemPoolExportToShareableHandle
	MemPoolImportFromShareableHandle
	MemPoolExportPointer
	MemPoolImportPointer

	// Virtual memory and multicast.
	MemAddressReserve
	MemAddressFree
	MemCreate
	MemRelease
	MemMap
	MemUnmap
	MemSetAccess
	MemGetAllocationGranularity
	MemExportToShareableHandle
	MemImportFromShareableHandle
	MulticastCreate
	MulticastAddDevice
	MulticastBindMem
	MulticastUnbind
	MulticastGetGranularity

	// Graphs.

	// Streams and contexts.
	ThreadExchangeStreamCaptureMode
	StreamGetPriority
	StreamGetFlags
	StreamSetAttribute
	StreamGetAttribute
	StreamWaitValue32
	StreamWaitValue64
	StreamWriteValue32
	StreamWriteValue64
	CtxGetStreamPriorityRange
	CtxGetLimit
	CtxSetLimit
	CtxResetPersistingL2Cache
	DevicePrimaryCtxSetFlags
	DevicePrimaryCtxGetState
	DeviceGetUUIDv2
	ProfilerStart
	ProfilerStop
	DeviceGetDevResource
	DevSmResourceSplitByCount
	DevResourceGenerateDesc
	GreenCtxCreate
	GreenCtxDestroy
	GreenCtxStreamCreate

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
	Memcpy2DAsync:           {"cuMemcpy2DAsync", "cuMemcpy2DAsync_v2", 3020},
	Memcpy3DAsync:           {"cuMemcpy3DAsync", "cuMemcpy3DAsync_v2", 3020},
	Memcpy3DPeerAsync:       {"cuMemcpy3DPeerAsync", "", 4000},
	MemsetD2D8Async:         {"cuMemsetD2D8Async", "", 3020},
	MemsetD2D16Async:        {"cuMemsetD2D16Async", "", 3020},
	MemsetD2D32Async:        {"cuMemsetD2D32Async", "", 3020},
	MemHostRegister:         {"cuMemHostRegister", "cuMemHostRegister_v2", 6050},
	MemHostUnregister:       {"cuMemHostUnregister", "", 4000},
	MemHostGetDevicePointer: {"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2", 3020},
	PointerGetAttributes:    {"cuPointerGetAttributes", "", 7000},
	MemGetAddressRange:      {"cuMemGetAddressRange", "cuMemGetAddressRange_v2", 3020},
	MemPrefetchAsync:        {"cuMemPrefetchAsync", "", 8000},
	MemAdvise:               {"cuMemAdvise", "", 8000},
	MemRangeGetAttribute:    {"cuMemRangeGetAttribute", "", 8000},

	// Memory of other processes.
	IpcGetMemHandle:                  {"cuIpcGetMemHandle", "", 4010},
	IpcOpenMemHandle:                 {"cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2", 11000},
	IpcCloseMemHandle:                {"cuIpcCloseMemHandle", "", 4010},
	IpcGetEventHandle:                {"cuIpcGetEventHandle", "", 4010},
	IpcOpenEventHandle:               {"cuIpcOpenEventHandle", "", 4010},
	MemPoolExportToShareableHandle:   {"cuMemPoolExportToShareableHandle", "", 11020},
	MemPoolImportFromShareableHandle: {"cuMemPoolImportFromShareableHandle", "", 11020},
	MemPoolExportPointer:             {"cuMemPoolExportPointer", "", 11020},
	MemPoolImportPointer:             {"cuMemPoolImportPointer", "", 11020},

	// Virtual memory and multicast.
	MemAddressReserve:            {"cuMemAddressReserve", "", 10020},
	MemAddressFree:               {"cuMemAddressFree", "", 10020},
	MemCreate:                    {"cuMemCreate", "", 10020},
	MemRelease:                   {"cuMemRelease", "", 10020},
	MemMap:                       {"cuMemMap", "", 10020},
	MemUnmap:                     {"cuMemUnmap", "", 10020},
	MemSetAccess:                 {"cuMemSetAccess", "", 10020},
	MemGetAllocationGranularity:  {"cuMemGetAllocationGranularity", "", 10020},
	MemExportToShareableHandle:   {"cuMemExportToShareableHandle", "", 10020},
	MemImportFromShareableHandle: {"cuMemImportFromShareableHandle", "", 10020},
	MulticastCreate:              {"cuMulticastCreate", "", 12010},
	MulticastAddDevice:           {"cuMulticastAddDevice", "", 12010},
	MulticastBindMem:             {"cuMulticastBindMem", "", 12010},
	MulticastUnbind:              {"cuMulticastUnbind", "", 12010},
	MulticastGetGranularity:      {"cuMulticastGetGranularity", "", 12010},

	// Graphs.

	// Streams and contexts.
	ThreadExchangeStreamCaptureMode: {"cuThreadExchangeStreamCaptureMode", "", 10010},
	StreamGetPriority:               {"cuStreamGetPriority", "", 5050},
	StreamGetFlags:                  {"cuStreamGetFlags", "", 5050},
	StreamSetAttribute:              {"cuStreamSetAttribute", "", 11000},
	StreamGetAttribute:              {"cuStreamGetAttribute", "", 11000},
	StreamWaitValue32:               {"cuStreamWaitValue32", "cuStreamWaitValue32_v2", 11070},
	StreamWaitValue64:               {"cuStreamWaitValue64", "cuStreamWaitValue64_v2", 11070},
	StreamWriteValue32:              {"cuStreamWriteValue32", "cuStreamWriteValue32_v2", 11070},
	StreamWriteValue64:              {"cuStreamWriteValue64", "cuStreamWriteValue64_v2", 11070},
	CtxGetStreamPriorityRange:       {"cuCtxGetStreamPriorityRange", "", 5050},
	CtxGetLimit:                     {"cuCtxGetLimit", "", 3010},
	CtxSetLimit:                     {"cuCtxSetLimit", "", 3010},
	CtxResetPersistingL2Cache:       {"cuCtxResetPersistingL2Cache", "", 11000},
	DevicePrimaryCtxSetFlags:        {"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", 11000},
	DevicePrimaryCtxGetState:        {"cuDevicePrimaryCtxGetState", "", 7000},
	DeviceGetUUIDv2:                 {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
	ProfilerStart:                   {"cuProfilerStart", "", 4000},
	ProfilerStop:                    {"cuProfilerStop", "", 4000},
	DeviceGetDevResource:            {"cuDeviceGetDevResource", "", 12040},
	DevSmResourceSplitByCount:       {"cuDevSmResourceSplitByCount", "", 12040},
	DevResourceGenerateDesc:         {"cuDevResourceGenerateDesc", "", 12040},
	GreenCtxCreate:                  {"cuGreenCtxCreate", "", 12040},
	GreenCtxDestroy:                 {"cuGreenCtxDestroy", "", 12040},
	GreenCtxStreamCreate:            {"cuGreenCtxStreamCreate", "", 12050},
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
