package testkernels

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// kernels has for each kernel what takes packed arguments, and the kernel itself.
var kernels = map[string]struct {
	launch func([]kernelrt.Value, kernelrt.Stream) error
	kernel *kernelrt.Kernel
}{
	"axpy": {launchAxpy, &kernelAxpy}, "mat": {launchMat, &kernelMat}, "two": {launchTwo, &kernelTwo},
	"clustered": {launchClustered, &kernelClustered}, "sizes": {launchSizes, &kernelSizes}, "ints": {launchInts, &kernelInts}, "demands": {launchDemands, &kernelDemands},
	"nested": {opened(&checksNested, launchNested), &kernelNested}, "shaped": {opened(&checksShaped, launchShaped), &kernelShaped},

	"mismatch": {launchMismatch, &kernelMismatch}, "absent": {launchAbsent, &kernelAbsent}, "optionals": {launchOptionals, &kernelOptionals},
}

// opened takes the arguments apart first, as the call from another language does.
func opened(c *kernelrt.Checks, launch func([]kernelrt.Value, kernelrt.Stream) error) func([]kernelrt.Value, kernelrt.Stream) error {
	return func(args []kernelrt.Value, stream kernelrt.Stream) error {
		leaves, err := c.Open(args)
		if err != nil {
			return err
		}
		return launch(leaves, stream)
	}
}

// mutator makes arguments: good ones, changed by the bytes of data.
type mutator struct {
	data []byte
	keep []any // what the arguments point to
}

// next returns a byte below n, n-1 when there are no more.
func (m *mutator) next(n int) int {
	if len(m.data) == 0 {
		return n - 1
	}
	b := int(m.data[0]) % n
	m.data = m.data[1:]
	return b
}

func address[T any](m *mutator, v []T) uintptr {
	m.keep = append(m.keep, v)
	return uintptr(unsafe.Pointer(unsafe.SliceData(v)))
}

// mutations is the number of changes of an argument. As many bytes change nothing.
const mutations = 20

var (
	numbers = []int64{0, 1, -1, 2, 7, 8, 16, 24, 127, 128, 255, 256, -128, -129, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 2, 1 << 32, 1<<63 - 1, -1 << 63}
	indices = []abi.TypeIndex{abi.TypeNone, abi.TypeInt, abi.TypeBool, abi.TypeFloat, abi.TypeOpaquePtr, abi.TypeDataType, abi.TypeDevice, abi.TypeSmallStr, abi.TypeError, -1, 99}
)

// value makes the argument of a parameter. All sizes of good arguments are 8.
func (m *mutator) value(p spec.Param) abi.Any {
	change := m.next(2 * mutations)
	if change == 0 {
		return abi.Any{TypeIndex: indices[m.next(len(indices))], Bits: uint64(numbers[m.next(len(numbers))])}
	}
	if o, ok := p.(spec.Optional); ok {
		p = o.Param
	}
	switch t := p.(type) {
	case spec.Tuple:
		return m.tuple(t, change)
	case spec.Shape:
		return m.shape(t, change)
	}
	t, ok := p.(spec.Tensor)
	if !ok {
		return m.scalar(p, change)
	}
	d := m.tensor(t, change)
	if change == 2 {
		return abi.Any{TypeIndex: abi.TypeDLTensorPtr}
	}
	return abi.Any{TypeIndex: abi.TypeDLTensorPtr, Bits: uint64(address(m, []abi.DLTensor{d}))}
}

// sequence is the memory of an ffi.Array, or of an ffi.Shape, whose cell begins in the same
// way.
type sequence struct {
	_    [abi.ObjectSize]byte
	cell abi.SeqCell
}

func (m *mutator) array(elems []abi.Any) abi.Any {
	s := []sequence{{cell: abi.SeqCell{Data: address(m, elems), Size: int64(len(elems))}}}
	return abi.Any{TypeIndex: abi.TypeArray, Bits: uint64(address(m, s))}
}

// tuple makes an array, perhaps of another length, whose elements are mutated too. Some of
// those that may be None are.
func (m *mutator) tuple(t spec.Tuple, change int) abi.Any {
	var elems []abi.Any
	for i, e := range t.Elems {
		if _, ok := e.(spec.Optional); ok && (change+i)%2 == 0 {
			elems = append(elems, abi.Any{})
			continue
		}
		elems = append(elems, m.value(e))
	}
	switch {
	case change == 1:
		elems = append(elems, abi.Any{})
	case change == 2 && len(elems) > 0:
		elems = elems[1:]
	case change == 3 && len(elems) > 0:
		elems[m.next(len(elems))] = abi.Any{TypeIndex: indices[m.next(len(indices))], Bits: 8}
	}
	return m.array(elems)
}

