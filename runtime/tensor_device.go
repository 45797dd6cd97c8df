package tvmffi

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// The device API of TVM copies memory that the host cannot address, such as memory of an RPC
// session. Each function is looked up until a library has registered it, and then held.
var (
	copyFromBytes = calls.Func{Name: "runtime.TVMTensorCopyFromBytes"}
	copyToBytes   = calls.Func{Name: "runtime.TVMTensorCopyToBytes"}
	copyFromTo    = calls.Func{Name: "runtime.TVMTensorCopyFromTo"}
	allocate      = calls.Func{Name: "runtime.TVMTensorAllocWithScope"}
)

// cellOf returns the DLTensor of a tensor whose memory is on the host, or on a device from
// which the device API copies. CUDA memory belongs to package cuda, which orders copies by
// its streams.
func cellOf(t *Tensor) (*abi.DLTensor, error) {
	if _, err := codec.Live(t); err != nil {
		return nil, err
	}
	c := t.cell()
	if c.Device.Type == abi.DLCPU && c.Data != 0 || !onHost(c) && c.Device.Type != abi.DLCUDA {
		return c, nil
	}
	return c, readable(t, c)
}

// hostCell returns the DLTensor of a tensor whose memory the host can read.
func hostCell(t *Tensor) (*abi.DLTensor, error) {
	if _, err := codec.Live(t); err != nil {
		return nil, err
	}
	c := t.cell()
	if c.Device.Type == abi.DLCPU && c.Data != 0 {
		return c, nil
	}
	return c, readable(t, c)
}

// readable returns an error unless the host can read the memory of t.
func readable(t *Tensor, c *abi.DLTensor) error {
	switch {
	case c.Device.Type == abi.DLCUDA:
		return failure.Errorf(failure.KindValue, "tensor on %s: its memory is not on the host: copy it there first", Device(c.Device))
	case !onHost(c):
		return failure.Errorf(failure.KindValue, "tensor on %s: its memory is not on the host: Clone or ReadSlice copies it there", Device(c.Device))
	case c.Data == 0 && values.Product(values.ShapeOf(c)) > 0:
		return failure.Errorf(failure.KindValue, "tensor %s: its memory is at address 0", t)
	}
	return nil
}

func onHost(c *abi.DLTensor) bool { return Device(c.Device).IsHost() }

// fetch copies the elements of a tensor on a device to memory of the host, which holds them
// in row-major order.
func (t *Tensor) fetch(c *abi.DLTensor, to []byte) error {
	return t.exchange(&copyToBytes, c, to)
}

// store is the way back of fetch.
func (t *Tensor) store(c *abi.DLTensor, from []byte) error {
	return t.exchange(&copyFromBytes, c, from)
}

func (t *Tensor) exchange(f *calls.Func, c *abi.DLTensor, host []byte) error {
	if len(host) == 0 {
		return nil
	}
	if err := denseOnDevice(t, c); err != nil {
		return err
	}
	if c.ByteOffset != 0 && c.Device.Type >= firstRPCDevice {
		return t.exchangeView(f, c, host)
	}
	// C gets the address of host as a number. That is sound because Heap keeps host off the
	// stacks, which move, nothing on the heap moves, and KeepAlive keeps host until C has
	// returned. C does not keep the address: the device API waits for the copy.
	codec.Heap(host)
	var call calls.Call3
	call.Begin(f, 3)
	call.Object(0, codec.Ref(t))
	call.Pointer(1, Pointer{uintptr(unsafe.Pointer(unsafe.SliceData(host)))})
	call.Int(2, int64(len(host)))
	err := deviceCall(f, &call.Call, t)
	runtime.KeepAlive(host)
	return err
}

// deviceCall makes a call of the device API about t.
func deviceCall(f *calls.Func, call *calls.Call, t *Tensor) error {
	if err := f.Resolve(); err != nil {
		return failure.Errorf(failure.KindValue, "tensor on %s: its memory is not on the host, and no loaded library has the function %s that copies it: load the runtime of TVM, libtvm_runtime, first", t.Device(), f.Name)
	}
	if err := call.Do(); err != nil {
		return failure.Annotate("copy of "+t.String(), err)
	}
	return nil
}

