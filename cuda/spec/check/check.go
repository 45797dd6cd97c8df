// Package check tests the arguments of a call against a description of package
// spec, before native code sees them. The errors have the text of the CuTe DSL, or of TVM
// where the description has that dialect.
//
//	var add = check.MustCompile("add(a: Tensor([n], float32), b: Tensor([n], float32), k: int32)")
//
//	if err := add.Check(a, b, 3); err != nil { ... }
package check

import (
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Checker tests arguments. It may be used from any goroutine.
type Checker struct {
	plan *spec.Plan
	fast fast
}

// New makes a Checker of a description. The description must not change while
// the Checker is used.
func New(f *spec.Func) (*Checker, error) {
	plan, err := f.Plan()
	if err != nil {
		return nil, tvmffi.WrapError("ValueError", err.Error(), err)
	}
	return &Checker{plan: plan, fast: compile(plan)}, nil
}

// Compile makes a Checker of the text of a description, which spec.Parse reads.
func Compile(text string) (*Checker, error) {
	f, err := spec.Parse(text)
	if err != nil {
		return nil, tvmffi.WrapError("ValueError", err.Error(), err)
	}
	return New(f)
}

// MustCompile is like Compile but panics with an error if the text is wrong; it is for
// package variables.
func MustCompile(text string) *Checker {
	c, err := Compile(text)
	if err != nil {
		panic(err)
	}
	return c
}

// Plan returns the checks, in order.
func (c *Checker) Plan() *spec.Plan { return c.plan }

// Check tests the arguments of a call. Arguments are
//
//   - tensors: *tvmffi.Tensor;
//   - numbers: any number of Go, and bool;
//   - streams and pointers: *cuda.Stream, tvmffi.Pointer, uintptr, an integer;
//   - shapes: *tvmffi.Shape, *tvmffi.Array[int64], []int64;
//   - tuples: any *tvmffi.Array, or []any;
//   - None: nil, or a nil pointer to an object.
//
// The error is a *tvmffi.Error of the kind and with the message of the CuTe DSL, or of TVM.
// Two mistakes are possible in Go only: an object that was released is a RuntimeError,
// and an unsigned number beyond int64 is a ValueError.
// Success allocates no memory; slices among the arguments are on the heap.
func (c *Checker) Check(args ...any) error {
	var nums [few]int64
	if c.fast.accept(args, &nums) {
		runtime.KeepAlive(args)
		return nil
	}
	return c.closer(args)
}

// closer is Check for calls that are wrong or that the fast way does not know.
func (c *Checker) closer(args []any) error {
	v := pool.Get().(*Values)
	defer pool.Put(v)
	v.c = c
	err := c.slowly(v, source{typed: args, n: len(args)})
	runtime.KeepAlive(args)
	return err
}

// pool has Values, perhaps with memory for many names.
var pool = sync.Pool{New: func() any { return new(Values) }}

// Bind tests the arguments like Check, and stores in v the values of the
// symbolic dimensions and integers. It allocates once for each v if the description
// has more than 16 names.
func (c *Checker) Bind(v *Values, args ...any) error {
	nums := v.reset(c)
	if c.fast.accept(args, nums) {
		runtime.KeepAlive(args)
		return nil
	}
	err := c.slowly(v, source{typed: args, n: len(args)})
	runtime.KeepAlive(args)
	return err
}

// BindPacked tests arguments in the form in which functions get them. They must
// be valid: memory that they point to is read. It is for code of this module, which
// alone can name the type.
func (c *Checker) BindPacked(v *Values, args []abi.Any) error {
	nums := v.reset(c)
	if c.fast.acceptPacked(args, nums) {
		return nil
	}
	return c.slowly(v, source{packed: args, n: len(args)})
}

// few is the number of variables that need no memory of their own.
const few = 16

// Values are the values that one call gave to the names of a description. The zero
// Values is ready for use, and may be used again.
type Values struct {
	c     *Checker
	nums  [few]int64
	large []int64
	// from has for each value the check that bound it, 0 for none, if the slow way
	// was taken.
	slow      bool
	from      [few]int32
	largeFrom []int32
}

// reset prepares v for c and returns the place for values.
func (v *Values) reset(c *Checker) *[few]int64 {
	v.c, v.slow = c, false
	return &v.nums
}

// slots returns the places for values and what bound them, for the slow way.
func (v *Values) slots() (nums []int64, from []int32) {
	v.slow = true
	n := len(v.c.plan.Vars)
	if n <= few {
		nums, from = v.nums[:n], v.from[:n]
	} else {
		if len(v.large) < n {
			v.large, v.largeFrom = make([]int64, n), make([]int32, n)
		}
		nums, from = v.large[:n], v.largeFrom[:n]
	}
	clear(nums)
	clear(from)
	return nums, from
}

// Int returns the value of a name, and whether it has one: names in optional
// arguments may have none.
func (v *Values) Int(name string) (int64, bool) {
	if v.c == nil {
		return 0, false
	}
	return v.At(v.c.plan.VarIndex(name))
}

// At is like Int for Plan.Vars[i].
func (v *Values) At(i int) (n int64, ok bool) {
	switch {
	case v.c == nil || i < 0 || i >= len(v.c.plan.Vars):
		return 0, false
	case len(v.c.plan.Vars) > few:
		return v.large[i], v.largeFrom[i] != 0
	}
	return v.nums[i], !v.slow || v.from[i] != 0
}
