package callbacks

import (
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Loan is memory of an argument that a func reads or writes without a copy until it returns.
type Loan struct {
	// Address is where the memory begins, and End where it ends.
	Address, End uintptr
	// Argument is the number of the argument.
	Argument int
	// Handle is the Tensor object that keeps the memory. It is 0 for a DLTensor*, which only its caller keeps.
	Handle uintptr
}

// Has reports whether an address is in the memory.
func (l Loan) Has(address uintptr) bool { return address >= l.Address && address < l.End }

// Settler makes safe the result, or the error err, of a func that had loans: neither may refer to memory that only a caller
// keeps. It returns the error of the func.
type Settler func(a *Args, loans []Loan, err error) error

// Lent records a loan. settle runs when the func has returned, before the loans end.
func (a *Args) Lent(l Loan, settle Settler) {
	b := a.side()
	b.loans, b.settle = append(b.loans, l), settle
}

// Loans returns the loans so far.
func (a *Args) Loans() []Loan {
	if a.frame.Side == 0 {
		return nil
	}
	return a.side().loans
}

// Owner returns a reference to the tensor that keeps the memory of l, for something that uses it after the call. The collector
// drops it.
func (l Loan) Owner() *objects.Object {
	objects.IncRef(l.Handle)
	o := objects.Own(l.Handle)
	o.LeaveToCollector()
	return o
}

// Owners returns the owners of all loans that have one.
func (a *Args) Owners() (all []*objects.Object) {
	for _, l := range a.Loans() {
		if l.Handle != 0 {
			all = append(all, l.Owner())
		}
	}
	return all
}

// Passed records a handle of a tensor in the result that keeps its memory itself.
func (a *Args) Passed(handle uintptr) {
	b := a.side()
	b.passed = append(b.passed, handle)
}

// HasPassed reports whether a handle is one of Passed, or of an argument.
func (a *Args) HasPassed(handle uintptr) bool {
	for i := range a.Len() {
		if v := a.Value(i); v.TypeIndex.IsObject() && uintptr(v.Bits) == handle {
			return true
		}
	}
	return slices.Contains(a.side().passed, handle)
}

// Result is the result so far.
func (a *Args) Result() *abi.Any { return capi.PointerTo[abi.Any](a.frame.Res) }

// settled returns the error of a func that returned err, after its loans are settled.
func (a *Args) settled(err error) error {
	if a.frame.Side == 0 {
		return err
	}
	if b := a.side(); b.settle != nil {
		return b.settle(a, b.loans, err)
	}
	return err
}
