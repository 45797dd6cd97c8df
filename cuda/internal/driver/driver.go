// Package driver finds the CUDA driver and calls it through a table of functions.
// No header and no toolkit is needed: each function is asked for with the CUDA
// version of the signature that this package knows.
package driver

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"

	"github.com/ebitengine/purego"
)

// Variable is the environment variable that names the file of the driver.
const Variable = "TVMFFI_CUDA_LIBRARY"

// NotFoundError says that the driver library is missing, or is not a driver.
type NotFoundError struct{ text string }

// Error names the file that is missing or is not a driver, and the remedy.
func (e *NotFoundError) Error() string { return e.text }

// FailedError is a function that failed while the driver started.
type FailedError struct {
	Func Func
	Code int32
}

// Error names the function and the code that it returned.
func (e *FailedError) Error() string { return fmt.Sprintf("%s failed with %d", e.Func, e.Code) }

// addresses are the functions of the loaded driver, 0 where it lacks one; they
// are written once, before Load returns.
var (
	addresses [functions]uintptr
	version   int
	path      string
)

// Load finds the driver and calls cuInit, on the first call; later calls return
// the same. It may be called from any goroutine. Everything else in this package
// is to be used after Load has succeeded.
var Load = sync.OnceValue(load)

// Version returns the CUDA version that the driver supports, such as 12040.
func Version() int { return version }

// Path returns the file of the driver, or the name that it was loaded by.
func Path() string { return path }

// VersionText writes a version the way CUDA writes it: 12040 is "12.4".
func VersionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

func candidates() []string {
	if explicit := os.Getenv(Variable); explicit != "" {
		return []string{explicit}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"nvcuda.dll"}
	case "linux":
		// The second one is where WSL keeps the driver of Windows.
		return []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1"}
	}
	return nil
}

func load() error {
	names := candidates()
	if len(names) == 0 {
		return &NotFoundError{"there is no CUDA driver for " + runtime.GOOS + ": run the program on Linux or Windows with an NVIDIA GPU"}
	}
	var tried []string
	for _, name := range names {
		h, err := dynlib.Open(name)
		if err != nil {
			tried = append(tried, err.Error())
			continue
		}
		return start(h, name)
	}
	remedy := "install the NVIDIA driver (the CUDA toolkit is not needed; in a container, start it with --gpus all), or set " + Variable + " to the file of the driver"
	if os.Getenv(Variable) != "" {
		remedy = "correct or unset " + Variable
		if !strings.ContainsAny(os.Getenv(Variable), `/\`) {
			remedy += ": a name without a folder is looked for where the dynamic linker looks, write ./ before a file of the current folder"
		}
	}
	return &NotFoundError{"the CUDA driver library was not found; tried:\n  " + strings.Join(tried, "\n  ") + "\n" + remedy}
}

func start(h dynlib.Handle, name string) error {
	resolve(h, 0)
	if addresses[Init] == 0 || addresses[DriverGetVersion] == 0 {
		return &NotFoundError{"the library " + name + " is not a CUDA driver: it has no symbol cuInit; correct or unset " + Variable}
	}
	if path = dynlib.File(addresses[Init]); path == "" {
		path = name
	}
	if rc := Call(Init, 0); rc != 0 {
		return &FailedError{Init, rc}
	}
	v := new(int32)
	if rc := Call(DriverGetVersion, uintptr(unsafe.Pointer(v))); rc != 0 {
		return &FailedError{DriverGetVersion, rc}
	}
	version = int(*v)
	// The names with versions are what all drivers export; cuGetProcAddress knows
	// which of several functions has the signature of a CUDA version.
	resolve(h, version)
	return nil
}

// resolve fills the table: by cuGetProcAddress for a driver of the given CUDA
// version, by name with version 0.
func resolve(h dynlib.Handle, version int) {
	ask := func(entry) uintptr { return 0 }
	if version >= 11030 {
		if f, err := h.Symbol("cuGetProcAddress_v2"); err == nil && version >= 12000 {
			ask = func(e entry) uintptr { return procAddress(f, e) }
		} else if f, err := h.Symbol("cuGetProcAddress"); err == nil {
			ask = func(e entry) uintptr { return procAddress(f, e) }
		}
	}
	for i, e := range table {
		if address := ask(e); address != 0 {
			addresses[i] = address
			continue
		}
		if address, err := h.Symbol(Func(i).Symbol()); err == nil {
			addresses[i] = address
		}
		if version != 0 && e.since > version {
			addresses[i] = 0 // a symbol of an older signature, or of no use before that version
		}
	}
}

// procAddress calls cuGetProcAddress or cuGetProcAddress_v2, which takes one
// more pointer that may be null.
func procAddress(f uintptr, e entry) uintptr {
	name := append([]byte(e.name), 0)
	out := new(uintptr)
	rc, _, _ := purego.SyscallN(f, uintptr(unsafe.Pointer(unsafe.SliceData(name))), uintptr(unsafe.Pointer(out)), uintptr(e.since), 0, 0)
	if int32(rc) != 0 {
		return 0
	}
	return *out
}

// Missing is the result of Call for a function that the driver lacks. It is
// not a code of CUDA.
const Missing int32 = -1

// Has reports whether the driver has the function.
func Has(f Func) bool { return addresses[f] != 0 }

// Remove takes a function away until the result is called, as a driver that is too old for it does. It is for
// tests; no other goroutine may use the driver meanwhile.
func Remove(f Func) (restore func()) {
	before := addresses[f]
	addresses[f] = 0
	return func() { addresses[f] = before }
}

// Address returns the address of a function, 0 if the driver lacks it.
func Address(f Func) uintptr { return addresses[f] }

// Call calls a function and returns its CUresult. Memory that a pointer in the argument
// list refers to is kept alive, on the heap, until the call is over.
//
//go:uintptrescapes
func Call(f Func, args ...uintptr) int32 {
	if addresses[f] == 0 {
		return Missing
	}
	ccall.Collect()
	rc, _, _ := purego.SyscallN(addresses[f], args...)
	return int32(rc)
}

// CallWith is Call with the arguments in w, without an allocation and at a fourth of the price.
// The caller keeps w and the memory alive that the arguments point to; none of it is on a stack.
func CallWith(f Func, w *ccall.Within) int32 {
	if addresses[f] == 0 {
		return Missing
	}
	w.Fn = addresses[f]
	ccall.CallWithin(w)
	return int32(w.RC)
}

// ErrorText returns the name and the description of a CUresult, "" where the
// driver does not know them.
func ErrorText(code int32) (name, text string) {
	get := func(f Func) string {
		out := new(uintptr)
		if Call(f, uintptr(code), uintptr(unsafe.Pointer(out))) != 0 {
			return ""
		}
		return Text(*out)
	}
	return get(GetErrorName), get(GetErrorString)
}

// Text copies a C string.
func Text(address uintptr) string {
	if address == 0 {
		return ""
	}
	start := Pointer(address)
	n := 0
	for *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(start), n))
}

// Pointer makes a pointer of an address in C memory.
func Pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
