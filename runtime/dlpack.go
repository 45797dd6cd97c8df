package tvmffi

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"

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

// DLPack is a struct by which frameworks exchange tensors, and which this program owns: a
// DLManagedTensorVersioned or a DLManagedTensor. It is used once, as a capsule of Python:
// [FromDLPack] makes a tensor of it, [DLPack.Take] gives it to another consumer, or
// [DLPack.Release] deletes it. After that, each use is an error. The garbage collector deletes
// a struct that the program did not use. All methods may be called from any goroutine.
type DLPack struct {
	managed   atomic.Uintptr // 0 once it is used
	versioned bool
	cleanup   runtime.Cleanup
}

// OwnDLPackVersioned takes over the DLManagedTensorVersioned at an address that a framework
// gave away. The runtime cannot check that nobody else owns it: pass each struct once.
func OwnDLPackVersioned(managed Pointer) (*DLPack, error) { return ownDLPack(managed, true) }

// OwnDLPack is like [OwnDLPackVersioned] for a DLManagedTensor, the older struct, which has
// no version and cannot mark memory as read-only.
func OwnDLPack(managed Pointer) (*DLPack, error) { return ownDLPack(managed, false) }

func ownDLPack(managed Pointer, versioned bool) (*DLPack, error) {
	switch {
	case managed.Address == 0:
		return nil, failure.Errorf(failure.KindValue, "DLPack: the address of the struct is null")
	case managed.Address%8 != 0:
		return nil, failure.Errorf(failure.KindValue, "DLPack: address %#x is not the address of a struct: it is not aligned to 8 bytes", managed.Address)
	}
	p := &DLPack{versioned: versioned}
	p.managed.Store(managed.Address)
	p.cleanup = runtime.AddCleanup(p, func(managed uintptr) {
		objects.Collected.Add(1)
		deleteDLPack(managed, versioned)
	}, managed.Address)
	return p, nil
}

// Take returns the address of the struct, which now belongs to the caller. It is for a consumer
// in another language, which calls the deleter.
func (p *DLPack) Take() (Pointer, error) {
	managed, err := p.use()
	if err != nil {
		return Pointer{}, err
	}
	p.cleanup.Stop()
	runtime.KeepAlive(p)
	return Pointer{managed}, nil
}

// use returns the address of the struct, for the first caller only.
func (p *DLPack) use() (uintptr, error) {
	if p == nil {
		return 0, failure.Errorf(failure.KindType, "DLPack: the struct is nil: pass the result of ToDLPack or OwnDLPack")
	}
	if managed := p.managed.Swap(0); managed != 0 {
		return managed, nil
	}
	return 0, failure.Errorf(failure.KindRuntime, "DLPack: the struct was used before, and each struct can be used once: call ToDLPack for each consumer")
}

// Release deletes the struct if nobody has used it. A second call, and a call on nil, do
// nothing.
func (p *DLPack) Release() {
	if p == nil {
		return
	}
	if managed := p.managed.Swap(0); managed != 0 {
		p.cleanup.Stop()
		runtime.KeepAlive(p)
		deleteDLPack(managed, p.versioned)
	}
}

// deleteDLPack calls the deleter of a struct.
func deleteDLPack(managed uintptr, versioned bool) {
	deleter := capi.PointerTo[abi.DLManagedTensor](managed).Deleter
	if versioned {
		deleter = capi.PointerTo[abi.DLManagedTensorVersioned](managed).Deleter
	}
	objects.CallDeleter(deleter, managed)
}

// FromDLPack returns a tensor over the memory of the struct p. It copies nothing.
//
// The tensor takes the struct over and calls its deleter when its last reference ends, on
// any thread. If FromDLPack returns an error, p still owns the struct, unless only the view of a
// struct with a byte offset failed. A use that begins during another use counts as a second one.
// The major version of a struct with a version must be 1. If it marks the memory as read-only, every function that
// would write to the tensor returns an error.
func FromDLPack(p *DLPack, demands ...DLPackOption) (*Tensor, error) {
	managed, err := p.use()
	if err != nil {
		return nil, err
	}
	t, err := fromDLPack(managed, p.versioned, demands)
	if err != nil {
		p.managed.Store(managed)
		return nil, err
	}
	p.cleanup.Stop()
	runtime.KeepAlive(p)
	if t.ByteOffset() == 0 || !abi.DLDevice(t.Device()).HasAddresses() {
		return t, nil
	}
	// Many kernels ignore the offset, so a view adds it to its address.
	defer t.Release()
	return t.view(codec.Ref(t), 0, t.Shape(), t.Strides())
}

func fromDLPack(managed uintptr, versioned bool, demands []DLPackOption) (*Tensor, error) {
	if !versioned {
		return importDLPack(managed, &capi.PointerTo[abi.DLManagedTensor](managed).Tensor, false, false, demands)
	}
	m := capi.PointerTo[abi.DLManagedTensorVersioned](managed)
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

func importDLPack(managed uintptr, c *abi.DLTensor, versioned, readOnly bool, demands []DLPackOption) (*Tensor, error) {
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
	handle, err := values.ImportDLPack(managed, versioned, int32(d.alignment), d.contiguous)
	if err != nil {
		return nil, d.explain(c, err)
	}
	o := objects.Own(handle)
	if readOnly {
		o.SetReadOnly()
	}
	return codec.Wrap[*Tensor](o), nil
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
	case c.ByteOffset > math.MaxInt64 || c.Device.HasAddresses() && c.Data+uintptr(c.ByteOffset) < c.Data:
		return failure.Errorf(failure.KindValue, "DLPack: the data begins %d bytes behind its address, which no memory reaches", c.ByteOffset)
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
// for another framework. It copies nothing. The struct holds a reference to the tensor until
// its deleter is called. The struct of a read-only tensor is marked as read-only.
func (t *Tensor) ToDLPackVersioned() (*DLPack, error) { return t.export(true) }

// ToDLPack is like [Tensor.ToDLPackVersioned] for a DLManagedTensor, the older struct. That
// struct cannot mark memory as read-only, so a read-only tensor is an error.
func (t *Tensor) ToDLPack() (*DLPack, error) {
	if t.ReadOnly() {
		return nil, failure.Errorf(failure.KindValue, "DLPack: %s is read-only, and a struct without a version cannot mark it: use ToDLPackVersioned or Clone", t)
	}
	return t.export(false)
}

func (t *Tensor) export(versioned bool) (*DLPack, error) {
	o, err := codec.Receiver(t, "Tensor")
	if err != nil {
		return nil, err
	}
	if o.BorrowedMemory() {
		return nil, failure.Errorf(failure.KindRuntime, "DLPack: the memory of %s is borrowed until the callback returns: export a Clone", t)
	}
	p, err := values.ExportDLPack(o.Handle(), versioned)
	readOnly := t.ReadOnly()
	runtime.KeepAlive(t)
	if err != nil {
		return nil, err
	}
	if versioned && readOnly {
		capi.PointerTo[abi.DLManagedTensorVersioned](p).Flags |= abi.DLFlagReadOnly
	}
	return ownDLPack(Pointer{p}, versioned)
}
