package disco

import "fmt"

// ReduceOp is how [Session.Allreduce] combines numbers.
type ReduceOp int64

// These are the operators. The average of integers is rounded towards zero.
const (
	Sum ReduceOp = iota
	Product
	Min
	Max
	Average
)

// String returns the name of the operator.
func (op ReduceOp) String() string {
	switch op {
	case Sum:
		return "sum"
	case Product:
		return "product"
	case Min:
		return "min"
	case Max:
		return "max"
	case Average:
		return "average"
	}
	return fmt.Sprintf("ReduceOp(%d)", int64(op))
}

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}