// exchangeView is exchange for a view that begins later than its memory, on a device of an RPC
// session. There TVM 0.27 replaces the offset of the view by the offset of the part of the tensor
// that it sends, and so would copy other elements. Copies on the device keep the offset, so
// they bring the view to a tensor without one, and back.
func (t *Tensor) exchangeView(f *calls.Func, c *abi.DLTensor, host []byte) error {
	shape, err := NewShape(values.ShapeOf(c)...)
	if err != nil {
		return err
	}
	defer shape.Release()
	var call calls.Call4
	call.Begin(&allocate, 4)
	call.Object(0, codec.Ref(shape))
	call.DataType(1, DataType(c.DType))
	call.Device(2, Device(c.Device))
	if err := deviceCall(&allocate, &call.Call, t); err != nil {
		return err
	}
	o, err := call.ObjectResult(&typeTensor)
	if err != nil {
		return err
	}
	whole := codec.Wrap[*Tensor](o)
	defer whole.Release()
	if f == &copyToBytes {
		if err := copyOnDevice(whole, t, whole.cell(), c); err != nil {
			return err
		}
		return whole.fetch(whole.cell(), host)
	}
	if err := whole.store(whole.cell(), host); err != nil {
		return err
	}
	return copyOnDevice(t, whole, c, whole.cell())
}

// denseOnDevice returns an error unless t is contiguous. The device API copies nothing else.
func denseOnDevice(t *Tensor, c *abi.DLTensor) error {
	if !values.Contiguous(values.ShapeOf(c), values.Strides(c)) {
		return failure.Errorf(failure.KindValue, "copy: %s has strides %v and is not contiguous: on a device, copy the whole tensor and make the view on the host", t, t.Strides())
	}
	return nil
}

// firstRPCDevice is the number from which the device types of RPC sessions begin.
const firstRPCDevice = 128

// copyOnDevice copies between two tensors on the same device. They have the same shape.
func copyOnDevice(to, from *Tensor, target, source *abi.DLTensor) error {
	if values.Product(values.ShapeOf(source)) == 0 {
		return nil
	}
	err := denseOnDevice(from, source)
	if err == nil {
		err = denseOnDevice(to, target)
	}
	if err != nil {
		return err
	}
	var call calls.Call2
	call.Begin(&copyFromTo, 2)
	call.Object(0, codec.Ref(from))
	call.Object(1, codec.Ref(to))
	return deviceCall(&copyFromTo, &call.Call, from)
}

// inOrder returns the elements of t in row-major order: its memory if that is on the host and
// contiguous, or else a copy. c is the DLTensor of t.
func (t *Tensor) inOrder(c *abi.DLTensor) ([]byte, error) {
	if onHost(c) && values.Contiguous(values.ShapeOf(c), values.Strides(c)) {
		return dense(c, t)
	}
	size, err := DataType(c.DType).BytesOf(values.ShapeOf(c))
	if err == nil {
		err = roomFor(size)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	return b, t.read(c, b)
}

// fetchToStack is fetch for a slice of the caller, which may lie on a stack. Handing it to C
// would put all slices of CopyTo and CopyFrom on the heap, those for tensors on the host too.
func (t *Tensor) fetchToStack(c *abi.DLTensor, to []byte) error {
	return throughHeap(len(to), func(b []byte) error {
		err := t.fetch(c, b)
		copy(to, b)
		return err
	})
}

// storeFromStack is the way back of fetchToStack.
func (t *Tensor) storeFromStack(c *abi.DLTensor, from []byte) error {
	return throughHeap(len(from), func(b []byte) error {
		copy(b, from)
		return t.store(c, b)
	})
}

// bounce is memory on the heap for throughHeap.
var bounce = sync.Pool{New: func() any { return new([]byte) }}

// throughHeap calls f with n bytes on the heap.
func throughHeap(n int, f func(b []byte) error) error {
	p := bounce.Get().(*[]byte)
	defer bounce.Put(p)
	if cap(*p) < n {
		if err := roomFor(int64(n)); err != nil {
			return err
		}
		*p = make([]byte, n)
	}
	return f((*p)[:n])
}
