package callbacks

import (
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

// Settler makes the result of a func safe that had loans, or the error err: neither may refer to memory that only a caller
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

// Owners returns references to the tensors that keep the memory of loans, for something that uses it after the call. The
// collector drops them.
func (a *Args) Owners() []*objects.Object {
	loans := a.Loans()
	if len(loans) == 0 {
		return nil
	}
	b := a.side()
	if b.owners == nil {
		for _, l := range loans {
			if l.Handle == 0 {
				continue
			}
			objects.IncRef(l.Handle)
			o := objects.Own(l.Handle)
			o.LeaveToCollector()
			b.owners = append(b.owners, o)
		}
	}
	return b.owners
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
