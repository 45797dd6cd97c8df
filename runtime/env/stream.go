package env

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// WithStream runs f with stream as the current stream of a device, which native
// code asks for when it launches work. The current stream belongs to an OS
// thread: f runs on one thread, and goroutines that it starts do not see the
// stream. The stream before is current again when f has ended, also by a panic.
// A stream of address 0 is the default one.
func WithStream(device tvmffi.Device, stream tvmffi.Pointer, f func() error) error {
	if err := streamDevice(device); err != nil {
		return err
	}
	if err := tvmffi.Load(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old, err := core.SetStream(abi.DLDevice(device), stream.Address)
	if err != nil {
		return err
	}
	// Setting what was set before cannot fail: the table has the room already.
	defer core.SetStream(abi.DLDevice(device), old)
	return f()
}

// CurrentStream returns the current stream of a device: that of [WithStream], or
// in a callback that of the caller; address 0 stands for the default one.
func CurrentStream(device tvmffi.Device) (tvmffi.Pointer, error) {
	if err := streamDevice(device); err != nil {
		return tvmffi.Pointer{}, err
	}
	if err := tvmffi.Load(); err != nil {
		return tvmffi.Pointer{}, err
	}
	return tvmffi.Pointer{Address: core.Stream(abi.DLDevice(device))}, nil
}

// streamDevice refuses what would make the library index a table out of range or
// grow it without bound.
func streamDevice(d tvmffi.Device) error {
	const most = 1 << 12
	if d.Type < 1 || d.Type >= most || d.ID < 0 || d.ID >= most {
		return failure.Errorf(failure.KindValue, "stream: %s is no device", d)
	}
	return nil
}
