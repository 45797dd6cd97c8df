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
// from the index of the check that gave it.
func InOrder(p *spec.Plan, values []Value, nums []int64, from []int32) Refusal {
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
			nums[k.Var], from[k.Var] = v.number(k.Field, k.Index), int32(i)
			continue
		}
		if holds(k, v, nums) || k.UnlessOne && Size(v.tensor(), k.Index) == 1 {
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
	case spec.OpContiguous:
		return Contiguous(v.tensor())
	case spec.OpFloat:
		return math.Float64frombits(v.bits) == k.Float
	}
	n := v.number(k.Field, k.Index)
	switch k.Op {
	case spec.OpEqual:
		return n == k.Want
	case spec.OpRange:
		return n >= k.Min && n <= k.Max
	case spec.OpDivisible:
		return n%k.Want == 0
	}
	return n == nums[k.Var]
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
