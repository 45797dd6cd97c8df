package disco

import (
	"errors"
	"fmt"
	"sync"

	tvm "github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// hosted has the tensors of the controller that worker 0, a thread of it, copies to or from. The
// call that names one takes it out.
var hosted struct {
	sync.Mutex
	last    int64
	tensors map[hostedID]*tvmffi.Tensor
}

type hostedID struct{ session, number int64 }

// lend notes a tensor of the controller for a session, and returns its number.
func lend(session int64, t *tvmffi.Tensor) (number int64) {
	hosted.Lock()
	defer hosted.Unlock()
	if hosted.tensors == nil {
		hosted.tensors = map[hostedID]*tvmffi.Tensor{}
	}
	hosted.last++
	hosted.tensors[hostedID{session, hosted.last}] = tvmffi.Retain(t)
	return hosted.last
}

// forgetTensor takes back a tensor that no call names.
func forgetTensor(session, number int64) {
	if t := takeTensor(session, number); t != nil {
		t.Release()
	}
}

// takeTensor takes a tensor out. The caller owns it.
func takeTensor(session, number int64) *tvmffi.Tensor {
	hosted.Lock()
	defer hosted.Unlock()
	id := hostedID{session, number}
	t := hosted.tensors[id]
	delete(hosted.tensors, id)
	return t
}

func forgetHosted(session int64) {
	hosted.Lock()
	defer hosted.Unlock()
	for id, t := range hosted.tensors {
		if id.session == session {
			t.Release()
			delete(hosted.tensors, id)
		}
	}
}

// put and take copy between a tensor of the controller and the one of worker 0.
func (w *worker) put(args []tvmffi.Any) (any, error) {
	return w.copyHosted(args, func(host, own *tvmffi.Tensor) error { return tvm.TVMTensorCopyFromTo(host, own) })
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
	host := takeTensor(w.id.session, number)
	if host == nil {
		return nil, fmt.Errorf("the controller has no tensor %d", number)
	}
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
	return nil, move(host, own)
}
