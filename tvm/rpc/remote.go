package rpc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/generated/tvm"
	tvmrpc "github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
	tvmruntime "github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/internal/arguments"
)

// deviceStep is what the number of a session adds to the type of a device.
const deviceStep = 128

// load loads the library, so that a missing one is reported before anything is started.
func load() error { return tvmrpc.Load() }

// loadDevices loads the library with the parts for the devices that this machine has.
func loadDevices() error {
	_, err := tvm.Sidecars()
	return errors.Join(load(), err)
}

func sessionIndex(m *tvmffi.Module) (int64, error) { return tvmrpc.SessTableIndex(m) }

// A Function is a function of a server.
type Function struct {
	session  *Session
	function *tvmffi.Function
	remote   bool // without a session, it is on the other side of one all the same
}

// Call calls the function on the server and waits for its result, within the limits of ctx as
// [Session.Do] describes. The arguments may be numbers, strings, []byte, tensors and modules of
// the session, devices of [Session.Device], data types and nil. The caller owns an object in the
// result. An error of kind "RPCError" came from the server.
//
// TVM's protocol ends a string at its first zero byte. An argument with one is an error; pass []byte. A result, and the
// text of an error, end there too, and nobody notices: let the function return bytes. An integer beyond int64 is an error
// of kind ErrOverflow, also in a *big.Int.
func (f *Function) Call(ctx context.Context, args ...any) (tvmffi.Any, error) {
	if f.session == nil && !f.remote { // of TimerOf
		return f.function.Call(args...)
	}
	args, err := arguments.RPC(args)
	if err != nil {
		return tvmffi.Any{}, err
	}
	if f.session == nil {
		return f.function.Call(args...)
	}
	var result tvmffi.Any
	err = f.session.Do(ctx, func() (err error) {
		if result, err = f.function.Call(args...); errors.Is(err, tvmffi.ErrInternal) {
			err = cmp.Or(f.session.elsewhere(args), err)
		}
		return err
	})
	return result, err
}

// elsewhere returns an error about the first tensor that does not lie on the server. TVM refuses it
// with an InternalError, which names neither the argument nor a remedy. The tensors are alive,
// because a call with a released one fails earlier.
func (s *Session) elsewhere(args []any) error {
	for i, arg := range args {
		t, ok := arg.(*tvmffi.Tensor)
		if !ok || t == nil {
			continue
		}
		if d := t.Device(); int64(d.Type/deviceStep) != s.index+1 {
			return tvmffi.NewError("ValueError", fmt.Sprintf("argument %d: the tensor on %v is not one of the session: "+
				"make one by Session.NewTensor, and copy by Session.Copy or rpc.CopyFrom", i, d))
		}
	}
	return nil
}

// Raw returns the tvmffi function, to pass it on or to call it in [Session.Do]. It belongs to f. It does not check
// arguments, as Call does.
func (f *Function) Raw() *tvmffi.Function { return f.function }

// Release releases the function on both sides.
func (f *Function) Release() { f.function.Release() }

// A Module is a module that a server has loaded.
type Module struct {
	session *Session
	module  *tvmffi.Module
}

// Raw returns the tvmffi module, for example as an argument of a call. It belongs to m.
func (m *Module) Raw() *tvmffi.Module { return m.module }

// Release releases the module on both sides.
func (m *Module) Release() { m.module.Release() }

// Function returns a function of the module. The error is of kind ErrAttribute if it has none
// of that name. The caller releases the function.
func (m *Module) Function(ctx context.Context, name string) (*Function, error) {
	return m.session.function(ctx, m.module, name)
}

// Function returns a registered function of the server, such as "runtime.NumThreads". The error
// is of kind ErrAttribute if the server has none of that name. The caller releases the function.
func (s *Session) Function(ctx context.Context, name string) (*Function, error) {
	return s.function(ctx, s.module, name)
}

