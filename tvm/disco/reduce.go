package disco

import (
	"fmt"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

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

// allreduce lets each worker reduce one part of the elements, and send the result to all. Each
// part is reduced in one place and in the order of the ranks, so that all workers get the same bits.
func (g *group) allreduce(op ReduceOp, inGroup bool, from, to *tvmffi.Tensor) error {
	if op < Sum || op > Average {
		return fmt.Errorf("%v is not an operator", op)
	}
	out, err := memory(from, "source")
	if err != nil {
		return err
	}
	in, err := memory(to, "result")
	if err != nil {
		return err
	}
	if len(in) != len(out) || from.DataType() != to.DataType() {
		return fmt.Errorf("the source is %d bytes of %v, and the result %d bytes of %v", len(out), from.DataType(), len(in), to.DataType())
	}
	switch from.DataType() {
	case tvmffi.Int8:
		return reduce[int8](g, op, inGroup, from, out, in)
	case tvmffi.Int16:
		return reduce[int16](g, op, inGroup, from, out, in)
	case tvmffi.Int32:
		return reduce[int32](g, op, inGroup, from, out, in)
	case tvmffi.Int64:
		return reduce[int64](g, op, inGroup, from, out, in)
	case tvmffi.Uint8:
		return reduce[uint8](g, op, inGroup, from, out, in)
	case tvmffi.Uint16:
		return reduce[uint16](g, op, inGroup, from, out, in)
	case tvmffi.Uint32:
		return reduce[uint32](g, op, inGroup, from, out, in)
	case tvmffi.Uint64:
		return reduce[uint64](g, op, inGroup, from, out, in)
	case tvmffi.Float32:
		return reduce[float32](g, op, inGroup, from, out, in)
	case tvmffi.Float64:
		return reduce[float64](g, op, inGroup, from, out, in)
	case tvmffi.Float16:
		return reduceHalf(g, op, inGroup, from, out, in, tvmffi.F16.Float32, func(x float32) tvmffi.F16 { return tvmffi.F16(tvmffi.Float16.FromFloat32(x)) })
	case tvmffi.BFloat16:
		return reduceHalf(g, op, inGroup, from, out, in, tvmffi.BF16.Float32, tvmffi.ToBF16)
	}
	return fmt.Errorf("numbers of type %v cannot be reduced", from.DataType())
}

func reduce[T number](g *group, op ReduceOp, inGroup bool, from *tvmffi.Tensor, out, in []byte) error {
	return reduceBy(g, inGroup, from, out, in, func(total []T, part []T, first bool) {
		if first {
			copy(total, part)
			return
		}
		combine(op, total, part)
	}, func(total []T, size int) {
		if op == Average {
			for i := range total {
				total[i] /= T(size)
			}
		}
	})
}

// reduceHalf computes in float32 and rounds once.
func reduceHalf[H tvmffi.F16 | tvmffi.BF16](g *group, op ReduceOp, inGroup bool, from *tvmffi.Tensor, out, in []byte, widen func(H) float32, narrow func(float32) H) error {
	var total, wide []float32
	return reduceBy(g, inGroup, from, out, in, func(_ []H, part []H, first bool) {
		if first {
			total, wide = make([]float32, len(part)), make([]float32, len(part))
		}
		for i, h := range part {
			wide[i] = widen(h)
		}
		if first {
			copy(total, wide)
			return
		}
		combine(op, total, wide)
	}, func(result []H, size int) {
		for i, x := range total {
			if op == Average {
				x /= float32(size)
			}
			result[i] = narrow(x)
		}
	})
}

func combine[T number](op ReduceOp, total, part []T) {
	part = part[:len(total)]
	switch op {
	case Sum, Average:
		for i, x := range part {
			total[i] += x
		}
	case Product:
		for i, x := range part {
			total[i] *= x
		}
	case Min:
		for i, x := range part {
			total[i] = min(total[i], x)
		}
	case Max:
		for i, x := range part {
			total[i] = max(total[i], x)
		}
	}
}

// reduceBy adds the part of each worker, in order, and sends what finish makes of the total.
func reduceBy[T tvmffi.Element](g *group, inGroup bool, from *tvmffi.Tensor, out, in []byte, add func(total, part []T, first bool), finish func(total []T, size int)) error {
	first, size := g.team(inGroup)
	mine := g.rank - first
	n, item := int(from.Len()), from.DataType().ItemSize()
	bounds := func(i int) (int, int) { return n * i / size, n * (i + 1) / size }
	share := func(b []byte, i int) []byte {
		low, high := bounds(i)
		return b[low*item : high*item]
	}
	low, high := bounds(mine)
	scratch, err := tvmffi.NewTensor(from.DataType(), 2, int64(high-low))
	if err != nil {
		return err
	}
	defer scratch.Release()
	both, err := tvmffi.Slice[T](scratch)
	if err != nil {
		return err
	}
	bytes, err := scratch.Bytes()
	if err != nil {
		return err
	}
	total, part := both[:high-low], both[high-low:]
	totalBytes, partBytes := bytes[:(high-low)*item], bytes[(high-low)*item:]
	err = g.exchange(opReduce, first, size, func(i int) []byte { return share(out, i) }, func(i int, end time.Time) error {
		if i == mine {
			copy(partBytes, share(out, i))
		} else if err := g.receive(opReduce, first+i, partBytes, end); err != nil {
			return err
		}
		add(total, part, i == 0)
		return nil
	})
	if err != nil {
		return err
	}
	finish(total, size)
	return g.exchange(opReduce, first, size, func(int) []byte { return totalBytes }, func(i int, end time.Time) error {
		if i == mine {
			copy(share(in, i), totalBytes)
			return nil
		}
		return g.receive(opReduce, first+i, share(in, i), end)
	})
}
