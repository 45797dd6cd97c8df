package spec

import (
	"fmt"
	"strconv"
	"strings"
)

var opNames = [...]string{"count", "element", "skip none", "type", "element int", "dtype", "contiguous", "float",
	"equal", "range", "divisible", "match", "bind", "same dtype", "compact", "not null"}

var fieldNames = [...]string{"", "", ".len", "[%d]", ".address", ".device.index", ".device.type", ".ndim", ".shape[%d]", ".strides[%d]", ".data", ".byte_offset"}

// kindNames are for the bits of Accept, which are not kinds that cross: a Tensor has two bits, and all objects without one share the last.
var kindNames = [...]string{"None", "int", "bool", "float", "pointer", "DLTensor*", "ffi.Tensor", "ffi.Shape", "ffi.Array", "ffi.Object"}

// String lists the kinds that a has.
func (a Accept) String() string {
	var s []string
	for i, name := range kindNames {
		if a&(1<<i) != 0 {
			s = append(s, name)
		}
	}
	return strings.Join(s, "|")
}

// String lists the checks, one in each line, for people and tests.
func (p *Plan) String() string {
	var s strings.Builder
	for i := range p.Checks {
		c := &p.Checks[i]
		fmt.Fprintf(&s, "%d: %s", i, opNames[c.Op])
		name := ""
		if len(p.Operands) > 0 {
			name = p.Operands[c.Operand].Name
		}
		if field := fieldNames[c.Field]; strings.Contains(field, "%d") {
			name += fmt.Sprintf(field, c.Index)
		} else {
			name += field
		}
		switch c.Op {
		case OpCount:
			fmt.Fprintf(&s, " %d", c.Want)
		case OpElement:
			fmt.Fprintf(&s, " %s[%d]", name, c.Index)
		case OpSkipNone:
			fmt.Fprintf(&s, " %s to %d", name, c.Want)
		case OpType:
			fmt.Fprintf(&s, " %s %s", name, c.Accept)
		case OpElementInt:
			fmt.Fprintf(&s, " %s[%d]", name, c.Index)
		case OpDType, OpSameDType:
			fmt.Fprintf(&s, " %s %s", name, c.DType)
		case OpContiguous, OpNotNull:
			fmt.Fprintf(&s, " %s", name)
		case OpCompact:
			fmt.Fprintf(&s, " %s %s", name, p.sizes(c))
		case OpFloat:
			fmt.Fprintf(&s, " %s %s", name, literal(c.Float))
		case OpEqual, OpDivisible:
			fmt.Fprintf(&s, " %s %d", name, c.Want)
		case OpRange:
			fmt.Fprintf(&s, " %s %d..%d", name, c.Min, c.Max)
		case OpMatch, OpBind:
			fmt.Fprintf(&s, " %s %s", name, p.Vars[c.Var].Name)
		}
		if c.UnlessOne {
			fmt.Fprintf(&s, " unless shape[%d] is 1", c.Index)
		}
		if c.UnlessEmpty {
			fmt.Fprintf(&s, " unless %s is empty", p.sizes(c))
		}
		if c.Bits != 0 {
			fmt.Fprintf(&s, " in %d bits", c.Bits)
		}
		if c.Maybe && c.Op == OpMatch {
			s.WriteString(" if bound")
		} else if c.Maybe {
			s.WriteString(" if " + p.Vars[c.Var].Name + " is not bound")
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// sizes writes the sizes of a check.
func (p *Plan) sizes(c *Check) string {
	s := make([]string, len(c.Sizes))
	for i, n := range c.Sizes {
		if s[i] = strconv.FormatInt(n.Size, 10); n.Var >= 0 {
			s[i] = p.Vars[n.Var].Name
		}
	}
	return "[" + strings.Join(s, ", ") + "]"
}
