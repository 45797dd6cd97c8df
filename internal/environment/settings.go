package environment

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"

	"github.com/ebitengine/purego"
)

// Settings are what the library keeps for an OS thread: the current streams of devices, and
// the allocator of tensors. A func that runs on another thread than its caller needs them
// there too. A thread on which nobody set anything has the zero Settings.
type Settings struct {
	streams   []currentStream
	allocator uintptr
	own       any // what SetOwnAllocator has set, nil for nothing
}

// ownAllocators has the allocators in Go by thread. The library has one C function for all of them.
var ownAllocators struct {
	sync.RWMutex
	threads map[int]any
}

// OwnAllocator returns the allocator in Go of the calling thread, nil if there is none.
func OwnAllocator() any {
	ownAllocators.RLock()
	defer ownAllocators.RUnlock()
	return ownAllocators.threads[capi.ThreadID()]
}

// SetOwnAllocator sets the allocator in Go of the calling thread, nil for none, and returns the one from before. The
// goroutine must be pinned.
func SetOwnAllocator(a any) (old any) {
	thread := capi.ThreadID()
	ownAllocators.Lock()
	defer ownAllocators.Unlock()
	old = ownAllocators.threads[thread]
	if a == nil {
		delete(ownAllocators.threads, thread)
		return old
	}
	if ownAllocators.threads == nil {
		ownAllocators.threads = map[int]any{}
	}
	ownAllocators.threads[thread] = a
	return old
}

// currentStream mirrors struct stream in the C file of a shared library.
type currentStream struct {
	device abi.DLDevice
	stream uintptr
}

// Settings have the streams of the devices of streamTypes below maxStreamDevice. The C file of
// a shared library repeats both.
const maxStreamDevice = 16

var streamTypes = [...]int32{2, 10, 14, 12} // CUDA, ROCm, oneAPI, extension

// streamBuffer has room for all streams. It is on the heap, so C may write to it.
type streamBuffer [len(streamTypes) * maxStreamDevice]currentStream

var streamBuffers = sync.Pool{New: func() any { return new(streamBuffer) }}

// StreamFinder is the address of the C function int32_t (*)(get, struct stream* found), which
// asks get, TVMFFIEnvGetStream, for all streams and returns the number of those that are not
// null. It is 0 in a program without the C file; the same then takes a call for each device.
var StreamFinder uintptr

// SettingsHere returns the settings of the calling thread. The goroutine must be pinned, as
// it is in a callback.
func SettingsHere() Settings {
	s := Settings{allocator: Allocator()}
	if s.allocator != 0 {
		s.own = OwnAllocator()
	}
	found := streamBuffers.Get().(*streamBuffer)
	n := 0
	if StreamFinder != 0 {
		count, _, _ := purego.SyscallN(StreamFinder, capi.API.EnvGetStream, uintptr(unsafe.Pointer(found)))
		n = int(int32(count))
	} else {
		for _, t := range streamTypes {
			for id := range int32(maxStreamDevice) {
				d := abi.DLDevice{Type: t, ID: id}
				if stream := Stream(d); stream != 0 {
					found[n] = currentStream{d, stream}
					n++
				}
			}
		}
	}
	if n > 0 {
		s.streams = append(s.streams, found[:n]...)
	}
	streamBuffers.Put(found)
	return s
}

// Apply calls f on a thread that has the settings. Afterwards the thread has its own again.
func (s Settings) Apply(f func() error) error {
	if len(s.streams) == 0 && s.allocator == 0 {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, c := range s.streams {
		old, err := SetStream(c.device, c.stream)
		if err != nil {
			return err
		}
		// Setting the previous stream cannot fail: the table already has the entry.
		defer SetStream(c.device, old)
	}
	if s.allocator != Allocator() { // the same one if it is the process's allocator
		old, err := SetAllocator(s.allocator, false)
		if err != nil {
			return err
		}
		defer SetAllocator(old, false)
	}
	if s.own != nil {
		old := SetOwnAllocator(s.own)
		defer func() { SetOwnAllocator(old) }()
	}
	return f()
}