// shape makes a shape or an array, perhaps of another length or with other elements.
func (m *mutator) shape(t spec.Shape, change int) abi.Any {
	var sizes []int64
	for _, d := range t.Dims {
		n := int64(8)
		if size, ok := d.(spec.Size); ok {
			n = int64(size)
		}
		sizes = append(sizes, n)
	}
	switch {
	case change == 1:
		sizes = append(sizes, 8)
	case change == 2 && len(sizes) > 0:
		sizes = sizes[1:]
	case change >= 3 && change < 8 && len(sizes) > 0:
		sizes[m.next(len(sizes))] = numbers[m.next(len(numbers))]
	}
	if change%2 == 0 {
		s := []sequence{{cell: abi.SeqCell{Data: address(m, sizes), Size: int64(len(sizes))}}}
		return abi.Any{TypeIndex: abi.TypeShape, Bits: uint64(address(m, s))}
	}
	var elems []abi.Any
	for _, n := range sizes {
		elems = append(elems, abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(n)})
	}
	if change == 9 && len(elems) > 0 {
		elems[m.next(len(elems))].TypeIndex = indices[m.next(len(indices))]
	}
	return m.array(elems)
}

func (m *mutator) scalar(p spec.Param, change int) abi.Any {
	v := abi.Any{TypeIndex: abi.TypeInt, Bits: 8}
	switch t := p.(type) {
	case spec.Const:
		switch c := t.Value.(type) {
		case nil:
			v = abi.Any{}
		case bool:
			v = kernelrt.FromBool(c)
		case int64:
			v.Bits = uint64(c)
		case float64:
			v = kernelrt.FromFloat(c)
		}
		if change == 5 {
			v.TypeIndex = indices[m.next(len(indices))]
		}
	case spec.Stream, spec.DataPointer:
		v.TypeIndex = abi.TypeOpaquePtr
	case spec.Var:
		if t.DType == spec.Handle {
			v.TypeIndex = abi.TypeOpaquePtr
		}
	}
	if change < mutations {
		v.Bits = uint64(numbers[m.next(len(numbers))])
	}
	return v
}

func (m *mutator) tensor(t spec.Tensor, change int) abi.DLTensor {
	shape, strides := make([]int64, len(t.Shape)), make([]int64, len(t.Shape))
	for i := range shape {
		shape[i], strides[i] = 8, 1
		for range len(shape) - 1 - i {
			strides[i] *= 8
		}
	}
	d := abi.DLTensor{Data: 4096, Device: abi.DLDevice{Type: abi.DLCUDA}, NDim: int32(len(shape)), DType: abi.DLDataType(t.DType)}
	at := 0
	if change >= 9 && change <= 13 && len(shape) > 0 {
		at = m.next(len(shape))
	}
	switch change {
	case 3:
		d.NDim = int32(m.next(5)) - 1
		shape, strides = append(shape, 1, 1, 1, 1), append(strides, 1, 1, 1, 1)
	case 4:
		d.Device.Type = int32(m.next(4))
	case 5:
		d.Device.ID = int32(m.next(3)) - 1
	case 6:
		d.DType.Code = uint8(m.next(8))
	case 7:
		d.DType.Bits = 8 << m.next(4)
	case 8:
		d.DType.Lanes = uint16(m.next(5))
	case 9, 10:
		if len(shape) > 0 {
			shape[at] = numbers[m.next(len(numbers))]
		}
	case 11, 12:
		if len(shape) > 0 {
			strides[at] = numbers[m.next(len(numbers))]
		}
	case 13:
		if len(shape) > 0 { // so that the stride is not compared
			shape[at], strides[at] = 1, numbers[m.next(len(numbers))]
		}
	case 14:
		d.Data += uintptr(m.next(32))
	case 15:
		d.ByteOffset = uint64(m.next(32))
	case 16:
		strides = nil
	}
	d.Shape, d.Strides = address(m, shape), 0
	if change == 17 {
		d.Shape = 0
	}
	if strides != nil {
		d.Strides = address(m, strides)
	}
	return d
}

// subject is a kernel with its description.
type subject struct {
	name    string
	params  []spec.Param
	checker *check.Checker
}

