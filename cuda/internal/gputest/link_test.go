package gputest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvjitlink"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// units are the files of a program: the kernel in the first one calls a function in the second one.
var units = []string{"linked_first", "linked_second"}

// unit compiles a unit for an architecture, or finds what a pack has of it, nil if that is nothing.
func unit(t *testing.T, name, arch string, options ...string) []byte {
	t.Helper()
	dir := nativetest.Images(t)
	if dir == "" {
		image, err := compiled(name, arch, options...)
		ok(t, err)
		return image
	}
	extension := ".cubin"
	if strings.HasPrefix(arch, "compute_") {
		extension = ".ptx"
	}
	image, err := os.ReadFile(filepath.Join(dir, name+"."+arch+extension))
	if !errors.Is(err, fs.ErrNotExist) {
		ok(t, err)
	}
	return image
}

// inputs are the units for a device.
func inputs(t *testing.T, d cuda.Device, options ...string) (list []cuda.LinkInput) {
	t.Helper()
	arch, err := d.Arch()
	ok(t, err)
	for _, name := range units {
		image := unit(t, name, arch.String(), options...)
		if image == nil { // the device is newer than the compiler of the pack
			image = unit(t, name, "compute_75")
		}
		list = append(list, cuda.LinkInput{Name: name, Data: image})
	}
	return list
}

// runLinked runs the kernel of what was linked.
func runLinked(t *testing.T, m *cuda.Module) {
	t.Helper()
	t.Cleanup(func() { ok(t, m.Close()) })
	d := m.Device()
	st := streamOn(t, d, cuda.NonBlocking())
	x, err := cuda.AllocOf(d, ramp(1000))
	ok(t, err)
	t.Cleanup(func() { ok(t, x.Free()) })
	ok(t, adds(kernel(t, m, "add_one"), st, x, x))
	ok(t, st.Synchronize())
	wantNumbers(t, x, plus(1000, 1))
}

// TestLink links two units by the driver and by nvJitLink, whose link optimises them as a whole, and runs the result. In
// a pack nvJitLink has linked them before.
func TestLink(t *testing.T) {
	modules := prepare(t)
	// A linker must not be older than the compiler of its inputs, which is the oldest one that tests and packs use.
	if driver, err := cuda.DriverVersion(); err != nil || driver < 12040 {
		unsupported(t, "linking of what CUDA 12.4 compiled (%d, %v)", driver, err)
	}
	for d := range modules {
		device := cuda.Device(d)
		t.Run(device.String()+", the driver", func(t *testing.T) {
			cubin, err := device.Link(inputs(t, device, "-rdc=true"))
			ok(t, err)
			m, err := device.LoadModule(cubin)
			ok(t, err)
			runLinked(t, m)
			// The fake driver knows of PTX alone which functions it lacks.
			first := unit(t, units[0], "compute_75", "-rdc=true")
			if _, err := device.Link([]cuda.LinkInput{{Data: first}}); err == nil {
				t.Error("a function is missing, and the driver links")
			}
		})
		t.Run(device.String()+", nvJitLink", func(t *testing.T) {
			if nativetest.Packed() != "" {
				m, err := loadFile(device, "linked")
				ok(t, err)
				runLinked(t, m)
				return
			}
			driver, err := cuda.DriverVersion()
			ok(t, err)
			nativetest.NVJitLink(t, driver)
			code, err := nvjitlink.LinkFor(device, nvjitlink.Program{Inputs: inputs(t, device, "-dlto")})
			ok(t, err)
			if code.Kind != cuda.ImageCubin || code.Major == 0 {
				t.Errorf("%s is linked by nvJitLink %d.%d", code.Kind, code.Major, code.Minor)
			}
			m, err := device.LoadModule(code.Image)
			ok(t, err)
			runLinked(t, m)
		})
	}
}
