package codec

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// lendTensor returns a Tensor over a DLTensor*, whose memory the caller lends. The Tensor
// ends with the loan. Only a lender can say when that is: elsewhere it is a wrong type, which
// is called want.
func lendTensor(v abi.Any, from objects.Reading, want string) (*objects.Object, error) {
	lender, ok := from.Inner.(objects.Lender)
	if !ok || v.Bits == 0 {
		return nil, WrongType(want, v)
	}
	c := capi.PointerTo[abi.DLTensor](uintptr(v.Bits))
	shape := values.ShapeOf(c)
	if _, err := values.Elements(shape); err != nil {
		return nil, err
	}
	data := c.Data
	if c.Device.HasAddresses() {
		data += uintptr(c.ByteOffset)
	}
	handle := objects.NewTensor(objects.TensorSpec{Address: data, Type: c.DType, Device: c.Device}, shape, values.Strides(c))
	return lender.Adopt(handle), nil
}
