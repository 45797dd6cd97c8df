package exportrt

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Lend returns a result that is a tensor of one dimension over the memory of data.
//
// Memory of Go is not copied: the tensor keeps it alive, and the Go heap moves nothing. Memory of an argument that Borrowed
// has read belongs to the caller. If the argument is a Tensor, the result is that tensor or a view of it, which keeps its
// memory. Nobody can keep the memory of a DLTensor*, so the result is a copy.
func Lend[T tvmffi.Element](a *bindrt.Args, data []T) tvmffi.Moved {
	if len(data) > 0 {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		size := uintptr(len(data)) * unsafe.Sizeof(data[0])
		for _, l := range a.Loans() {
			switch {
			case !l.Has(at) || at+size > l.End:
			case l.Handle == 0:
				return lend(append([]T(nil), data...))
			default:
				return part(a, l.Handle, at, int64(len(data)))
			}
		}
	}
	return lend(data)
}

func lend[T tvmffi.Element](data []T) tvmffi.Moved {
	t, err := tvmffi.FromSlice(data, int64(len(data)))
	if err != nil { // the library is loaded, and the shape fits
		panic(err)
	}
	return tvmffi.Move(t)
}

// part returns n elements, from an address on, of a Tensor of one dimension.
func part(a *bindrt.Args, handle, at uintptr, n int64) tvmffi.Moved {
	c := *capi.PointerTo[abi.DLTensor](handle + abi.ObjectSize)
	if at == c.Data+uintptr(c.ByteOffset) && n == values.Product(values.ShapeOf(&c)) {
		objects.IncRef(handle)
	} else {
		var err error
		// Many kernels ignore the offset, so it is in the address.
		if handle, err = values.ViewTensor(handle, abi.DLTensor{Data: at, Device: c.Device, DType: c.DType}, []int64{n}, []int64{1}); err != nil {
			panic(err)
		}
		a.Passed(handle)
	}
	return tvmffi.Move(codec.Wrap[*tvmffi.Tensor](objects.Own(handle)))
}

// Borrowed returns argument i, a tensor of one dimension on the host with elements of the
// type T, as a slice over its memory. The caller of the function keeps the memory until the
// function returns. After that the slice must not be used, except by what the function returns: settle keeps the memory for
// that. Numbers in an Array or a List are copied, and those of a tensor that has gaps between them or is not aligned.
func Borrowed[T tvmffi.Element](a *bindrt.Args, i int) []T {
	v := a.Any(i)
	if v == nil {
		return nil // the number of arguments is checked later
	}
	data, err := borrowed[T](a, i)
	if err != nil {
		a.Fail(a.InArgument(i, err))
	}
	return data
}

func borrowed[T tvmffi.Element](a *bindrt.Args, i int) ([]T, error) {
	want := elements[T]()
	wrong := func(kind, got, remedy string) error {
		return failure.Errorf(kind, "expected a Tensor of %s with one dimension, got %s%s", want, got, remedy)
	}
	v := a.Value(i)
	if crossing.ClassOf(v.TypeIndex) == crossing.Sequence && !strings.HasSuffix(want, "float16") {
		return bindrt.Arg[[]T](a, i), nil // which reports its error itself
	}
	if want == "uint8" && (v.TypeIndex == abi.TypeBytes || v.TypeIndex == abi.TypeSmallBytes || v.TypeIndex == abi.TypeByteArrayPtr) {
		return bindrt.Arg[[]T](a, i), nil
	}
	if v.TypeIndex != abi.TypeTensor && v.TypeIndex != abi.TypeDLTensorPtr {
		return nil, wrong(failure.KindType, capi.KeyOf(v.TypeIndex), "")
	}
	t := bindrt.Arg[*tvmffi.Tensor](a, i)
	if t == nil { // a DLTensor* that Arg refused, with its own error
		return nil, wrong(failure.KindType, "None", "")
	}
	switch {
	case t.DataType().String() != want:
		return nil, wrong(failure.KindType, "a Tensor of "+t.DataType().String(), ": convert it first")
	case t.NDim() != 1:
		return nil, wrong(failure.KindValue, t.String(), ": reshape it first")
	case !t.Device().IsHost():
		return nil, wrong(failure.KindValue, t.String(), ": copy it to the host first")
	}
	var zero T
	if !t.Contiguous() || t.DataPointer().Address%unsafe.Alignof(zero) != 0 {
		data := make([]T, t.Len())
		if err := tvmffi.CopyTo(t, data); err != nil {
			return nil, failure.Errorf(failure.KindValue, "%w", err)
		}
		return data, nil
	}
	data, err := tvmffi.Slice[T](t)
	if err != nil {
		return nil, failure.Errorf(failure.KindValue, "%w", err)
	}
	if len(data) > 0 {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		l := callbacks.Loan{Address: at, End: at + uintptr(len(data))*unsafe.Sizeof(zero), Argument: i}
		if v.TypeIndex == abi.TypeTensor {
			l.Handle = uintptr(v.Bits)
		}
		a.Lent(l, settle)
	}
	return data, nil
}

// settle is the [callbacks.Settler] of Borrowed.
//
// A Function reads the memory when it is called, and the func that it calls may have the slice: it keeps the tensors. So does a
// tensor that the func made of the slice. Neither can keep a DLTensor*, so a Function is an error then, and the tensor gets a
// copy. A view of such a tensor is copied. Fields of an error are read when somebody asks for them, so those in the memory are
// copied, and the error keeps the tensors for all else that it has.
func settle(a *bindrt.Args, loans []callbacks.Loan, err error) error {
	s := settling{a: a, loans: loans}
	if err != nil {
		return s.error(err)
	}
	r := a.Result()
	if err = s.value(r); err != nil {
		codec.Release(*r)
		*r = abi.Any{}
	}
	return err
}

