package cuda

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/cuda/internal/linkinput"
)

// LinkInput is one part of a program that is linked.
type LinkInput struct {
	// Name is the name in messages; "" is the number of the input.
	Name string
	// Kind is the form of Data; ImageUnknown finds it by KindOf.
	Kind ImageKind
	// Data is read during the call and not kept.
	Data []byte
}

// linkable completes the inputs for the linker in the driver.
func (d Device) linkable(inputs []LinkInput) ([]LinkInput, error) {
	if len(inputs) == 0 {
		return nil, valueError("link for %s: there are no inputs", d)
	}
	parts := make([]LinkInput, len(inputs))
	for i, in := range inputs {
		var err error
		in.Name, in.Kind, err = linkinput.Complete(i, in.Name, in.Data, in.Kind, KindOf(in.Data))
		if err != nil {
			return nil, err
		}
		parts[i] = in
		if parts[i].Kind == ImageLTOIR {
			return nil, valueError("link for %s: %s is LTO IR, which the driver does not link: use package nvjitlink, or compile it without -dlto", d, parts[i].Name)
		}
	}
	return parts, nil
}

// inputTypes are the numbers of CUjitInputType.
var inputTypes = map[ImageKind]uintptr{ImageCubin: 0, ImagePTX: 1, ImageFatbin: 2, ImageObject: 3, ImageLibrary: 4}

// Link links PTX, cubins, fatbins, object files and libraries to a cubin for the device, by the
// linker in the driver. Kernels of one input may so call device functions of another one, which
// was compiled with -rdc=true. PTX must not be newer than the driver. Package nvjitlink
// links LTO IR too, and needs no device.
//
// The options are those of LoadModule; they hold for all PTX. What the linker says about a
// failure is in the Log of the error.
func (d Device) Link(inputs []LinkInput, options ...ModuleOption) (cubin []byte, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	parts, err := d.linkable(inputs)
	if err != nil {
		return nil, err
	}
	j := newJIT(options)
	// The driver keeps the addresses of the logs until cuLinkDestroy.
	var pin runtime.Pinner
	pin.Pin(j)
	defer pin.Unpin()
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	about := func(err error, item string) error {
		if e, ok := err.(*Error); ok {
			e.Item, e.Log = item, j.log()
		}
		return err
	}
	if err := g.callGo(driver.LinkCreate, uintptr(j.n), uintptr(unsafe.Pointer(&j.options)), uintptr(unsafe.Pointer(&j.values)), g.out(0)); err != nil {
		return nil, about(err, "a link on "+d.String())
	}
	link := g.result(0)
	defer func() {
		if destroyed := g.call(driver.LinkDestroy, link); destroyed != nil && err == nil {
			cubin, err = nil, about(destroyed, "a link on "+d.String())
		}
	}()
	for _, in := range parts {
		data, size := in.Data, len(in.Data)
		if in.Kind == ImagePTX { // which must end with a NUL
			data = append(bytes.TrimRight(bytes.Clone(data), "\x00"), 0)
			size = len(data)
		}
		name := append([]byte(in.Name), 0)
		err := g.callGo(driver.LinkAddData, link, inputTypes[in.Kind], uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(size),
			uintptr(unsafe.Pointer(unsafe.SliceData(name))), 0, 0, 0)
		if err != nil {
			return nil, about(err, in.Name)
		}
	}
	if err := g.call(driver.LinkComplete, link, g.out(0), g.out(1)); err != nil {
		return nil, about(err, "a link on "+d.String())
	}
	// The cubin belongs to the link and ends with it.
	return bytes.Clone(unsafe.Slice((*byte)(driver.Pointer(g.result(0))), g.result(1))), nil
}