func (s *Session) function(ctx context.Context, m *tvmffi.Module, name string) (*Function, error) {
	var f *tvmffi.Function
	err := s.Do(ctx, func() (err error) { // Function refuses a name with a zero byte
		f, err = m.Function(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Function{session: s, function: f}, nil
}

// Call calls a registered function of the server by its name. For repeated calls,
// [Session.Function] and [Function.Call] save two messages each.
func (s *Session) Call(ctx context.Context, name string, args ...any) (tvmffi.Any, error) {
	f, err := s.Function(ctx, name)
	if err != nil {
		return tvmffi.Any{}, err
	}
	defer f.Release()
	return f.Call(ctx, args...)
}

// Upload writes data to the file called name in the folder of the session on the server. A nil error says that all of it
// is there. After an error, a server of this package has the file that it had before, or none.
//
// TVM's own servers do not report a full disk, and cut the file. So Upload gets the file back from them and compares, which
// doubles the time. It removes a file that differs.
func (s *Session) Upload(ctx context.Context, name string, data []byte) error {
	if err := arguments.Name(name); err != nil {
		return err
	}
	if !s.foreign.Load() {
		f, err := s.Function(ctx, uploadChecked)
		if err == nil {
			defer f.Release()
			sum := sha256.Sum256(data)
			_, err = f.Call(ctx, name, data, sum[:])
		}
		if f != nil || !errors.Is(err, tvmffi.ErrAttribute) {
			return err
		}
		s.foreign.Store(true)
	}
	if _, err := s.Call(ctx, "tvm.rpc.server.upload", name, data); err != nil {
		return err
	}
	got, err := s.Download(ctx, name)
	if err == nil && bytes.Equal(got, data) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it has %d bytes, or others: its disk may be full", len(got))
	}
	return errors.Join(fmt.Errorf("rpc: the server at %s does not have the %d bytes of the uploaded file %q: %w", s.addr, len(data), name, err), s.Remove(ctx, name))
}

// Download returns the file called name in the folder of the session.
func (s *Session) Download(ctx context.Context, name string) ([]byte, error) {
	if err := arguments.Name(name); err != nil {
		return nil, err
	}
	result, err := s.Call(ctx, "tvm.rpc.server.download", name)
	if err != nil {
		return nil, err
	}
	return tvmffi.As[[]byte](result)
}

// Remove removes the file called name from the folder of the session.
func (s *Session) Remove(ctx context.Context, name string) error {
	if err := arguments.Name(name); err != nil {
		return err
	}
	_, err := s.Call(ctx, "tvm.rpc.server.remove", name)
	return err
}

// LoadModule loads a file that was uploaded under a name: a shared library for the platform of
// the server. A server also links an object file (.o), or a tar archive of some, if it has a C++
// compiler. The caller releases the module.
func (s *Session) LoadModule(ctx context.Context, name string) (*Module, error) {
	if err := arguments.Name(name); err != nil {
		return nil, err
	}
	var m *tvmffi.Module
	err := s.Do(ctx, func() (err error) {
		m, err = tvmrpc.LoadRemoteModule(s.module, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Module{s, m}, nil
}

// Device returns a device of the server as this process names it, with the session's number. A device that has a session's
// number stays as it is.
func (s *Session) Device(device tvmffi.Device) tvmffi.Device {
	if device.Type >= 0 && device.Type < deviceStep {
		device.Type += int32(s.index+1) * deviceStep
	}
	return device
}

// device is like Device. TVM takes the number of a session that does not exist for one, and the process ends: so that is an error.
func (s *Session) device(device tvmffi.Device) (tvmffi.Device, error) {
	own := s.Device(device)
	if own.Type < 0 || int64(own.Type/deviceStep) != s.index+1 {
		return own, tvmffi.NewError("ValueError", fmt.Sprintf("the device %v is not one of the session with %s: pass a device of the server, such as tvmffi.CPU", device, s.Addr()))
	}
	return own, nil
}

// NewTensor allocates a tensor on a device of the server, such as tvmffi.CPU, with or without the session's number. Its
// elements have no values yet. [CopyFrom], [ReadSlice] and [Session.Copy] reach its elements. The caller releases the
// tensor.
func (s *Session) NewTensor(ctx context.Context, dtype tvmffi.DataType, device tvmffi.Device, shape ...int64) (*tvmffi.Tensor, error) {
	own, err := s.device(device)
	if err == nil {
		_, err = dtype.BytesOf(shape) // TVM multiplies without a look, and makes a tensor whose elements have no memory
	}
	if err != nil {
		return nil, err
	}
	var t *tvmffi.Tensor
	err = s.Do(ctx, func() (err error) {
		t, err = tvmruntime.TVMTensorAllocWithScope(tvmffi.Of(shape...), dtype, own, nil)
		return err
	})
	return t, err
}

// CopyFrom copies the elements of from into a tensor of the session: it is tvmffi.CopyFrom in
// [Session.Do].
func CopyFrom[T tvmffi.Element](ctx context.Context, s *Session, to *tvmffi.Tensor, from []T) error {
	return s.Do(ctx, func() error { return tvmffi.CopyFrom(to, from) })
}

// ReadSlice returns a copy of the elements of a tensor of the session: it is tvmffi.ReadSlice in
// [Session.Do].
func ReadSlice[T tvmffi.Element](ctx context.Context, s *Session, t *tvmffi.Tensor) ([]T, error) {
	var elements []T
	err := s.Do(ctx, func() (err error) {
		elements, err = tvmffi.ReadSlice[T](t)
		return err
	})
	return elements, err
}

// Copy copies the elements of a tensor into another one of the same shape and type: from this
// process to the server, back, or between two tensors of the session. It is tvmffi.Copy in
// [Session.Do].
func (s *Session) Copy(ctx context.Context, to, from *tvmffi.Tensor) error {
	return s.Do(ctx, func() error { return tvmffi.Copy(to, from) })
}
