package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ErrUnavailable is what errors.Is finds in the error of a machine that has no
// working CUDA driver or no device.
var ErrUnavailable = errors.New("CUDA is not available")

// Code is a number of CUresult. It is an error, so that errors.Is finds it.
type Code int32

// The codes that programs look for, and those that errors describe.
const (
	ErrInvalidValue           Code = 1
	ErrOutOfMemory            Code = 2
	ErrNotInitialized         Code = 3
	ErrNoDevice               Code = 100
	ErrInvalidImage           Code = 200
	ErrInvalidContext         Code = 201
	ErrNoBinaryForGPU         Code = 209
	errECCUncorrectable       Code = 214
	ErrInvalidPTX             Code = 218
	errNVLinkUncorrectable    Code = 220
	ErrUnsupportedPTX         Code = 222
	errContained              Code = 226
	ErrInvalidHandle          Code = 400
	errIllegalState           Code = 401
	ErrNotFound               Code = 500
	ErrNotReady               Code = 600
	ErrIllegalAddress         Code = 700
	ErrLaunchOutOfResources   Code = 701
	ErrLaunchTimeout          Code = 702
	errContextDestroyed       Code = 709
	ErrAssert                 Code = 710
	ErrAlreadyPinned          Code = 712 // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
	errNotPinned              Code = 713 // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
	errHardwareStack          Code = 714
	errIllegalInstruction     Code = 715
	ErrMisalignedAddress      Code = 716
	errInvalidAddressSpace    Code = 717
	errInvalidPC              Code = 718
	ErrLaunchFailed           Code = 719
	ErrCooperativeTooLarge    Code = 720
	errTensorMemoryLeak       Code = 721
	ErrNotSupported           Code = 801
	errDriverMismatch         Code = 803
	ErrCaptureUnsupported     Code = 900
	ErrCaptureInvalidated     Code = 901
	errCaptureMerge           Code = 902
	errCaptureUnmatched       Code = 903
	ErrCaptureUnjoined        Code = 904
	ErrCaptureIsolation       Code = 905
	errCaptureImplicit        Code = 906
	ErrCapturedEvent          Code = 907
	ErrCaptureWrongThread     Code = 908
	errExternalDevice         Code = 911
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
	ErrNoDevice: "CUDA_ERROR_NO_DEVICE", ErrInvalidImage: "CUDA_ERROR_INVALID_IMAGE",
	ErrInvalidContext: "CUDA_ERROR_INVALID_CONTEXT", ErrNoBinaryForGPU: "CUDA_ERROR_NO_BINARY_FOR_GPU", ErrInvalidPTX: "CUDA_ERROR_INVALID_PTX",
	ErrUnsupportedPTX: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", ErrInvalidHandle: "CUDA_ERROR_INVALID_HANDLE", errIllegalState: "CUDA_ERROR_ILLEGAL_STATE", ErrNotFound: "CUDA_ERROR_NOT_FOUND",
	ErrNotReady: "CUDA_ERROR_NOT_READY", ErrIllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS", ErrLaunchOutOfResources: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	ErrLaunchTimeout: "CUDA_ERROR_LAUNCH_TIMEOUT", ErrAssert: "CUDA_ERROR_ASSERT", ErrLaunchFailed: "CUDA_ERROR_LAUNCH_FAILED",
	ErrNotSupported: "CUDA_ERROR_NOT_SUPPORTED", errDriverMismatch: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	ErrCaptureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", ErrCaptureInvalidated: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
	ErrCooperativeTooLarge: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
	ErrUnknown:             "CUDA_ERROR_UNKNOWN", errECCUncorrectable: "CUDA_ERROR_ECC_UNCORRECTABLE", errNVLinkUncorrectable: "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	errContained: "CUDA_ERROR_CONTAINED", errContextDestroyed: "CUDA_ERROR_CONTEXT_IS_DESTROYED", errHardwareStack: "CUDA_ERROR_HARDWARE_STACK_ERROR",
	errIllegalInstruction: "CUDA_ERROR_ILLEGAL_INSTRUCTION", ErrMisalignedAddress: "CUDA_ERROR_MISALIGNED_ADDRESS",
	errInvalidAddressSpace: "CUDA_ERROR_INVALID_ADDRESS_SPACE", errInvalidPC: "CUDA_ERROR_INVALID_PC", errTensorMemoryLeak: "CUDA_ERROR_TENSOR_MEMORY_LEAK",
	ErrAlreadyPinned: "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", errNotPinned: "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	errCaptureMerge: "CUDA_ERROR_STREAM_CAPTURE_MERGE", errCaptureUnmatched: "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", ErrCaptureUnjoined: "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
	ErrCaptureIsolation: "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", errCaptureImplicit: "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", ErrCapturedEvent: "CUDA_ERROR_CAPTURED_EVENT",
	ErrCaptureWrongThread: "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", errExternalDevice: "CUDA_ERROR_EXTERNAL_DEVICE",
}

