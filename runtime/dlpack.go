package tvmffi

import (
	"runtime"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// DLPackOption is a requirement on a tensor of another framework. [RequireAligned] and
// [RequireContiguous] make one.
type DLPackOption func(*dlpackDemands)

type dlpackDemands struct {
	alignment  int
	contiguous bool
}

// RequireAligned requires that the address of the data is a multiple of n bytes. n must be
// a power of two, or 0 for no requirement.
func RequireAligned(n int) DLPackOption { return func(d *dlpackDemands) { d.alignment = n } }

// RequireContiguous requires that the elements lie in row-major order without gaps.
func RequireContiguous() DLPackOption { return func(d *dlpackDemands) { d.contiguous = true } }

// FromDLPackVersioned returns a tensor over the memory of a DLManagedTensorVersioned, the
// struct by which frameworks exchange tensors. It copies nothing.
//
// The tensor takes the struct over and calls its deleter when its last reference ends, on
// any thread. If FromDLPackVersioned returns an error, the caller still owns the struct.
// The major version of the struct must be 1. If the struct marks the memory as read-only,
// every function that would write to the tensor returns an error.
func FromDLPackVersioned(managed Pointer, demands ...DLPackOption) (*Tensor, error) {
	if err := structAddress(managed); err != nil {
		return nil, err
	}
	m := capi.PointerTo[abi.DLManagedTensorVersioned](managed.Address)
	if m.Version.Major != abi.DLPackMajor {
		return nil, failure.Errorf(failure.KindValue, "DLPack: the struct has version %d.%d, this module reads major version %d only: ask the producer for that version",
			m.Version.Major, m.Version.Minor, abi.DLPackMajor)
	}
	t, err := importDLPack(managed, &m.Tensor, true, m.Flags&abi.DLFlagReadOnly != 0, demands)
	if err != nil && m.Flags&abi.DLFlagSubBytePadded != 0 {
		err = failure.Explain(err, "DLPack: the elements of %s are padded to whole bytes, only packed elements can be read: ask the producer for packed ones", DataType(m.Tensor.DType))
	}
	return t, err
}

// FromDLPack is like [FromDLPackVersioned] for a DLManagedTensor, the older struct, which
// has no version and cannot mark memory as read-only.
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
		return failure.Errorf(failure.KindValue, "DLPack: address %#x is not the address of a struct: it is not aligned to 8 bytes", p.Address)
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
	handle, err := values.ImportDLPack(managed.Address, versioned, int32(d.alignment), d.contiguous)
	if err != nil {
		return nil, d.explain(c, err)
	}
	o := objects.Own(handle)
	if readOnly {
		o.SetReadOnly()
	}
	t := codec.Wrap[*Tensor](o)
	if c.ByteOffset == 0 || !c.Device.HasAddresses() {
		return t, nil
	}
	// Many kernels ignore the offset, so a view adds it to its address.
	defer t.Release()
	return t.view(o, 0, t.Shape(), t.Strides())
}

// check refuses values of the struct that the library does not check.
func (d *dlpackDemands) check(c *abi.DLTensor) error {
	dtype := DataType(c.DType)
	if c.NDim < 0 || c.NDim > 1<<10 {
		return failure.Errorf(failure.KindValue, "DLPack: the tensor has %d dimensions, expected 0 to %d", c.NDim, 1<<10)
	}
	if c.NDim > 0 && c.Shape == 0 {
		return failure.Errorf(failure.KindValue, "DLPack: the tensor has %d dimensions, but the address of its shape is null", c.NDim)
	}
	shape := values.ShapeOf(c)
	size, err := dtype.BytesOf(shape)
	if err != nil {
		return failure.Annotate("DLPack", err)
	}
	if c.Strides != 0 && size > 0 {
		if _, _, err := values.Reach(shape, values.Strides(c)); err != nil {
			return failure.Annotate("DLPack", err)
		}
	}
	switch {
	case c.Data == 0 && size > 0:
		return failure.Errorf(failure.KindValue, "DLPack: the address of the data of %s%v is null", dtype, slices.Clone(shape))
	case d.alignment < 0 || d.alignment&(d.alignment-1) != 0:
		return failure.Errorf(failure.KindValue, "DLPack: the alignment of %d bytes is not a power of two", d.alignment)
	}
	return nil
}

// explain says why the library refused the struct.
func (d *dlpackDemands) explain(c *abi.DLTensor, err error) error {
	shape, strides, at := slices.Clone(values.ShapeOf(c)), slices.Clone(values.Strides(c)), uintptr(c.ByteOffset)
	if c.Device.HasAddresses() {
		at += c.Data
	}
	switch {
	case d.alignment > 0 && at%uintptr(d.alignment) != 0:
		return failure.Explain(err, "DLPack: the data at address %#x is not aligned to %d bytes: copy it", at, d.alignment)
	case d.contiguous && !values.Contiguous(shape, strides):
		return failure.Explain(err, "DLPack: the tensor with shape %v and strides %v is not contiguous: copy it", shape, strides)
	}
	return err
}

// ToDLPackVersioned returns a new DLManagedTensorVersioned over the memory of the tensor,
// for another framework. It copies nothing. The struct holds a reference to the tensor
// until its deleter is called: the consumer calls it, or [DeleteDLPackVersioned] does if
// no consumer took the struct. The struct of a read-only tensor is marked as read-only.
func (t *Tensor) ToDLPackVersioned() (Pointer, error) {
	p, err := t.export(true)
	if err == nil && t.ReadOnly() {
		capi.PointerTo[abi.DLManagedTensorVersioned](p.Address).Flags |= abi.DLFlagReadOnly
	}
	return p, err
}

// ToDLPack is like [Tensor.ToDLPackVersioned] for a DLManagedTensor, the older struct. That
// struct cannot mark memory as read-only, so a read-only tensor is an error.
// [DeleteDLPack] deletes a struct that no consumer took.
func (t *Tensor) ToDLPack() (Pointer, error) {
	if t.ReadOnly() {
		return Pointer{}, failure.Errorf(failure.KindValue, "DLPack: %s is read-only, and a struct without a version cannot mark it: use ToDLPackVersioned or Clone", t)
	}
	return t.export(false)
}

func (t *Tensor) export(versioned bool) (Pointer, error) {
	o, err := codec.Receiver(t, "Tensor")
	if err != nil {
		return Pointer{}, err
	}
	if o.BorrowedMemory() {
		return Pointer{}, failure.Errorf(failure.KindRuntime, "DLPack: the memory of %s is borrowed until the callback returns: export a Clone", t)
	}
	p, err := values.ExportDLPack(o.Handle(), versioned)
	runtime.KeepAlive(t)
	return Pointer{p}, err
}

// DeleteDLPackVersioned calls the deleter of a struct that this program owns. The struct
// must not be used afterwards. A null pointer does nothing.
func DeleteDLPackVersioned(managed Pointer) {
	if managed.Address != 0 {
		objects.CallDeleter(capi.PointerTo[abi.DLManagedTensorVersioned](managed.Address).Deleter, managed.Address)
	}
}

// DeleteDLPack is like [DeleteDLPackVersioned] for a struct without a version.
func DeleteDLPack(managed Pointer) {
	if managed.Address != 0 {
		objects.CallDeleter(capi.PointerTo[abi.DLManagedTensor](managed.Address).Deleter, managed.Address)
	}
}
