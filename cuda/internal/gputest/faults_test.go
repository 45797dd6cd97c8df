package gputest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// faults are what TestFaults makes, each in a process of its own: most of them leave the device useless.
var faults = map[string]func() error{
	"illegal address":                       illegalAddress,
	"illegal address, seen by an event":     illegalEvent,
	"misaligned address":                    misalignedAddress,
	"out of memory":                         outOfMemory,
	"out of memory, in the order of stream": outOfPool,
}

// TestFaults makes faults, and checks the errors after them and whether the device can still be used.
func TestFaults(t *testing.T) {
	prepare(t)
	for name := range faults {
		t.Run(name, func(t *testing.T) { child(t, name) })
	}
}

// crash launches a kernel that does what a device does not forgive, and checks what waiting for it says, and all later
// calls.
func crash(name string, want cuda.Code, wait func(*cuda.Stream) error, args ...any) error {
	m, err := load(0)
	if err != nil {
		return err
	}
	k, err := m.Kernel(name)
	if err != nil {
		return err
	}
	stream, err := cuda.Device(0).NewStream()
	if err != nil {
		return err
	}
	if err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: stream}, args...); err != nil {
		return err
	}
	if err := sticky(wait(stream), want, "waiting for the kernel"); err != nil {
		return err
	}
	// Now nothing works any more, on any stream.
	for what, f := range map[string]func() error{
		"Synchronize": cuda.Device(0).Synchronize,
		"Alloc":       func() error { _, err := cuda.Device(0).Alloc(1); return err },
		"NewStream":   func() error { _, err := cuda.Device(0).NewStream(cuda.Blocking()); return err },
	} {
		if err := sticky(f(), want, what+" after the crash"); err != nil {
			return err
		}
	}
	return nil
}

// sticky checks an error after which the device is lost.
func sticky(err error, want cuda.Code, what string) error {
	var e *cuda.Error
	if !errors.As(err, &e) || !errors.Is(err, want) || !e.Sticky() {
		return fmt.Errorf("%s: %v, want a sticky %v", what, err, want)
	}
	return nil
}

func illegalAddress() error {
	return crash("crash", cuda.ErrIllegalAddress, (*cuda.Stream).Synchronize)
}

func misalignedAddress() error {
	x, err := cuda.AllocOf(0, ramp(16))
	if err != nil {
		return err
	}
	return crash("misaligned", cuda.ErrMisalignedAddress, (*cuda.Stream).Synchronize, x)
}

func illegalEvent() error {
	event, err := cuda.Device(0).NewEvent()
	if err != nil {
		return err
	}
	return crash("crash", cuda.ErrIllegalAddress, func(s *cuda.Stream) error {
		if err := event.Record(s); err != nil {
			return err
		}
		return event.Synchronize()
	})
}

// recovers checks that an error is that of too little memory, and that the device works after it.
func recovers(err error) error {
	var e *cuda.Error
	if !errors.As(err, &e) || !errors.Is(err, cuda.ErrOutOfMemory) || e.Sticky() {
		return fmt.Errorf("%v, want %v, which is not sticky", err, cuda.ErrOutOfMemory)
	}
	m, err := cuda.AllocOf(0, ramp(1000))
	if err != nil {
		return fmt.Errorf("after it: %w", err)
	}
	got := make([]float32, 1000)
	if err := cuda.CopyOut(got, m); err != nil || got[999] != 999 {
		return fmt.Errorf("after it: %v, %w", got[999], err)
	}
	return m.Free()
}

func outOfMemory() error {
	_, total, err := cuda.Device(0).MemoryInfo()
	if err != nil {
		return err
	}
	_, err = cuda.Device(0).Alloc(total + 1)
	return recovers(err)
}

func outOfPool() error {
	_, total, err := cuda.Device(0).MemoryInfo()
	if err != nil {
		return err
	}
	stream, err := cuda.Device(0).NewStream()
	if err != nil {
		return err
	}
	_, err = cuda.Device(0).AllocAsync(2*total, stream)
	return errors.Join(recovers(err), stream.Close())
}
