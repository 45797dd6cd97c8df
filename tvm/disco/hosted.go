package disco

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	tvm "github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// hosted has the tensors of the controller that worker 0, a thread of it, copies to or from, by number. The call that names
// one takes it out.
var (
	hosted sync.Map // of loan
	loans  atomic.Int64
)

type loan struct {
	session int64
	tensor  *tvmffi.Tensor
}

// lend notes a tensor of the controller for a session, and returns its number.
func lend(session int64, t *tvmffi.Tensor) (number int64) {
	number = loans.Add(1)
	hosted.Store(number, loan{session, tvmffi.Retain(t)})
	return number
}

// takeBack releases a tensor that no call names.
func takeBack(number any) {
	if l, ok := hosted.LoadAndDelete(number); ok {
		l.(loan).tensor.Release()
	}
}

func forgetHosted(session int64) {
	hosted.Range(func(number, l any) bool {
		if l.(loan).session == session {
			takeBack(number)
		}
		return true
	})
}

// put and take copy between a tensor of the controller and the one of worker 0.
func (w *worker) put(args []tvmffi.Any) (any, error) {
	return w.copyHosted(args, tvm.TVMTensorCopyFromTo)
}

func (w *worker) take(args []tvmffi.Any) (any, error) {
	return w.copyHosted(args, func(host, own *tvmffi.Tensor) error { return tvm.TVMTensorCopyFromTo(own, host) })
}

func (w *worker) copyHosted(args []tvmffi.Any, move func(host, own *tvmffi.Tensor) error) (any, error) {
	if w.id.rank != 0 {
		return nil, nil
	}
	number, err := tvmffi.As[int64](args[0])
	if err != nil {
		return nil, err
	}
	l, ok := hosted.LoadAndDelete(number)
	if !ok {
		return nil, fmt.Errorf("the controller has no tensor %d", number)
	}
	host := l.(loan).tensor
	defer host.Release()
	if f, ok := failureIn(args[1]); ok {
		return f.value(), nil
	}
	own, err := tvmffi.As[*tvmffi.Tensor](args[1])
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, errors.New("worker 0 has no tensor there")
	}
	if host.DataType() != own.DataType() || !slices.Equal(host.Shape(), own.Shape()) { // TVM compares the bytes alone
		return nil, fmt.Errorf("the tensor of the controller is %s%v, and the one on worker 0 is %s%v", host.DataType(), host.Shape(), own.DataType(), own.Shape())
	}
	return nil, move(host, own)
}
