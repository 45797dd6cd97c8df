package codec

import (
	"math"
	"math/big"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
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
			if err := NeedLibrary(); err != nil {
				return values.AnyView{}, err
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
				*(**big.Int)(p) = bigInt(v)
			default:
				return WrongType("ffi.BigInt", v)
			}
			return nil
		},
	}
}

// bigInt returns the number in a BigInt object.
func bigInt(v abi.Any) *big.Int { return fromTwosComplement(values.BigIntContent(v)) }

// bigFloat returns the float that is nearest to the number in a BigInt object.
func bigFloat(v abi.Any) (abi.Any, error) {
	x, _ := bigInt(v).Float64()
	if math.IsInf(x, 0) {
		return v, failure.Errorf("OverflowError", "expected a float, got an int that is too large for one")
	}
	return abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(x)}, nil
}

// shown returns a number for an error.
func shown(x *big.Int) string {
	if x.BitLen() > 128 {
		return "one outside this range"
	}
	return x.String()
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
