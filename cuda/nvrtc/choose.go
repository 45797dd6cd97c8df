package nvrtc

import (
	"fmt"
	"slices"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// target is what to compile for.
type target struct {
	arch cuda.Arch // zero where the device decides
	kind cuda.ImageKind
}

// option is the value of --gpu-architecture.
func (t target) option() string {
	if t.kind == cuda.ImagePTX {
		return "compute_" + t.arch.String()[len("sm_"):]
	}
	return t.arch.String()
}

// knows reports whether the library compiles for an architecture.
func (l *library) knows(a cuda.Arch) bool {
	return slices.Contains(l.archs, cuda.Arch{Major: a.Major, Minor: a.Minor})
}

// loads reports whether a driver loads what the library makes of that kind.
func (l *library) loads(kind cuda.ImageKind, driver toolkit.Version) bool {
	if kind == cuda.ImagePTX {
		return l.version.PTX(driver)
	}
	return l.version.Cubin(driver)
}

// forAny chooses for a target without a device: the newest library that knows the architecture
// and whose work the driver of this machine loads, if there is a driver. Otherwise
// it is the newest that knows the architecture: the image may be for another machine.
func forAny(libs []*library, t target) *library {
	if len(libs) == 1 {
		return libs[0]
	}
	driver, err := cuda.DriverVersion()
	v := toolkit.VersionOf(driver)
	for _, l := range libs {
		if err == nil && l.knows(t.arch) && l.loads(t.kind, v) {
			return l
		}
	}
	for _, l := range libs {
		if l.knows(t.arch) {
			return l
		}
	}
	return libs[0]
}

// forDevice chooses for a device: the newest library whose work the driver loads, and, where
// t does not say it, the architecture. That is the one of the device as a cubin, or, where no
// library knows it, the newest before it, as PTX.
func forDevice(libs []*library, t target, device cuda.Arch, driver toolkit.Version) (*library, target) {
	if t.arch != (cuda.Arch{}) {
		for _, l := range libs {
			if l.loads(t.kind, driver) && l.knows(t.arch) {
				return l, t
			}
		}
		return nil, t
	}
	t.arch = device
	for _, l := range libs {
		if l.loads(t.kind, driver) && l.knows(device) {
			return l, t
		}
	}
	t.kind = cuda.ImagePTX
	for _, l := range libs {
		if older, ok := newestBefore(l.archs, device); ok && l.loads(t.kind, driver) {
			t.arch = older
			return l, t
		}
	}
	return nil, target{device, cuda.ImageCubin}
}

// newestBefore returns the newest architecture that is older than the device.
func newestBefore(known []cuda.Arch, device cuda.Arch) (best cuda.Arch, ok bool) {
	number := func(a cuda.Arch) int { return 10*a.Major + a.Minor }
	for _, a := range known {
		if number(a) < number(device) && (!ok || number(a) > number(best)) {
			best, ok = a, true
		}
	}
	return best, ok
}

// unsuited is the error where no library suits the driver.
func unsuited(name string, libs []*library, t target, d cuda.Device, driver toolkit.Version) error {
	var have string
	suits := false
	for _, l := range libs {
		suits = suits || l.loads(t.kind, driver)
		have += fmt.Sprintf("\n  NVRTC %s, which compiles for %s to %s: %s", l.version, l.archs[0], l.archs[len(l.archs)-1], l.file)
	}
	distribution := "nvidia-cuda-nvrtc"
	if driver.Major == 12 {
		distribution += "-cu12"
	}
	why := fmt.Sprintf("no NVRTC of this machine makes %s that the driver loads, which supports CUDA %s", t.kind, driver)
	remedy := fmt.Sprintf("install the Python package %s of a version of CUDA %d, or update the NVIDIA driver", distribution, driver.Major)
	switch {
	case suits:
		why = fmt.Sprintf("no NVRTC of this machine that suits the driver, which supports CUDA %s, compiles for %s", driver, t.arch)
		remedy = fmt.Sprintf("install a version of the Python package %s that does, or ship an image", distribution)
	case t.kind == cuda.ImagePTX:
		remedy = fmt.Sprintf("install the Python package %s of version %s or older, compile to a cubin, or update the NVIDIA driver", distribution, driver)
	}
	if driver.Major < 12 { // load finds no package of CUDA 11, and none is as old as 11.6
		remedy = fmt.Sprintf("update the NVIDIA driver, or set %s to the NVRTC of a toolkit of CUDA %s", place.Variable, driver)
	}
	return tvmffi.NewError("RuntimeError", fmt.Sprintf("nvrtc: compile %s for %s: %s; there is:%s\n%s", name, d, why, have, remedy))
}
