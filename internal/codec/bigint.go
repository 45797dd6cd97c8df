package codec

import (
	"math/big"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// bigIntCodec converts *big.Int: an int where it fits 64 bits, otherwise a BigInt
// object, which older libraries lack; nil is None.
func bigIntCodec() *Codec {
	return &Codec{
		Name: "ffi.BigInt",
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			x := *(**big.Int)(p)
			switch {
			case x == nil:
				return values.AnyView{}, nil
			case x.IsInt64():
				return Encode(x.Int64())
			}
			v, err := values.NewBigInt(twosComplement(x))
			return values.AnyView{Value: v, Owned: true}, err
		},
		Decode: func(v abi.Any, _ objects.Reading, p unsafe.Pointer) error {
			switch v.TypeIndex {
			case abi.TypeNone:
				*(**big.Int)(p) = nil
			case abi.TypeInt:
				*(**big.Int)(p) = big.NewInt(int64(v.Bits))
			case abi.TypeBigInt:
				*(**big.Int)(p) = fromTwosComplement(values.BigIntContent(v))
			default:
				return WrongType("ffi.BigInt", v)
			}
			return nil
		},
	}
}

// twosComplement returns x as 64-bit words, the least significant byte first.
func twosComplement(x *big.Int) []byte {
	n := (x.BitLen()/64 + 1) * 8
	v := x
	if x.Sign() < 0 {
		v = new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	b := v.FillBytes(make([]byte, n))
	slices.Reverse(b)
	return b
}

func fromTwosComplement(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}
