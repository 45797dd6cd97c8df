package cuda

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ErrUnavailable is what errors.Is finds in the error of a machine that has no
// working CUDA driver or no device.
var ErrUnavailable = errors.New("CUDA is not available")

// Code is a number of CUresult. It is an error, so that errors.Is finds it.
type Code int32

// The codes that programs most often look for.
const (
	ErrInvalidValue           Code = 1
	ErrOutOfMemory            Code = 2
	ErrNotInitialized         Code = 3
	ErrNoDevice               Code = 100
	ErrInvalidDevice          Code = 101
	ErrInvalidImage           Code = 200
	ErrInvalidContext         Code = 201
	ErrNoBinaryForGPU         Code = 209
	ErrInvalidPTX             Code = 218
	ErrUnsupportedPTX         Code = 222
	ErrInvalidHandle          Code = 400
	ErrNotFound               Code = 500
	ErrNotReady               Code = 600
	ErrIllegalAddress         Code = 700
	ErrLaunchOutOfResources   Code = 701
	ErrLaunchTimeout          Code = 702
	ErrAssert                 Code = 710
	ErrLaunchFailed           Code = 719
	ErrNotSupported           Code = 801
	ErrDriverMismatch         Code = 803
	ErrCooperativeTooLarge    Code = 720
	ErrCaptureUnsupported     Code = 900
	ErrCaptureInvalidated     Code = 901
	ErrGraphUpdate            Code = 910
	ErrUnknown                Code = 999
	errFunctionMissing        Code = Code(driver.Missing)
	errPeerAccessAlreadyGiven Code = 704
)

// Error says that c is a code of CUDA, by name where it is one of the constants.
func (c Code) Error() string {
	if name, ok := names[c]; ok {
		return name
	}
	return fmt.Sprintf("CUDA error %d", int32(c))
}

var names = map[Code]string{
	ErrInvalidValue: "CUDA_ERROR_INVALID_VALUE", ErrOutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY", ErrNotInitialized: "CUDA_ERROR_NOT_INITIALIZED",
	ErrNoDevice: "CUDA_ERROR_NO_DEVICE", ErrInvalidDevice: "CUDA_ERROR_INVALID_DEVICE", ErrInvalidImage: "CUDA_ERROR_INVALID_IMAGE",
	ErrInvalidContext: "CUDA_ERROR_INVALID_CONTEXT", ErrNoBinaryForGPU: "CUDA_ERROR_NO_BINARY_FOR_GPU", ErrInvalidPTX: "CUDA_ERROR_INVALID_PTX",
	ErrUnsupportedPTX: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", ErrInvalidHandle: "CUDA_ERROR_INVALID_HANDLE", ErrNotFound: "CUDA_ERROR_NOT_FOUND",
	ErrNotReady: "CUDA_ERROR_NOT_READY", ErrIllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS", ErrLaunchOutOfResources: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	ErrLaunchTimeout: "CUDA_ERROR_LAUNCH_TIMEOUT", ErrAssert: "CUDA_ERROR_ASSERT", ErrLaunchFailed: "CUDA_ERROR_LAUNCH_FAILED",
	ErrNotSupported: "CUDA_ERROR_NOT_SUPPORTED", ErrDriverMismatch: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	ErrCaptureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", ErrCaptureInvalidated: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
	ErrCooperativeTooLarge: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", ErrGraphUpdate: "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
	ErrUnknown: "CUDA_ERROR_UNKNOWN",
}

// remedies are what a user can do about a code.
var remedies = map[Code]string{
	ErrOutOfMemory:          "free memory of the device or ask for less",
	ErrNoDevice:             "this machine, container or CUDA_VISIBLE_DEVICES shows no GPU to the program",
	ErrNoBinaryForGPU:       "build the image for the compute capability of this device, or ship PTX",
	ErrUnsupportedPTX:       "the PTX is newer than the driver: update the driver, or build for an older PTX version",
	ErrDriverMismatch:       "the driver library and the kernel module differ: restart the machine or reinstall the driver",
	ErrNotInitialized:       "reinstall the NVIDIA driver",
	ErrIllegalAddress:       "a kernel used memory that is not its own; no call on this device succeeds until the process ends",
	ErrLaunchFailed:         "a kernel crashed; no call on this device succeeds until the process ends",
	ErrAssert:               "an assert in a kernel failed; no call on this device succeeds until the process ends",
	ErrLaunchTimeout:        "a kernel ran too long; no call on this device succeeds until the process ends",
	ErrNotFound:             "look at the names in the image",
	ErrLaunchOutOfResources: "the block is too large for the registers or the shared memory of the device: launch fewer threads, or see Kernel.Info",
	ErrNotSupported:         "this device or driver cannot do it: see Properties",
	ErrCooperativeTooLarge:  "all blocks of a cooperative launch must run at once: use no more than Kernel.MaxActiveBlocks for each multiprocessor",
	ErrGraphUpdate:          "the work must be of the same form: capture a new graph",
	ErrCaptureInvalidated:   "a call that cannot be captured was made on the stream",
}