// subjects returns all kernels. They find no image, so a call whose arguments are accepted
// does not reach a driver.
func subjects(t testing.TB) []subject {
	none := &kernelrt.Image{Files: fstest.MapFS{}, Pattern: "*"}
	var list []subject
	for _, function := range tvmffiExports.Functions {
		s, err := spec.Parse(function.Doc)
		if err != nil {
			t.Fatal(err)
		}
		k := kernels[function.Name]
		if k.kernel == nil {
			t.Fatalf("%s is missing in the list of kernels of this test", function.Name)
		}
		image := k.kernel.Image
		t.Cleanup(func() { k.kernel.Image = image })
		k.kernel.Image = none
		list = append(list, subject{function.Name, s.Params, check.MustCompile(function.Doc)})
	}
	return list
}

// compare calls a kernel with the arguments that data makes, and does the checks of package
// check, which runs the plan of the description: both accept the arguments, or refuse them
// with the same error.
func (s subject) compare(t *testing.T, data []byte) (accepted bool) {
	m := &mutator{data: data}
	n := len(s.params)
	if m.next(2*mutations) == 0 {
		n += m.next(3) - 1
	}
	none := m.next(4) ^ 3 // which of the optional arguments are None
	args := make([]abi.Any, n)
	for i := range args {
		p := s.params[min(i, len(s.params)-1)]
		if _, ok := p.(spec.Optional); ok {
			none, ok = none>>1, none&1 != 0
			if ok {
				continue
			}
		}
		args[i] = m.value(p)
	}
	var v check.Values
	want := s.checker.BindPacked(&v, args)
	got := kernels[s.name].launch(args, kernelrt.Stream{})
	runtime.KeepAlive(m)
	var w, g *tvmffi.Error
	if want == nil {
		if errors.As(got, &g) && (g.Kind == "InternalError" || strings.Contains(g.Message, "when calling")) {
			t.Fatalf("%s, % x: the kernel refuses what package check accepts: %v", s.name, data, got)
		}
		return true
	}
	if !errors.As(want, &w) || !errors.As(got, &g) || w.Kind != g.Kind || w.Message != g.Message {
		t.Fatalf("%s, % x: %v\nwant %v", s.name, data, got, want)
	}
	return false
}

// nothing is a byte that changes nothing.
const nothing = 2*mutations - 1

// changes calls f with data and each change after it.
func (s subject) changes(data []byte, f func(data []byte)) {
	for change := range byte(mutations) {
		for at := range byte(2) {
			for value := range byte(len(numbers)) {
				f(append(data[:len(data):len(data)], change, at, value))
				f(append(data[:len(data):len(data)], change, value, at))
			}
		}
	}
}

// TestChecks changes each argument of each kernel in every way, with and without the
// optional arguments.
func TestChecks(t *testing.T) {
	accepted, refused := 0, 0
	count := func(ok bool) {
		if ok {
			accepted++
		} else {
			refused++
		}
	}
	for _, s := range subjects(t) {
		if !s.compare(t, nil) {
			t.Errorf("%s refuses good arguments", s.name)
		}
		for n := range byte(3) {
			count(s.compare(t, []byte{0, n}))
		}
		combinations := byte(1) // of optional arguments that are None
		if slices.ContainsFunc(s.params, func(p spec.Param) bool { _, ok := p.(spec.Optional); return ok }) {
			combinations = 4
		}
		for i := range s.params {
			for none := range combinations {
				// In a Tuple the bytes after that for the Tuple are for its elements.
				deep := 1
				if _, ok := s.params[i].(spec.Tuple); ok && none == 0 {
					deep = 9
				}
				for d := range deep {
					data := append([]byte{nothing, none}, bytes.Repeat([]byte{nothing}, i+d)...)
					s.changes(data, func(data []byte) { count(s.compare(t, data)) })
				}
			}
		}
	}
	if accepted < 1000 || refused < 1000 {
		t.Errorf("%d calls accepted, %d refused: the changes do not reach the checks", accepted, refused)
	}
}

// FuzzChecks does the same with changes in many arguments at once.
func FuzzChecks(f *testing.F) {
	list := subjects(f)
	for i := range list {
		f.Add(byte(i), []byte{})
		f.Add(byte(i), []byte{nothing, 3, 1, 9, 0, 5, 11, 0, 7, nothing, 13, 0, 3})
	}
	f.Fuzz(func(t *testing.T, kernel byte, data []byte) { list[int(kernel)%len(list)].compare(t, data) })
}
