// Package run does the checks of a plan of package spec in order, and returns the error
// of the first one that does not hold. Packages check and kernelrt take the fast way
// first, and call it for the rest. It trusts its callers, and it links no parser.
package run

import (
	"fmt"
	"math"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Refusal is the error of a check. The zero Refusal means that all checks hold.
type Refusal struct{ Kind, Message string }

// InOrder does the checks of a plan for a call with the right number of arguments.
// values has a Value for each operand; the caller has set those of the arguments. nums and
// from have an element for each variable, all 0: InOrder stores the value in nums, and in
// from the index of the check that gave it. reaches decides about spec.Check.Peer: whether
// kernels on a device may use memory of another one. If it is nil, none may.
func InOrder(p *spec.Plan, values []Value, nums []int64, from []int32, reaches func(device, memory int64) bool) Refusal {
	for i := 1; i < len(p.Checks); i++ {
		k := &p.Checks[i]
		v := &values[k.Operand]
		switch k.Op {
		case spec.OpElement:
			values[k.Want] = v.at(k.Index)
			continue
		case spec.OpSkipNone:
			if v.accept == spec.AcceptNone {
				i = int(k.Want) - 1
			}
			continue
		}
		if k.Maybe && (k.Op == spec.OpMatch) != (from[k.Var] != 0) {
			continue
		}
		if k.Op == spec.OpBind {
			nums[k.Var], from[k.Var] = cut(v.number(k.Field, k.Index), k.Bits), int32(i)
			continue
		}
		if holds(k, v, nums) || k.UnlessOne && Size(v.tensor(), k.Index) == 1 || k.UnlessEmpty && empty(k.Sizes, nums) {
			continue
		}
		if k.Peer && reaches != nil && reaches(nums[k.Var], v.number(k.Field, k.Index)) {
			continue
		}
		if k.Op == spec.OpMatch {
			return refusal(p.Error(i, int(from[k.Var])))
		}
		if k.Op == spec.OpType {
			switch v.kind {
			case argReleased:
				return Refusal{"RuntimeError", invalid(p, k.Operand) + "the object was released"}
			case argTooBig:
				return Refusal{"ValueError", invalid(p, k.Operand) + "the number does not fit int64"}
			}
		}
		return refusal(p.Error(i, -1))
	}
	return Refusal{}
}

// holds reports whether a check that can fail holds.
func holds(k *spec.Check, v *Value, nums []int64) bool {
	switch k.Op {
	case spec.OpType:
		return v.accept&k.Accept != 0
	case spec.OpElementInt:
		return v.isInt(k.Index)
	case spec.OpDType:
		got := spec.DType(v.tensor().DType)
		if isInteger(got) && isInteger(k.DType) {
			got.Code = k.DType.Code
		}
		return got == k.DType
	case spec.OpSameDType:
		return spec.DType(v.tensor().DType) == k.DType
	case spec.OpCompact:
		return compact(v.tensor(), k.Sizes, nums)
	case spec.OpContiguous:
		return Contiguous(v.tensor())
	case spec.OpFloat:
		return math.Float64frombits(v.bits) == k.Float
	}
	n := cut(v.number(k.Field, k.Index), k.Bits)
	switch k.Op {
	case spec.OpNotNull:
		return n != 0
	case spec.OpEqual:
		return n == k.Want
	case spec.OpRange:
		return n >= k.Min && n <= k.Max
	case spec.OpDivisible:
		return n%k.Want == 0
	}
	return n == nums[k.Var]
}

// cut keeps the lowest bits of n, the highest of which is the sign; all if bits is 0.
func cut(n int64, bits uint8) int64 {
	if bits == 0 {
		return n
	}
	return n << (64 - bits) >> (64 - bits)
}

func sizeOf(s spec.PlanSize, nums []int64) int64 {
	if s.Var >= 0 {
		return nums[s.Var]
	}
	return s.Size
}

// empty reports whether one of the sizes is 0.
func empty(sizes []spec.PlanSize, nums []int64) bool {
	for _, s := range sizes {
		if sizeOf(s, nums) == 0 {
			return true
		}
	}
	return false
}

// compact reports whether the strides of a tensor are those of sizes in row-major order.
func compact(t *Tensor, sizes []spec.PlanSize, nums []int64) bool {
	if t.Strides == 0 {
		return true
	}
	step := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		n := sizeOf(sizes[i], nums)
		if n != 1 && Stride(t, i) != step {
			return false
		}
		step *= n
	}
	return true
}

func isInteger(t spec.DType) bool { return t.Code == abi.DLInt || t.Code == abi.DLUInt }

func refusal(kind, message string) Refusal { return Refusal{kind, message} }

// Count returns the error of a call with another number of arguments than the plan has.
func Count(p *spec.Plan) Refusal { return refusal(p.Error(0, -1)) }

// invalid begins the message about a value that only Go can pass.
func invalid(p *spec.Plan, operand int) string {
	o := &p.Operands[operand]
	where := fmt.Sprintf("on argument #%d", o.Arg)
	if o.Parent >= 0 {
		where = fmt.Sprintf("on %s in argument #%d", o.Name, o.Arg)
	}
	return fmt.Sprintf("Invalid value %s when calling: `%s`, ", where, p.Signature)
}