// Error is a failure that the driver reported, or the lack of a driver.
type Error struct {
	// Number is the CUresult; 0 where no driver was found, -1 where the driver
	// lacks the function.
	Number int
	// Name is the name of the code, such as "CUDA_ERROR_OUT_OF_MEMORY".
	Name string
	// Text is the description of the code, or of the missing item.
	Text string
	// Call is the function of the driver that failed, such as "cuMemAlloc".
	Call string
	// Item says what the call was for.
	Item string
	// Log is what the compiler in the driver wrote about a module.
	Log string

	unavailable bool
}

// Error returns the code, the text, the call and what it was for, and a remedy
// where there is one.
func (e *Error) Error() string {
	var b strings.Builder
	if e.unavailable {
		b.WriteString("CUDA is not available: ")
	} else {
		b.WriteString("CUDA Error: ")
	}
	if e.Name != "" {
		fmt.Fprintf(&b, "%s (%d): ", e.Name, e.Number)
	}
	b.WriteString(e.Text)
	if e.Call != "" {
		b.WriteString(", in " + e.Call)
	}
	if e.Item != "" {
		b.WriteString(" for " + e.Item)
	}
	if remedy, ok := remedies[Code(e.Number)]; ok {
		b.WriteString("; " + remedy)
	}
	if e.Log != "" {
		b.WriteString("\n" + e.Log)
	}
	return b.String()
}

// Kind returns "RuntimeError", the kind that TVM-FFI has for errors of CUDA.
func (e *Error) Kind() string { return "RuntimeError" }

// Is reports whether target is the code of e, tvmffi.ErrRuntime, or
// [ErrUnavailable] if the driver is not available.
func (e *Error) Is(target error) bool {
	if c, ok := target.(Code); ok {
		return int(c) == e.Number && e.Number != 0
	}
	return target == tvmffi.ErrRuntime || target == ErrUnavailable && e.unavailable
}

// Sticky reports whether the context of the device is lost: every later call on
// it fails with the same code until the process ends.
func (e *Error) Sticky() bool {
	switch Code(e.Number) {
	case ErrIllegalAddress, ErrLaunchTimeout, ErrAssert, 714, 715, 716, 717, 718, ErrLaunchFailed:
		return true
	}
	return false
}

// failed makes the error of a function of the driver, nil if rc is 0.
func failed(rc int32, f driver.Func, item string) error {
	if rc == 0 {
		return nil
	}
	e := &Error{Number: int(rc), Call: f.String(), Item: item}
	if Code(rc) == errFunctionMissing {
		e.Text = fmt.Sprintf("the driver (CUDA %s) has no such function, which came with CUDA %s: update the NVIDIA driver",
			driver.VersionText(driver.Version()), f.Since())
		return e
	}
	if e.Name, e.Text = driver.ErrorText(rc); e.Name == "" {
		e.Name = names[Code(rc)]
	}
	if e.Text == "" {
		e.Text = "the driver does not describe this code"
	}
	return e
}

// about says what a failed call was for.
func about(err error, format string, args ...any) error {
	var e *Error
	if errors.As(err, &e) && e.Item == "" {
		e.Item = fmt.Sprintf(format, args...)
	}
	return err
}

func valueError(format string, args ...any) error {
	return tvmffi.NewError("ValueError", fmt.Sprintf(format, args...))
}

func typeError(format string, args ...any) error {
	return tvmffi.NewError("TypeError", fmt.Sprintf(format, args...))
}
