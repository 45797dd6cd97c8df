package spec

// Plan lists the checks before a call, in order: the first check that fails is the
// error of the call. Code that runs the plan and generated code
// return the same errors.
type Plan struct {
	Func *Func
	// Signature is a part of the messages.
	Signature string
	// NumArgs is the number of arguments.
	NumArgs int
	// Operands are the arguments and the elements of tuples in them, in the order in
	// which they are read.
	Operands []Operand
	// Vars are the numbers that have a name: after the checks each has a value, except
	// for those that are in optional arguments only.
	Vars   []PlanVar
	Checks []Check
	// EnvStream is the operand, a tensor, whose device the environment stream
	// belongs to, -1 if the function takes none.
	EnvStream int
}

// Operand is an argument, or an element of a tuple.
type Operand struct {
	// Param is the parameter of the description, without its Optional.
	Param    Param
	Optional bool
	// Parent is the operand that is the tuple, -1 for an argument. Index is the number of
	// the argument, or of the element in the tuple.
	Parent, Index int
	// Arg is the number of the argument that the operand is, or is part of.
	Arg int
	// Name is how messages name the operand, such as "a" or "t[1]".
	Name string
}

// PlanVar is a number with a name.
type PlanVar struct {
	Var
	// Maybe says that all uses of the name are in optional arguments.
	Maybe bool
	// Constrained says that the description gives the name a type or a divisor.
	Constrained bool
}

// Op is what a check does.
type Op uint8

// The operations. Those that compare numbers take them from Field.
const (
	// OpCount compares the number of arguments with Want.
	OpCount Op = iota
	// OpElement reads the element Index of the tuple at Operand; it becomes the operand
	// Want. It cannot fail.
	OpElement
	// OpSkipNone continues with the check Want if the value of Operand is None. It
	// cannot fail.
	OpSkipNone
	// OpType wants a value of one of the kinds in Accept.
	OpType
	// OpElementInt wants an int as element Index, if the Shape was passed as an
	// ffi.Array.
	OpElementInt
	// OpDType wants a tensor with elements of DType; int and uint of one size are
	// the same to kernels.
	OpDType
	// OpContiguous wants a tensor in row-major order without gaps; the stride of a
	// dimension of size 1 is not compared.
	OpContiguous
	// OpFloat wants a float that equals Float.
	OpFloat
	// OpEqual wants Want.
	OpEqual
	// OpRange wants Min to Max.
	OpRange
	// OpDivisible wants a number that Want divides.
	OpDivisible
	// OpMatch wants the value of Var.
	OpMatch
	// OpBind gives Var its value. It cannot fail.
	OpBind
	// OpSameDType wants a tensor with elements of DType, exactly.
	OpSameDType
	// OpCompact wants a tensor whose strides are those of Sizes in row-major order; the
	// stride of a dimension of size 1 is not compared.
	OpCompact
	// OpNotNull wants a number that is not 0.
	OpNotNull
)

// A PlanSize is a size in Check.Sizes: that of the variable Var, or Size if Var is -1.
type PlanSize struct {
	Var  int
	Size int64
}

// Field is the number that a check compares.
type Field uint8

// The fields. Those of a tensor or shape with an index take Check.Index.
const (
	FieldNone       Field = iota
	FieldValue            // the payload of the value, an int64
	FieldLen              // of an ffi.Array or ffi.Shape
	FieldDim              // of a Shape
	FieldAddress          // of the first element, with the byte offset
	FieldDeviceID         // int32
	FieldDeviceType       // int32
	FieldNDim             // int32
	FieldShape            // of a tensor
	FieldStrides          // of a tensor; row-major where it has none
	FieldData             // the address of a tensor, without the byte offset
	FieldByteOffset       // of a tensor
)

// Accept is a set of kinds of values, by their type index.
type Accept uint16

// The kinds.
const (
	AcceptNone     Accept = 1 << iota // TypeNone
	AcceptInt                         // TypeInt
	AcceptBool                        // TypeBool
	AcceptFloat                       // TypeFloat
	AcceptPointer                     // TypeOpaquePtr
	AcceptDLTensor                    // TypeDLTensorPtr
	AcceptTensor                      // TypeTensor
	AcceptShape                       // TypeShape
	AcceptArray                       // TypeArray
	AcceptObject                      // an object of any other type
)

// Check is one elementary check.
type Check struct {
	Op      Op
	Field   Field
	Operand int
	Index   int
	// Var is an index into Plan.Vars, for OpMatch and OpBind.
	Var int
	// From is for OpMatch the index of the OpBind that gave the value; -1 if
	// that is known only in the call.
	From int
	// Maybe says that whether Var has a value is only known in the call: OpMatch is
	// done if it has, and the other operations if it has not.
	Maybe bool
	// UnlessOne says that the check holds if the size of dimension Index is 1.
	UnlessOne bool
	// Peer says that for a kernel of this module the check of a device, which the spec does
	// not name, also holds if the device Var may use the memory of the tensor's device.
	Peer bool
	// UnlessEmpty says that the check holds if one of Sizes is 0.
	UnlessEmpty bool
	// Sizes are those that a tensor of OpCompact, or of a check with UnlessEmpty, should have.
	Sizes []PlanSize
	// Bits is the width to which the number is cut before it is compared, as by a
	// conversion between signed integers; 0 cuts nothing.
	Bits     uint8
	Accept   Accept
	DType    DType
	Want     int64
	Min, Max int64
	Float    float64
	// Kind is the kind of the error, such as "ValueError", and Message its text; for
	// an OpMatch without From the text of Source of the OpBind follows.
	Kind, Message string
	// Source names for OpBind what the value was taken from, such as "a.shape[0]".
	Source string
}

// Error returns the kind and the message of a check that does not hold. from is
// the index of the OpBind that gave the value, where Check.From is -1.
func (p *Plan) Error(check, from int) (kind, message string) {
	c := &p.Checks[check]
	if c.Op == OpMatch && c.From < 0 && from >= 0 {
		return c.Kind, c.Message + p.Checks[from].Source
	}
	return c.Kind, c.Message
}

// VarIndex returns the index in Vars of a name, -1 if there is none.
func (p *Plan) VarIndex(name string) int {
	for i := range p.Vars {
		if p.Vars[i].Name == name {
			return i
		}
	}
	return -1
}
