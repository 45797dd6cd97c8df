package tvmffi

import (
	"runtime"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// DLPackOption is a demand on a tensor of another framework.
type DLPackOption func(*dlpackDemands)

type dlpackDemands struct {
	alignment  int
	contiguous bool
}

// RequireAligned demands that the address of the data is a multiple of n bytes.
func RequireAligned(n int) DLPackOption { return func(d *dlpackDemands) { d.alignment = n } }

// RequireContiguous demands that the elements lie in row-major order without
// gaps.
func RequireContiguous() DLPackOption { return func(d *dlpackDemands) { d.contiguous = true } }

// FromDLPackVersioned makes a tensor of a DLManagedTensorVersioned, the struct by
// which frameworks exchange tensors, without a copy.
//
// The tensor takes the struct over and calls its deleter when its last reference
// goes, on whatever thread that happens. If there is an error, the caller still
// owns the struct. Its major version must be 1. What the struct marks as
// read-only is refused by all functions that would write.
func FromDLPackVersioned(managed Pointer, demands ...DLPackOption) (*Tensor, error) {
	if err := structAddress(managed); err != nil {
		return nil, err
	}
	m := capi.PointerTo[abi.DLManagedTensorVersioned](managed.Address)
	if m.Version.Major != abi.DLPackMajor {
		return nil, failure.Errorf(failure.KindValue, "DLPack: the struct has version %d.%d, this module reads version %d only: ask the producer for that version",
			m.Version.Major, m.Version.Minor, abi.DLPackMajor)
	}
	if m.Flags&abi.DLFlagSubBytePadded != 0 {
		return nil, failure.Errorf(failure.KindValue, "DLPack: elements of %s are padded to whole bytes, but only packed ones can be read", DataType(m.Tensor.DType))
	}
	return importDLPack(managed, &m.Tensor, true, m.Flags&abi.DLFlagReadOnly != 0, demands)
}

// FromDLPack makes a tensor of a DLManagedTensor, the older struct without a
// version; all else is as in [FromDLPackVersioned].
func FromDLPack(managed Pointer, demands ...DLPackOption) (*Tensor, error) {
	if err := structAddress(managed); err != nil {
		return nil, err
	}
	return importDLPack(managed, &capi.PointerTo[abi.DLManagedTensor](managed.Address).Tensor, false, false, demands)
}

func structAddress(p Pointer) error {
	switch {
	case p.Address == 0:
		return failure.Errorf(failure.KindValue, "DLPack: the address of the struct is null")
	case p.Address%8 != 0:
		return failure.Errorf(failure.KindValue, "DLPack: address %#x cannot be that of a struct: it is not aligned to 8 bytes", p.Address)
	}
	return nil
}

func importDLPack(managed Pointer, c *abi.DLTensor, versioned, readOnly bool, demands []DLPackOption) (*Tensor, error) {
	var d dlpackDemands
	for _, option := range demands {
		option(&d)
	}
	if err := d.check(c); err != nil {
		return nil, err
	}
	if err := Load(); err != nil {
		return nil, err
	}
	handle, err := core.ImportDLPack(managed.Address, versioned, int32(d.alignment), d.contiguous)
	if err != nil {
		return nil, err
	}
	o := objects.Own(handle)
	if readOnly {
		o.SetReadOnly()
	}
	t := codec.Wrap[*Tensor](o)
	if c.ByteOffset == 0 || !Device(c.Device).hasAddresses() {
		return t, nil
	}
	// Many kernels ignore the offset: a view has it folded into its address.
	defer t.Release()
	return t.view(o, 0, t.Shape(), t.Strides())
}

// check refuses what the library would believe.
func (d *dlpackDemands) check(c *abi.DLTensor) error {
	dtype, device := DataType(c.DType), Device(c.Device)
	if c.NDim < 0 || c.NDim > 1<<10 {
		return failure.Errorf(failure.KindValue, "DLPack: a tensor with %d dimensions", c.NDim)
	}
	if c.NDim > 0 && c.Shape == 0 {
		return failure.Errorf(failure.KindValue, "DLPack: a tensor with %d dimensions has no shape", c.NDim)
	}
	shape := core.ShapeOf(c)
	size, err := dtype.BytesOf(shape)
	if err != nil {
		return failure.Annotate("DLPack", err)
	}
	if c.Strides != 0 && size > 0 {
		if _, _, err := core.Reach(shape, core.Strides(c)); err != nil {
			return failure.Annotate("DLPack", err)
		}
	}
	at := uintptr(c.ByteOffset)
	if device.hasAddresses() {
		at += c.Data
	}
	switch {
	case c.Data == 0 && size > 0:
		return failure.Errorf(failure.KindValue, "DLPack: the address of the data of %s%v is null", dtype, slices.Clone(shape))
	case d.alignment < 0 || d.alignment&(d.alignment-1) != 0:
		return failure.Errorf(failure.KindValue, "DLPack: an alignment of %d bytes is no power of two", d.alignment)
	case d.alignment > 0 && at%uintptr(d.alignment) != 0:
		return failure.Errorf(failure.KindValue, "DLPack: the data at address %#x is not aligned to %d bytes: copy it", at, d.alignment)
	case d.contiguous && !core.Contiguous(shape, core.Strides(c)):
		return failure.Errorf(failure.KindValue, "DLPack: the tensor with shape %v and strides %v is not contiguous: copy it", slices.Clone(shape), slices.Clone(core.Strides(c)))
	}
	return nil
}

// ToDLPackVersioned makes a DLManagedTensorVersioned of the tensor, without a
// copy, to give to another framework. The struct holds a reference until its
// deleter is called, which the consumer does, or [DeleteDLPackVersioned] if there
// is none. A tensor that is read-only is marked so.
func (t *Tensor) ToDLPackVersioned() (Pointer, error) {
	p, err := t.export(true)
	if err == nil && t.ReadOnly() {
		capi.PointerTo[abi.DLManagedTensorVersioned](p.Address).Flags |= abi.DLFlagReadOnly
	}
	return p, err
}

// ToDLPack makes a DLManagedTensor, the older struct, which cannot say that
// memory is read-only: such a tensor is refused. [DeleteDLPack] gives up a struct
// that no consumer has taken.
func (t *Tensor) ToDLPack() (Pointer, error) {
	if t.ReadOnly() {
		return Pointer{}, failure.Errorf(failure.KindValue, "DLPack: %s is read-only, which the struct without a version cannot say: use ToDLPackVersioned or Clone", t)
	}
	return t.export(false)
}

func (t *Tensor) export(versioned bool) (Pointer, error) {
	o, err := codec.Receiver(t, "Tensor")
	if err != nil {
		return Pointer{}, err
	}
	if o.BorrowedMemory() {
		return Pointer{}, failure.Errorf(failure.KindRuntime, "DLPack: the memory of %s is lent for a callback: export a Clone", t)
	}
	p, err := core.ExportDLPack(o.Handle(), versioned)
	runtime.KeepAlive(t)
	return Pointer{p}, err
}

// DeleteDLPackVersioned calls the deleter of a struct that this program owns. It
// must not be used afterwards.
func DeleteDLPackVersioned(managed Pointer) {
	if managed.Address != 0 {
		objects.CallDeleter(capi.PointerTo[abi.DLManagedTensorVersioned](managed.Address).Deleter, managed.Address)
	}
}

// DeleteDLPack calls the deleter of a struct without a version that this program
// owns. It must not be used afterwards.
func DeleteDLPack(managed Pointer) {
	if managed.Address != 0 {
		objects.CallDeleter(capi.PointerTo[abi.DLManagedTensor](managed.Address).Deleter, managed.Address)
	}
}
