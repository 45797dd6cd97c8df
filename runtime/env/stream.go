package env

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// WithStream runs f with stream as the current stream of device. Native code asks for that
// stream when it launches work. The current stream belongs to an OS thread: f runs on one
// thread, and goroutines that it starts do not use the stream. When f has ended, also by a
// panic, WithStream sets the previous stream again. Address 0 is the default stream.
// WithStream returns the error of f.
func WithStream(device tvmffi.Device, stream tvmffi.Pointer, f func() error) error {
	if err := streamDevice(device); err != nil {
		return err
	}
	if err := tvmffi.Load(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old, err := environment.SetStream(abi.DLDevice(device), stream.Address)
	if err != nil {
		return err
	}
	// Setting the previous stream cannot fail: the table already has the entry.
	defer environment.SetStream(abi.DLDevice(device), old)
	return f()
}

// CurrentStream returns the current stream of device on this thread: the stream of
// [WithStream], or in a callback the stream of the caller. Address 0 is the default stream.
func CurrentStream(device tvmffi.Device) (tvmffi.Pointer, error) {
	if err := streamDevice(device); err != nil {
		return tvmffi.Pointer{}, err
	}
	if err := tvmffi.Load(); err != nil {
		return tvmffi.Pointer{}, err
	}
	return tvmffi.Pointer{Address: environment.Stream(abi.DLDevice(device))}, nil
}

// streamDevice refuses devices for which the library would index a table out of range, or
// grow it without bound.
func streamDevice(d tvmffi.Device) error {
	const most = 1 << 12
	if d.Type < 1 || d.Type >= most || d.ID < 0 || d.ID >= most {
		return failure.Errorf(failure.KindValue, "stream: %s is not a device: expected a type from 1 and an ID from 0, both below %d", d, most)
	}
	return nil
}