// remedies are what a user can do about a code.
var remedies = map[Code]string{
	ErrOutOfMemory:          "free memory of the device or ask for less",
	ErrNoDevice:             "this machine, container or CUDA_VISIBLE_DEVICES shows no GPU to the program",
	ErrNoBinaryForGPU:       "build the image for the compute capability of this device, or ship PTX",
	ErrUnsupportedPTX:       "the PTX is newer than the driver: update the driver, or build for an older PTX version",
	errDriverMismatch:       "the driver library and the kernel module differ: restart the machine or reinstall the driver",
	ErrNotInitialized:       "reinstall the NVIDIA driver",
	ErrIllegalAddress:       "a kernel used memory that is not its own",
	ErrLaunchFailed:         "a kernel crashed",
	ErrAlreadyPinned:        "a page of the memory is pinned already: free what has pinned it, or use that",
	ErrAssert:               "an assert in a kernel failed",
	ErrLaunchTimeout:        "a kernel ran too long",
	errECCUncorrectable:     "the memory of the device is damaged: look at nvidia-smi -q -d ECC, and reset or replace the device",
	errNVLinkUncorrectable:  "a link between devices failed: look at nvidia-smi nvlink -e",
	errContained:            "a kernel used memory of a peer that is not its own, or the hardware failed",
	errHardwareStack:        "the stack of a kernel is corrupt or too small",
	errIllegalInstruction:   "a kernel has an instruction that this device does not know",
	ErrMisalignedAddress:    "a kernel used an address that is not a multiple of the size of the element: look at offsets of views",
	errInvalidAddressSpace:  "a kernel used an address of another kind of memory than the instruction takes",
	errInvalidPC:            "a kernel jumped to an address without code",
	errTensorMemoryLeak:     "a kernel ended before it freed its tensor memory",
	ErrInvalidHandle:        "a stream or an event cannot be used there: it is of another device or context, was destroyed, or was never recorded",
	ErrNotFound:             "look at the names in the image",
	ErrLaunchOutOfResources: "the block is too large for the registers or the shared memory of the device: launch fewer threads, or see Kernel.Info",
	ErrNotSupported:         "this device or driver cannot do it: see Properties",
	ErrCooperativeTooLarge:  "all blocks of a cooperative launch must run at once: use no more than Kernel.MaxActiveBlocks for each multiprocessor",
	errIllegalState:         "a stream that is captured cannot be captured again: end the first capture before",
	ErrCaptureInvalidated:   "a call that cannot be captured was made on the stream",
	ErrCaptureUnsupported:   "a stream is captured that the call would wait for: make the call before or after the capture",
	errCaptureMerge:         "the work would join two captures: wait only for events of one",
	errCaptureUnmatched:     "the capture began on another stream: end it there",
	ErrCaptureUnjoined:      "a stream that joined the capture was not joined back: let the captured stream wait for an event of it",
	ErrCaptureIsolation:     "captured work cannot wait for an event from before the capture: wait for it before Capture",
	errCaptureImplicit:      "the default stream waits for a stream that is captured: capture a stream that was not made with Blocking, or use another stream here",
	ErrCapturedEvent:        "the event was last recorded in a capture, whose work does not run: record it again outside",
	ErrCaptureWrongThread:   "Capture must stay on its thread",
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
	} else if e.Number > 0 {
		fmt.Fprintf(&b, "%d: ", e.Number)
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
	if e.Sticky() {
		b.WriteString("; no call on this device succeeds until the process ends")
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

// Sticky reports whether the context of the device is lost: every later call on it fails until
// the process ends. These are the codes that NVIDIA documents as such, those of damaged hardware,
// and 725 and 726, which have no name yet.
func (e *Error) Sticky() bool {
	switch Code(e.Number) {
	case errECCUncorrectable, errNVLinkUncorrectable, errContained, ErrIllegalAddress, ErrLaunchTimeout, errContextDestroyed, ErrAssert, errHardwareStack,
		errIllegalInstruction, ErrMisalignedAddress, errInvalidAddressSpace, errInvalidPC, ErrLaunchFailed, errTensorMemoryLeak, 725, 726, errExternalDevice:
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

// thing is a type of this package that has no use as nil or as a zero value: its name, the words
// for it, and what makes one.
type thing struct{ name, words, makers string }

var (
	aStream = &thing{"Stream", "stream", "Device.NewStream or Device.DefaultStream"}
	anEvent = &thing{"Event", "event", "Device.NewEvent"}
	aMemory = &thing{"Memory", "memory", "Device.Alloc or AllocOf"}
	aHost   = &thing{"Host", "pinned host memory", "AllocHost"}
	aPool   = &thing{"Pool", "memory pool", "Device.NewPool or Device.DefaultPool"}
	anImage = &thing{"Image", "image", "NewImage or ImageFS"}
	aModule = &thing{"Module", "module", "Device.LoadModule"}
	aKernel = &thing{"Kernel", "kernel", "Module.Kernel or Image.Kernel"}
	aGraph  = &thing{"Graph", "graph", "Stream.Capture"}
)

// none is the error about nil.
func (t *thing) none() error {
	return valueError("the %s is nil: make one with %s", t.words, t.makers)
}

// zero is the error about a zero value.
func (t *thing) zero() error {
	in := ""
	if call := called(); call != "" {
		in = ", in the call of " + call
	}
	return valueError("a zero %s stands for nothing%s: make one with %s", t.name, in, t.makers)
}

// called names the function or method of this package that the program has called, such as
// "Kernel.Launch". It is "" where generated code has.
func called() (name string) {
	const self = "github.com/tvmffi-go/tvmffi/cuda."
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		function, ours := strings.CutPrefix(f.Function, self)
		if !ours {
			break
		}
		// Such as (*Kernel).Launch, Device.Alloc, CopyIn[...], (*Host[...]).Part.
		function = strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(function)
		of, last, method := strings.Cut(function, ".")
		if !method {
			last = of
		}
		if upper(of) && upper(last) && !strings.Contains(last, ".") { // not a func inside a method
			name = function
		}
	}
	return name
}

func upper(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }

func typeError(format string, args ...any) error {
	return tvmffi.NewError("TypeError", fmt.Sprintf(format, args...))
}

// idle reports whether no work runs after a call that waits or ends something and that has returned
// err: either it has succeeded, or the device is lost. An error of this package comes before the call.
func idle(err error) bool {
	e, ok := err.(*Error)
	return err == nil || ok && e.Sticky()
}

// also adds an error to another one; both may be nil.
func also(err *error, more error) {
	if more != nil {
		*err = errors.Join(*err, more)
	}
}

// in puts what an error of arguments is about before it.
func in(what string, err error) error {
	if e, ok := err.(*tvmffi.Error); ok {
		return tvmffi.NewError(e.Kind, what+": "+e.Message)
	}
	return err
}