// settling goes through a result.
type settling struct {
	a     *bindrt.Args
	loans []callbacks.Loan
	seen  map[uint64]bool // containers
}

// loanAt returns the loan that has an address.
func (s *settling) loanAt(address uintptr) (callbacks.Loan, bool) {
	i := slices.IndexFunc(s.loans, func(l callbacks.Loan) bool { return l.Has(address) })
	if i < 0 {
		return callbacks.Loan{}, false
	}
	return s.loans[i], true
}

// keepingError is an error that may have slices of arguments.
type keepingError struct {
	error
	owners []*objects.Object
}

// Unwrap returns the error.
func (e *keepingError) Unwrap() error { return e.error }

func (s *settling) error(err error) error {
	var detached reflect.Type
	if d, found := failure.DeclaredIn(err); d != nil {
		if detached = reflect.TypeOf(found); detached.Kind() == reflect.Pointer {
			detached = detached.Elem()
		}
		d.Detach(found, func(p unsafe.Pointer) bool {
			_, lent := s.loanAt(uintptr(p))
			return lent
		})
	}
	if failure.FailureOf(err) != nil { // it is made of texts, or comes from another language
		return err
	}
	// The memory of a DLTensor* ends with the call, and nobody can keep it.
	ends := references{lent: func(p unsafe.Pointer) bool {
		l, lent := s.loanAt(uintptr(p))
		return lent && l.Handle == 0
	}, seen: map[unsafe.Pointer]bool{}, shared: true, left: 1000, detached: detached}
	if slices.ContainsFunc(s.loans, func(l callbacks.Loan) bool { return l.Handle == 0 }) && ends.in(reflect.ValueOf(err)) {
		return failure.Errorf(failure.KindRuntime, "%s", err.Error())
	}
	if owners := s.a.Owners(); owners != nil {
		return &keepingError{err, owners}
	}
	return err
}

// value settles a value of the result, or returns an error. It may replace *v by another value.
func (s *settling) value(v *abi.Any) (err error) {
	switch {
	case !codec.HasParts(*v):
	case v.TypeIndex == abi.TypeTensor:
		return s.tensor(v)
	case v.TypeIndex == abi.TypeFunction:
		return s.function(uintptr(v.Bits))
	case codec.MayNest(*v) && !s.seen[v.Bits]:
		if s.seen == nil {
			s.seen = map[uint64]bool{}
		}
		s.seen[v.Bits] = true
		if all, ok := codec.Elements(*v); ok {
			for i := 0; i < len(all) && err == nil; i++ {
				err = s.value(&all[i])
			}
			return err
		}
		codec.Parts(*v, func(p codec.Part) bool {
			x, err2 := values.Owned(p.Value) // value may release it
			if err = err2; err != nil {
				return false
			}
			if err = s.value(&x); err == nil && x.TypeIndex == abi.TypeTensor && x != p.Value {
				err = failure.Errorf(failure.KindRuntime, "a view of a tensor over memory of an argument is in a map or an object: return a Clone of it")
			}
			codec.Release(x)
			return err == nil
		})
	}
	return err
}

// function keeps the tensors for a Function of Go. Another one, and one that is an argument, does not know the slices.
func (s *settling) function(handle uintptr) error {
	if !objects.IsNode(handle) || s.a.HasPassed(handle) {
		return nil
	}
	for _, l := range s.loans {
		if l.Handle == 0 {
			return s.a.InArgument(l.Argument, failure.Errorf(failure.KindType, "a DLTensor is borrowed until the call returns, but the function that it returns may use it later: "+
				"pass a Tensor, such as tvm_ffi.from_dlpack(x) in Python or ffi::Tensor in C++"))
		}
	}
	objects.KeepWithNode(handle, s.a.Owners()...)
	return nil
}

// tensor keeps the memory of a tensor that Go has made of a slice of an argument.
func (s *settling) tensor(v *abi.Any) error {
	handle := uintptr(v.Bits)
	c := capi.PointerTo[abi.DLTensor](handle + abi.ObjectSize)
	l, lent := s.loanAt(c.Data + uintptr(c.ByteOffset))
	switch {
	case !lent || s.a.HasPassed(handle):
	case !objects.IsNode(handle): // a view
		objects.IncRef(handle)
		view := codec.Wrap[*tvmffi.Tensor](objects.Own(handle))
		defer view.Release()
		copied, err := view.Clone()
		if err != nil {
			return err
		}
		codec.Release(*v)
		v.Bits = uint64(codec.Ref(copied).Handle())
		objects.IncRef(uintptr(v.Bits))
		copied.Release()
	case l.Handle != 0:
		objects.KeepWithNode(handle, l.Owner())
	default:
		room := make([]uint64, (l.End-l.Address+7)/8) // aligned for each type of elements
		codec.Heap(room)
		copied := unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), l.End-l.Address)
		copy(copied, unsafe.Slice(capi.PointerTo[byte](l.Address), len(copied)))
		objects.MoveNodeTo(handle, unsafe.Pointer(&copied[c.Data-l.Address]))
	}
	return nil
}

// elements names the data type of the elements of a []T.
func elements[T tvmffi.Element]() string {
	switch t := reflect.TypeFor[T](); {
	case t == reflect.TypeFor[tvmffi.F16]():
		return "float16"
	case t == reflect.TypeFor[tvmffi.BF16]():
		return "bfloat16"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Uint:
		return t.Kind().String() + "64" // the module needs a 64-bit platform
	default:
		return t.Kind().String()
	}
}
